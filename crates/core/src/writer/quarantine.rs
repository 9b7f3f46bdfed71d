//! Quarantine: a damaged file is renamed to `<name>.bad`, which Varve never reads and a user may inspect. Up to
//! [`BAD_BYTES_MAX`] of such files stay, those of the newest writers. Files with other names, and those that Varve did
//! not write, are never touched (`format/file_start.rs`).

use crate::blobs::BlobName;
use crate::error::{Error, Result};
use crate::format::file_names::FileName;
use crate::format::file_start::{self, FileStart, Removal, start_of, start_of_name};
use crate::format::order;
use crate::platform::vfs::{Access, File, is_gone_or_in_use};
use crate::state::context::Context;
use std::io;
use std::sync::Arc;

/// Total bytes of quarantined files that stay.
const BAD_BYTES_MAX: u64 = 64 << 20;

/// Quarantines a damaged file, which may have had another name `before`, unless Varve did not write it.
/// `is_in_place` is called last: whether the directory has the files that the caller has read.
pub(crate) fn quarantine(
    context: &Context,
    name: &str,
    before: Option<&str>,
    is_in_place: impl FnOnce() -> io::Result<bool>,
) -> Result<Removal> {
    let wrap = |source| Error::io("quarantine", name, source);
    match start_of_name(&*context.vfs, name) {
        Ok(Some(FileStart::Foreign)) => {
            context.foreign.add(name);
            return Ok(Removal::Foreign);
        }
        Err(error) if !is_gone_or_in_use(&error) => return Err(wrap(error)),
        _ => {}
    }
    if !is_in_place().map_err(wrap)? {
        return Ok(Removal::Replaced);
    }
    match context.vfs.rename(name, &format!("{}.bad", before.unwrap_or(name))) {
        Ok(()) => Ok(Removal::Removed),
        Err(error) if is_gone_or_in_use(&error) => Ok(Removal::Missing),
        Err(source) => Err(wrap(source)),
    }
}

/// A quarantined file.
struct BadFile {
    /// Those with the lowest age are removed first.
    age: u64,
    bytes: u64,
    place: BadPlace,
}

enum BadPlace {
    File(String),
    Blob(u8, BlobName),
}

/// Removes the oldest quarantined files until the rest is small enough. Blobs are removed first; the next collection
/// would remove them anyway.
pub(crate) fn trim(context: &Context) -> Result<()> {
    let mut found = bad_files(context)?;
    for (shard, name) in context.blobs.names()? {
        if matches!(name, BlobName::Bad(_)) {
            let file = context.blobs.shard(shard)?.open(&name.to_string(), Access::Stream);
            // A file that cannot be opened counts as 0 bytes, since removing it may free nothing.
            let bytes = file.and_then(|file| file.len()).unwrap_or(0);
            found.push(BadFile { age: 0, bytes, place: BadPlace::Blob(shard, name) });
        }
    }
    order::sort_by(&mut found, |left, right| left.age.cmp(&right.age));
    let mut total: u64 = found.iter().map(|file| file.bytes).sum();
    for file in found {
        if total <= BAD_BYTES_MAX {
            break;
        }
        match file.place {
            BadPlace::Blob(shard, name) => drop(context.blobs.remove(shard, name)?),
            BadPlace::File(name) => match file_start::remove(&*context.vfs, &name) {
                Err(error) if !is_gone_or_in_use(&error) => {
                    return Err(Error::io("remove", &name, error));
                }
                _ => {}
            },
        }
        total -= file.bytes;
    }
    Ok(())
}

/// The quarantined files that Varve wrote, without blobs.
fn bad_files(context: &Context) -> Result<Vec<BadFile>> {
    let mut found = Vec::new();
    let names =
        context.vfs.list().map_err(|source| Error::io("list", "quarantined files", source))?;
    for name in names {
        let Some(file) = name.strip_suffix(".bad").and_then(FileName::parse) else { continue };
        let age = match file {
            FileName::Manifest(number) => number,
            file => file.writer().map_or(0, u64::from),
        };
        let open = context.vfs.open(&name, Access::Stream);
        let is_foreign = |file: &Arc<dyn File>| matches!(start_of(&**file), Ok(FileStart::Foreign));
        if !open.as_ref().is_ok_and(is_foreign) {
            let bytes = open.and_then(|file| file.len()).unwrap_or(0);
            found.push(BadFile { age: age + 1, bytes, place: BadPlace::File(name) });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::file_start::TABLE_START;
    use crate::options::Options;
    use crate::platform::pool::SerialPool;
    use crate::platform::vfs::{MemVfs, Vfs};

    #[test]
    fn the_oldest_quarantined_files_are_removed_first_and_foreign_files_stay() {
        let vfs = Arc::new(MemVfs::default());
        let context = Context::new(vfs.clone(), Arc::new(SerialPool), Options::default());
        let block: Vec<u8> = [&TABLE_START[..], &vec![7; 24 << 20]].concat();
        for name in [
            "3-1.table.bad",
            "12-1.table",
            "2.log.bad",
            "notes.bad",
            "07.log.bad",
            "11-1.table.bad",
        ] {
            vfs.create_new(name).unwrap().append(&[&block]).unwrap();
        }
        vfs.create_new("13-1.table").unwrap().append(&[b"of a server"]).unwrap();
        vfs.create_new("1-1.table.bad").unwrap().append(&[b"of a server"]).unwrap();
        let quarantined =
            |name| quarantine(&context, name, None, || Ok(true)).expect("no call fails");
        assert_eq!(quarantined("12-1.table"), Removal::Removed);
        assert_eq!(quarantined("13-1.table"), Removal::Foreign);
        assert_eq!(quarantined("12-1.table"), Removal::Missing);
        trim(&context).unwrap();
        let mut left = vfs.list().unwrap();
        left.sort();
        assert_eq!(
            left,
            [
                "07.log.bad",
                "1-1.table.bad",
                "11-1.table.bad",
                "12-1.table.bad",
                "13-1.table",
                "notes.bad"
            ]
        );
    }
}
