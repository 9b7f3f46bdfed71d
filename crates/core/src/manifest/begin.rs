//! The beginning of a cache: its first manifest, empty but for the id that every log carries from then on.
//!
//! With hard links there is one: it appears whole, and whoever comes later finds it. Without them a name appears first and
//! its bytes later, or never, where somebody died. Others pass it over then and begin under a higher number, so there may
//! be several first manifests with several ids. Whose id is it? A manifest is *sure* if a list made after it was
//! read whole has no higher name, and a log begins on a sure one only. Nobody who comes later gives the cache another id:
//! 1. who created a name finds the sure one, which was whole before, and withdraws without a byte (`publish.rs`);
//! 2. a whole one is only ever removed for one that is whole above it;
//! 3. who finds a whole one that is not sure, because somebody died above it, publishes above both, with its id.

use super::publish::write_and_link;
use super::{Manifest, Newest, newest_manifest};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::format::names::FileName;
use crate::format::order::WRITER_MAX;
use crate::state::list;
use crate::vfs::Access;
use std::io;

const ATTEMPTS: u32 = 64;

/// Sees to it that the folder has a manifest that is sure, before anything else is in it.
pub(crate) fn begin(context: &Context) -> Result<()> {
    let mut own = None;
    for attempt in 0..ATTEMPTS {
        let names = list(context)?;
        let newest = match newest_manifest(context, &names)? {
            Newest::Found(manifest) => manifest,
            Newest::None => Manifest::default(),
            Newest::Vanished => continue,
            // Whoever loads it tells.
            Newest::Damaged(_) => return Ok(()),
        };
        let seen = highest(&names);
        if newest.number > 0 && (newest.number == highest(&list(context)?) || !newest.is_first()) {
            let is_synced = own == Some(newest.number) || names.iter().any(|name| name.log_writer().is_some());
            return if is_synced { Ok(()) } else { make_durable(context, newest.number) };
        }
        let id = if newest.number > 0 { newest.id } else { context.options.random };
        let first = Manifest { number: seen + 1, id, ..Manifest::default() };
        // Nobody has a number of a writer yet; those of first publishers come from the other end.
        let temporary = FileName::Temporary(WRITER_MAX - attempt).to_string();
        match write_and_link(&*context.vfs, &context.checksum, &temporary, newest.number, &first) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(source) => return Err(Error::io("create", &FileName::Manifest(first.number).to_string(), source)),
            Ok(_) => own = Some(first.number),
        }
        // Left behind, it would only be swept up later.
        let _ = context.vfs.remove(&temporary);
    }
    Err(Error::Busy { operation: "create the cache", attempts: ATTEMPTS })
}

/// A manifest may be read before whoever wrote it has synced it; the first log must not outlive it.
fn make_durable(context: &Context, number: u64) -> Result<()> {
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

fn highest(names: &[FileName]) -> u64 {
    let number = |name: &FileName| if let FileName::Manifest(number) = name { Some(*number) } else { None };
    names.iter().filter_map(number).max().unwrap_or(0)
}
