//! Creating a cache; FORMAT.md, "The protocol", section 1. The first manifest is empty except for the ids that later
//! files refer to.
//!
//! 1. The writer publishes the manifest before anything else is in the directory. With hard links it appears whole, and
//!    later processes find it. Where a manifest was lost, its number is above those of the lost ones
//!    (`highest_manifest`).
//! 2. Without hard links, several processes may publish one at once, under several numbers and with several ids. The
//!    ids of the sure manifest count (`publish.rs`).
//! 3. The writer quarantines logs that were begun on a lost manifest after step 1 had listed the directory. Their
//!    writers notice at their next append. Writers of later logs notice before they append anything.
//! 4. A log begins on a sure manifest only.

use crate::error::{Error, Result};
use crate::format::file_names::{FileName, highest_manifest};
use crate::format::sequence::WRITER_MAX;
use crate::log::read_head;
use crate::manifest::{Manifest, Published, publish_as};
use crate::platform::vfs::Access;
use crate::state::context::Context;
use crate::state::{NewestManifest, list, newest_manifest};
use crate::writer::quarantine::quarantine;
use std::io;

/// Tries before another process counts as always faster.
const ATTEMPTS: u32 = 64;

/// Makes sure that the directory has a sure manifest that survives a power failure, before a log is begun or any other
/// file is written.
pub(crate) fn begin(context: &Context) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let names = list(context)?;
        let newest = match newest_manifest(&*context.vfs, &context.checksum, &names)? {
            NewestManifest::Found(manifest, _) => manifest,
            NewestManifest::None => Manifest::default(),
            NewestManifest::Vanished => continue,
            // The next load reports the damage.
            NewestManifest::Damaged(_) => return Ok(()),
        };
        if newest.number > 0 && newest.number == highest_manifest(&list(context)?) {
            return make_durable(context, newest.number);
        }
        let (base, number) = (newest.number, highest_manifest(&names) + 1);
        // An existing log was begun on a manifest that is gone, and its writer may not have noticed yet.
        let logs = names.iter().filter(|name| name.log_writer().is_some());
        let next_writer = logs.filter_map(|log| log.writer_max()).max().map_or(0, |writer| writer + 1);
        let first =
            || Manifest { cache_id: context.new_id(), id: context.new_id(), next_writer, ..Manifest::default() };
        let manifest = Manifest { number, ..if base > 0 { newest } else { first() } };
        if let Published::Won(number) = publish_unnumbered(context, base, manifest.clone())? {
            return if base > 0 { Ok(()) } else { quarantine_others(context, &Manifest { number, ..manifest }) };
        }
    }
    Err(Error::Busy { operation: "create the cache", attempts: ATTEMPTS })
}

/// Quarantines the logs that may count by their number, but were begun on an older manifest than this one. If there is
/// a newer one, logs may have been begun on that.
fn quarantine_others(context: &Context, manifest: &Manifest) -> Result<()> {
    let names = list(context)?;
    if highest_manifest(&names) != manifest.number {
        return Ok(());
    }
    for name in names {
        let FileName::Log(writer) = name else { continue };
        if !manifest.is_open(writer) {
            continue;
        }
        let file = match context.vfs.open(&name.to_string(), Access::Stream) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(Error::io("open", &name.to_string(), source)),
        };
        let head = read_head(&*file, &context.checksum.of_file(manifest.cache_id, name), writer)?;
        drop(file);
        if head.start.is_some_and(|start| start.base != manifest.id) {
            quarantine(context, &name.to_string(), None)?;
        }
    }
    Ok(())
}

/// Publishes a manifest for a process without a writer number. Its temporary names count down from the highest number.
pub(crate) fn publish_unnumbered(context: &Context, base: u64, manifest: Manifest) -> Result<Published> {
    let name = FileName::Manifest(manifest.number).to_string();
    for attempt in 0..ATTEMPTS {
        let temporary = FileName::Temporary(WRITER_MAX - attempt).to_string();
        match publish_as(&*context.vfs, &context.checksum, &temporary, base, manifest.clone()) {
            // Another process uses that name, or left it behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Error::io("create", &name, source)),
            Ok(published) => {
                // If this fails, the next compaction removes the file.
                let _ = context.vfs.remove(&temporary);
                return Ok(published);
            }
        }
    }
    Err(Error::Busy { operation: "create a manifest", attempts: ATTEMPTS })
}

/// Syncs a manifest and its name: it can be read before its publisher has synced it.
pub(crate) fn make_durable(context: &Context, number: u64) -> Result<()> {
    let name = FileName::Manifest(number).to_string();
    let file = match context.vfs.open(&name, Access::Stream) {
        Ok(file) => file,
        // A newer manifest exists by now, and is durable.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::io("open", &name, source)),
    };
    let synced = file.sync().and_then(|()| context.vfs.sync_folder());
    synced.map_err(|source| Error::io("sync", &name, source))
}
