//! Quarantine: a damaged file is renamed to `<name>.bad`, which Varve never reads and a user may inspect. Up to
//! [`BAD_BYTES_MAX`] of such files stay, those of the newest writers. Files with other names are never touched.

use crate::blobs::BlobName;
use crate::error::{Error, Result};
use crate::format::file_names::FileName;
use crate::format::order;
use crate::platform::vfs::{Access, Vfs, is_gone_or_in_use};
use crate::state::context::Context;

/// Total bytes of quarantined files that stay.
const BAD_BYTES_MAX: u64 = 64 << 20;

/// Quarantines a damaged file, which may have had another name `before`. `false` = it does not exist, or is in use for
/// now.
pub(crate) fn quarantine(context: &Context, name: &str, before: Option<&str>) -> Result<bool> {
    match context.vfs.rename(name, &format!("{}.bad", before.unwrap_or(name))) {
        Ok(()) => Ok(true),
        Err(error) if is_gone_or_in_use(&error) => Ok(false),
        Err(source) => Err(Error::io("quarantine", name, source)),
    }
}

/// Removes the oldest quarantined files until the rest is small enough. Blobs are removed first; the next collection
/// would remove them anyway.
pub(crate) fn trim(context: &Context) -> Result<()> {
    let mut found: Vec<(u64, &dyn Vfs, String, u64)> = Vec::new();
    let names =
        context.vfs.list().map_err(|source| Error::io("list", "quarantined files", source))?;
    for name in names {
        let Some(file) = name.strip_suffix(".bad").and_then(FileName::parse) else { continue };
        let age = match file {
            FileName::Manifest(number) => number,
            file => file.writer().map_or(0, u64::from),
        };
        found.push((age + 1, &*context.vfs, name, 0));
    }
    for (index, name) in context.blobs.names()? {
        if matches!(name, BlobName::Bad(_)) {
            found.push((0, context.blobs.shard(index)?, name.to_string(), 0));
        }
    }
    for (_, folder, name, bytes) in &mut found {
        // A file that cannot be opened counts as 0 bytes, since removing it may free nothing.
        *bytes = folder.open(name, Access::Stream).and_then(|file| file.len()).unwrap_or(0);
    }
    order::sort_by(&mut found, |left, right| left.0.cmp(&right.0));
    let mut total: u64 = found.iter().map(|(.., bytes)| bytes).sum();
    for (_, folder, name, bytes) in found {
        if total <= BAD_BYTES_MAX {
            break;
        }
        match folder.remove(&name) {
            Err(error) if !is_gone_or_in_use(&error) => {
                return Err(Error::io("remove", &name, error));
            }
            _ => total -= bytes,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::platform::pool::SerialPool;
    use crate::platform::vfs::MemVfs;
    use std::sync::Arc;

    #[test]
    fn the_oldest_quarantined_files_are_removed_first_and_foreign_names_stay() {
        let vfs = Arc::new(MemVfs::default());
        let context = Context::new(vfs.clone(), Arc::new(SerialPool), Options::default());
        let block = vec![7; 24 << 20];
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
        assert!(quarantine(&context, "12-1.table", None).unwrap());
        assert!(!quarantine(&context, "12-1.table", None).unwrap());
        trim(&context).unwrap();
        let mut left = vfs.list().unwrap();
        left.sort();
        assert_eq!(left, ["07.log.bad", "11-1.table.bad", "12-1.table.bad", "notes.bad"]);
    }
}
