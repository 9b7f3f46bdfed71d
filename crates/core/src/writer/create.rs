//! Creating a cache; FORMAT.md, "The protocol", section 1. The first manifest is empty except for the ids that later
//! files refer to.
//!
//! 0. A directory that has files of these names, and none that Varve wrote, is refused (`writer/foreign.rs`).
//! 1. The writer publishes the manifest before anything else is in the directory. With hard links it appears whole, and
//!    later processes find it. Where a manifest was lost, its number is above those of the lost ones
//!    (`highest_manifest`).
//! 2. Without hard links, several processes may publish one at once, under several numbers and with several ids. The
//!    ids of the sure manifest count (`publish.rs`).
//! 3. A log begins on a sure manifest only.

use crate::error::{Error, Result};
use crate::format::file_names::{FileName, highest_manifest};
use crate::format::file_start;
use crate::format::sequence::WRITER_MAX;
use crate::manifest::{Manifest, ManifestFile, Published, publish_as};
use crate::platform::vfs::Access;
use crate::state::context::Context;
use crate::state::{NewestManifest, list, newest_manifest};
use crate::writer::foreign::refuse_foreign;
use std::io;

/// Numbers above those of a lost cache that no log gets: writers that have not noticed the loss may create logs under
/// them after the directory was listed.
const NUMBERS_SKIPPED: u32 = 64;

/// Tries before another process counts as always faster.
const ATTEMPTS: u32 = 64;

/// Makes sure that the directory has a sure manifest that survives a power failure, before a log is begun or any other
/// file is written. Returns its number; `None` if the newest one is damaged.
pub(crate) fn begin(context: &Context) -> Result<Option<u64>> {
    for _ in 0..ATTEMPTS {
        let names = list(context)?;
        let (newest, base) = match newest_manifest(&*context.vfs, &context.checksum, &names)? {
            NewestManifest::Found(manifest, file) => (manifest, file),
            NewestManifest::None => {
                refuse_foreign(context, &names)?;
                (Manifest::default(), ManifestFile::default())
            }
            NewestManifest::Vanished => continue,
            // The next load reports the damage.
            NewestManifest::Damaged(_) => return Ok(None),
        };
        if newest.number > 0 && newest.number == highest_manifest(&list(context)?) {
            make_durable(context, newest.number)?;
            return Ok(Some(newest.number));
        }
        let number = highest_manifest(&names) + 1;
        // Logs were begun on a manifest that is gone, and their writers may not have noticed yet.
        let logs = names.iter().filter(|name| name.log_writer().is_some());
        let above = logs.filter_map(|log| log.writer_max()).max().map_or(0, |writer| writer + 1);
        let next_writer = if above > 0 || number > 1 { above + NUMBERS_SKIPPED } else { 0 };
        let first = || Manifest {
            cache_id: context.new_id(),
            id: context.new_id(),
            next_writer,
            ..Manifest::default()
        };
        let manifest = Manifest { number, ..if base.number > 0 { newest } else { first() } };
        if matches!(publish_unnumbered(context, base, manifest)?, Published::Won(_)) {
            return Ok(Some(number));
        }
    }
    Err(Error::Busy { operation: "create the cache", attempts: ATTEMPTS }.boxed())
}

/// Publishes a manifest for a process without a writer number. Its temporary names count down from the highest number.
pub(crate) fn publish_unnumbered(
    context: &Context,
    base: ManifestFile,
    manifest: Manifest,
) -> Result<Published> {
    let name = FileName::Manifest(manifest.number).to_string();
    for attempt in 0..ATTEMPTS {
        let temporary = FileName::Temporary(WRITER_MAX - attempt).to_string();
        match publish_as(&*context.vfs, &context.checksum, &temporary, base, manifest.clone()) {
            // Another process uses that name, or left it behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => {
                // If this fails, the next compaction removes the file.
                let _ = file_start::remove(&*context.vfs, &temporary);
                return outcome.map_err(|source| Error::io("create", &name, source));
            }
        }
    }
    Err(Error::Busy { operation: "create a manifest", attempts: ATTEMPTS }.boxed())
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
