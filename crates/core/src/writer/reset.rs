//! Starting afresh after damage that leaves no part of the cache to be trusted: a manifest or a log that is not what
//! was written.
//!
//! 1. Every log is taken, by a rename: its writer, if it lives, finds its name gone after its next append, and commits
//!    again in a new log. What was appended before is lost with the rest.
//! 2. A new, empty manifest without a parent is published. Logs that were begun before belong to no manifest any more.
//! 3. What was damaged is set aside under `<name>.bad`; the next compaction removes the rest.
//!
//! A crash in between leaves the damage where it was: the next commit starts afresh.

use crate::error::{Error, Result};
use crate::format::file_names::FileName;
use crate::log::Stop;
use crate::manifest::{Manifest, Published};
use crate::platform::failpoints;
use crate::platform::sync::RwLock;
use crate::state::context::Context;
use crate::state::{State, list, load};
use crate::writer::create::publish_unnumbered;
use crate::writer::quarantine::{set_aside, trim};
use std::io;

const ATTEMPTS: u32 = 16;

/// Replaces a lost state by an empty one, unless another process has done so.
pub(crate) fn reset(context: &Context, state: &RwLock<State>) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let found = load(context, &[])?;
        if !found.lost {
            *state.write()? = found;
            return Ok(());
        }
        let by = match failpoints::bug("reset-leaves-logs") {
            true => found.next_writer_seen,
            false => take_all(context, found.next_writer_seen)?,
        };
        let manifest = Manifest {
            number: found.manifest_seen + 1,
            cache_id: context.new_id(),
            id: context.new_id(),
            last_order: found.last_order,
            next_writer: if failpoints::bug("reset-counts-old-logs") { 0 } else { by + 1 },
            ..Manifest::default()
        };
        if matches!(publish_unnumbered(context, found.manifest_seen, manifest)?, Published::Won(_)) {
            set_damaged_aside(context, &found)?;
            context.files.set_collect_due(true);
        }
    }
    Err(Error::Busy { operation: "set damage aside", attempts: ATTEMPTS })
}

/// Renames every log, to a name with a number above those of all writers, which it returns.
fn take_all(context: &Context, next_writer: u32) -> Result<u32> {
    let names = list(context)?;
    let logs: Vec<u32> = names.iter().filter_map(|name| name.log_writer()).collect();
    let by = logs.iter().fold(next_writer, |by, writer| by.max(writer + 1));
    for writer in logs {
        let (source, target) = (FileName::Log(writer).to_string(), FileName::Taken { writer, by }.to_string());
        match context.vfs.rename(&source, &target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("take", &source, error)),
            _ => {}
        }
    }
    Ok(by)
}

/// The rest is removed by the next compaction.
fn set_damaged_aside(context: &Context, found: &State) -> Result<()> {
    let is_damaged =
        |writer| found.logs.iter().any(|view| view.writer == writer && matches!(view.stop, Stop::Damaged(_)));
    for name in list(context)? {
        match name {
            FileName::Manifest(number) if number <= found.manifest_seen => set_aside(context, &name.to_string(), None)?,
            FileName::Log(writer) | FileName::Taken { writer, .. } if is_damaged(writer) => {
                set_aside(context, &name.to_string(), Some(&FileName::Log(writer).to_string()))?
            }
            _ => false,
        };
    }
    trim(context)
}
