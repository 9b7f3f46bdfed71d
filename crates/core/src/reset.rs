//! Starting afresh after damage that leaves no part of the cache to be trusted: a manifest or a log that is not what
//! was written. A new, empty manifest is published; logs of writers that live count from their present end on; what
//! was damaged is set aside under `<name>.bad`.

use crate::aside::{set_aside, trim};
use crate::claim::claim_number;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::format::frame::HEAD_BYTES;
use crate::format::names::FileName;
use crate::log::Stop;
use crate::manifest::{Manifest, OpenLog, Published, publish};
use crate::state::{LogView, State, load};
use crate::sync::RwLock;
use std::io;

const ATTEMPTS: u32 = 16;

/// Replaces a lost state by an empty one, unless another participant has done so.
pub(crate) fn reset(context: &Context, state: &RwLock<State>) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let found = load(context, &[])?;
        if !found.lost {
            *state.write()? = found;
            return Ok(());
        }
        let (log, _) = claim_number(context, &found)?;
        let mut manifest = Manifest {
            number: found.manifest_seen + 1,
            // One that could be read keeps its id: whoever is claiming a number right now has written it already.
            id: if found.manifest.number > 0 { found.manifest.id } else { context.options.random },
            last_order: found.last_order,
            next_writer: log.writer + 1,
            ..Manifest::default()
        };
        let mut dead = Vec::new();
        for view in &found.logs {
            if lives(view)? {
                let bytes = view.file.len().map_err(|source| Error::io("read", &view.name.to_string(), source))?;
                let from = bytes.next_multiple_of(HEAD_BYTES as u64);
                let id = view.id.unwrap_or(manifest.id);
                manifest.open_logs.push(OpenLog { writer: view.writer, id, from, end: from });
            } else {
                dead.push(view);
            }
        }
        let outcome = publish(&*context.vfs, &context.checksum, log.writer, found.manifest_seen, manifest)?;
        if matches!(outcome, Published::Won(_)) {
            let own = FileName::Log(log.writer).to_string();
            context.vfs.remove(&own).map_err(|source| Error::io("remove", &own, source))?;
            set_damaged_aside(context, found.manifest_seen, &dead)?;
            context.files.set_collect_due(true);
        }
    }
    Err(Error::Busy { operation: "set damage aside", attempts: ATTEMPTS })
}

/// Whether the log counts from its present end on, because its writer may still append to it. One whose very start is
/// damaged does not, living or not: nobody could read on in it.
fn lives(view: &LogView) -> Result<bool> {
    let unreadable = view.locked.is_none() && matches!(view.stop, Stop::Damaged(_));
    if unreadable || view.stop == Stop::Sealed || matches!(view.name, FileName::Taken { .. }) {
        return Ok(false);
    }
    match view.file.try_lock() {
        Ok(free) => Ok(!free),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(true),
        Err(source) => Err(Error::io("lock", &view.name.to_string(), source)),
    }
}

fn set_damaged_aside(context: &Context, manifest: u64, dead: &[&LogView]) -> Result<()> {
    let damaged = dead.iter().filter(|view| matches!(view.stop, Stop::Damaged(_))).map(|view| view.name);
    for name in damaged.chain((manifest > 0).then_some(FileName::Manifest(manifest))) {
        set_aside(context, &name.to_string())?;
    }
    trim(context)
}
