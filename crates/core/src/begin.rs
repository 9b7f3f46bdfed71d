//! The beginning of a cache: its first manifest, empty but for the id that every log carries from then on.
//!
//! With hard links there is one: it appears whole, and whoever comes later finds it. Without them several may begin at
//! once, under several numbers and with several ids; the id is that of the one that is sure (`publish.rs`), and a log
//! begins on a sure one only.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::format::names::FileName;
use crate::format::order::WRITER_MAX;
use crate::manifest::{Manifest, Published, publish_as};
use crate::state::{Newest, highest, list, newest_manifest};
use crate::vfs::Access;
use std::io;

const ATTEMPTS: u32 = 64;

/// Sees to it that the folder has a manifest that is sure and survives the loss of power, before anything else is in
/// it.
pub(crate) fn begin(context: &Context) -> Result<()> {
    for attempt in 0..ATTEMPTS {
        let names = list(context)?;
        let newest = match newest_manifest(context, &names)? {
            Newest::Found(manifest) => manifest,
            Newest::None => Manifest::default(),
            Newest::Vanished => continue,
            // Whoever loads it tells.
            Newest::Damaged(_) => return Ok(()),
        };
        if newest.number > 0 && (!newest.is_first() || newest.number == highest(&list(context)?)) {
            return make_durable(context, newest.number);
        }
        let (base, number) = (newest.number, highest(&names) + 1);
        let id = if base > 0 { newest.id } else { context.options.random };
        // Nobody has a number of a writer yet; those of first publishers come from the other end.
        let temporary = FileName::Temporary(WRITER_MAX - attempt).to_string();
        let first = Manifest { number, id, ..Manifest::default() };
        match publish_as(&*context.vfs, &context.checksum, &temporary, base, first) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(source) => return Err(Error::io("create", &FileName::Manifest(number).to_string(), source)),
            outcome => {
                // Left behind, it would only be swept up later.
                let _ = context.vfs.remove(&temporary);
                if matches!(outcome, Ok(Published::Won(_))) {
                    return Ok(());
                }
            }
        }
    }
    Err(Error::Busy { operation: "create the cache", attempts: ATTEMPTS })
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
