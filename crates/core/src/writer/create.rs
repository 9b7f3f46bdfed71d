//! The beginning of a cache: its first manifest, empty but for the ids that what follows refers to.
//!
//! With hard links there is one: it appears whole, and later processes find it. Without them several may begin at
//! once, under several numbers and with several ids; the ids are those of the one that is sure (`publish.rs`), and a
//! log begins on a sure one only.

use crate::error::{Error, Result};
use crate::format::file_names::FileName;
use crate::format::sequence::WRITER_MAX;
use crate::manifest::{Manifest, Published, publish_as};
use crate::platform::vfs::Access;
use crate::state::context::Context;
use crate::state::{Newest, highest, list, newest_manifest};
use std::io;

const ATTEMPTS: u32 = 64;

/// Gives the folder a manifest that is sure and survives a power failure: before anything else is in it, and before a
/// log is begun.
pub(crate) fn begin(context: &Context) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let names = list(context)?;
        let newest = match newest_manifest(context, &names)? {
            Newest::Found(manifest, _) => manifest,
            Newest::None => Manifest::default(),
            Newest::Vanished => continue,
            // Whoever loads it tells.
            Newest::Damaged(_) => return Ok(()),
        };
        if newest.number > 0 && newest.number == highest(&list(context)?) {
            return make_durable(context, newest.number);
        }
        let (base, number) = (newest.number, highest(&names) + 1);
        // A log that is there was begun on a manifest that has gone. Its writer may not have noticed yet.
        let logs = names.iter().filter(|name| name.log_writer().is_some());
        let next_writer = logs.filter_map(|log| log.writer_max()).max().map_or(0, |writer| writer + 1);
        let first =
            || Manifest { cache_id: context.new_id(), id: context.new_id(), next_writer, ..Manifest::default() };
        let manifest = Manifest { number, ..if base > 0 { newest } else { first() } };
        if matches!(publish_unnumbered(context, base, manifest)?, Published::Won(_)) {
            return Ok(());
        }
    }
    Err(Error::Busy { operation: "create the cache", attempts: ATTEMPTS })
}

/// Publishes a manifest without the number of a writer. Temporary names are numbered from the other end.
pub(crate) fn publish_unnumbered(context: &Context, base: u64, manifest: Manifest) -> Result<Published> {
    let name = FileName::Manifest(manifest.number).to_string();
    for attempt in 0..ATTEMPTS {
        let temporary = FileName::Temporary(WRITER_MAX - attempt).to_string();
        match publish_as(&*context.vfs, &context.checksum, &temporary, base, manifest.clone()) {
            // Another process has that name, or left it behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Error::io("create", &name, source)),
            Ok(published) => {
                // Left behind, it would only be swept up later.
                let _ = context.vfs.remove(&temporary);
                return Ok(published);
            }
        }
    }
    Err(Error::Busy { operation: "create a manifest", attempts: ATTEMPTS })
}

/// A manifest may be read before whoever wrote it has synced it, or its name.
pub(crate) fn make_durable(context: &Context, number: u64) -> Result<()> {
    let name = FileName::Manifest(number).to_string();
    let file = match context.vfs.open(&name, Access::Stream) {
        Ok(file) => file,
        // There is a newer one by now, which is durable.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::io("open", &name, source)),
    };
    let synced = file.sync().and_then(|()| context.vfs.sync_folder());
    synced.map_err(|source| Error::io("sync", &name, source))
}
