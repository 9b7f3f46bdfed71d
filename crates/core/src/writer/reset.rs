//! Resetting a cache; FORMAT.md, "The protocol", section 8. After damage to a manifest or a log, no entry can be
//! trusted, because nothing shows which keys the damaged bytes had.
//!
//! ```text
//!  logs: rename to <w>-<by>.taken --> publish an empty manifest without a parent --> quarantine what is damaged
//!   1                                  2                                              3
//! ```
//! A directory that has files of these names, and none that Varve wrote, is refused (`writer/foreign.rs`). In a cache,
//! files that Varve did not write stay; the new manifest has a higher number than theirs.
//!
//! 1. The writer claims every log by renaming it. If the owner of a log lives, it finds the name gone after its next
//!    append and commits again in a new log. Earlier commits are lost with the rest.
//! 2. The writer publishes a new, empty manifest without a parent. Logs that were begun before belong to no manifest
//!    any more. If a manifest above the damaged one has become whole meanwhile, another process was faster, and the
//!    writer withdraws.
//! 3. The writer quarantines what is damaged, under `<name>.bad`. The next compaction removes the rest.
//!
//! After a crash before step 3 the damage is still there, and the next commit resets the cache again.

use crate::error::{Error, Result};
use crate::format::file_names::FileName;
use crate::format::file_start::Removal;
use crate::log::Stop;
use crate::manifest::{Manifest, ManifestFile, Published};
use crate::platform::sync::RwLock;
use crate::state::context::Context;
use crate::state::{Known, State, list, load};
use crate::writer::create::publish_unnumbered;
use crate::writer::exhausted::{is_exhausted, start_over};
use crate::writer::foreign::{is_foreign, refuse_foreign};
use crate::writer::quarantine::{quarantine, trim};
use std::io;

/// Tries before another process counts as always faster.
const ATTEMPTS: u32 = 16;

/// Replaces an unrecoverable state by an empty one, unless another process has done so already.
pub(crate) fn reset(context: &Context, state: &RwLock<State>) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let found = load(context, &Known::default())?;
        if !found.unrecoverable {
            let mut state = state.write()?;
            let layers = std::mem::take(&mut state.layers);
            *state = found.over(layers);
            return Ok(());
        }
        refuse_foreign(context, &list(context)?)?;
        if is_exhausted(&found) {
            start_over(context)?;
            continue;
        }
        let by = claim_all(context, found.next_writer_seen)?;
        let manifest = Manifest {
            number: found.manifest_seen + 1,
            cache_id: context.new_id(),
            id: context.new_id(),
            last_sequence: found.last_sequence,
            next_writer: by + 1,
            ..Manifest::default()
        };
        if let Published::Won(number) = publish_unnumbered(context, found.manifest_file, manifest)?
        {
            quarantine_damaged(context, &found, number)?;
            context.blobs.set_collect_due(true);
        }
    }
    Err(Error::Busy { operation: "reset the cache", attempts: ATTEMPTS }.boxed())
}

/// Renames every log to a name with a number above those of all writers, and returns that number.
fn claim_all(context: &Context, next_writer: u32) -> Result<u32> {
    let names = list(context)?;
    let logs: Vec<u32> = names.iter().filter_map(|name| name.log_writer()).collect();
    let by = logs.iter().fold(next_writer, |by, writer| by.max(writer + 1));
    for writer in logs {
        if is_foreign(context, FileName::Log(writer))? {
            continue;
        }
        let (source, target) =
            (FileName::Log(writer).to_string(), FileName::Claimed { writer, by }.to_string());
        match context.vfs.rename(&source, &target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("claim", &source, error));
            }
            _ => {}
        }
    }
    Ok(by)
}

/// Quarantines the damaged manifest and logs. The next compaction removes the rest.
fn quarantine_damaged(context: &Context, found: &State, published: u64) -> Result<()> {
    let ours = FileName::Manifest(published).to_string();
    let check = |source| Error::io("check", &ours, source);
    let Some(stat) = context.vfs.stat(&ours).map_err(check)? else { return Ok(()) };
    let ours_file = ManifestFile { number: published, stat };
    for name in list(context)? {
        let before = match name {
            FileName::Manifest(number) if number <= found.manifest_seen => None,
            FileName::Log(writer) | FileName::Claimed { writer, .. }
                if is_damaged(context, found, name)? =>
            {
                Some(FileName::Log(writer).to_string())
            }
            _ => continue,
        };
        let is_in_place = || ours_file.is_in_place(&*context.vfs);
        let outcome = quarantine(context, &name.to_string(), before.as_deref(), is_in_place)?;
        // The directory was removed, and has files of another cache.
        if outcome == Removal::Replaced {
            break;
        }
    }
    trim(context)
}

/// Whether the file of this name is a log that was found damaged, perhaps under another name.
fn is_damaged(context: &Context, found: &State, name: FileName) -> Result<bool> {
    let name = name.to_string();
    let stat = context.vfs.stat(&name).map_err(|source| Error::io("check", &name, source))?;
    let mut damaged = found.logs.iter().filter(|view| matches!(view.stop, Stop::Damaged(_)));
    Ok(damaged.any(|view| stat.is_some_and(|stat| stat.file == view.file_id)))
}
