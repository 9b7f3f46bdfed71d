//! Directories with files that Varve did not write. A cache is created or reset only if no file has a name of the
//! format, or if one of them has a start of Varve (`format/file_start.rs`) or is a sound blob. So other files that look
//! like blobs are not in the directory before its first manifest, and collections never remove them.

use crate::error::{Error, Result};
use crate::format::file_names::FileName;
use crate::format::file_start::{FileStart, start_of_name};
use crate::state::context::Context;

/// Fails if `names`, or blobs, are files that Varve did not write. Files that a crash left blank do not count.
pub(crate) fn refuse_foreign(context: &Context, names: &[FileName]) -> Result<()> {
    let mut foreign = None;
    for name in names {
        match start_of(context, *name)? {
            Some(FileStart::Varve) => return Ok(()),
            Some(FileStart::Foreign) => foreign = Some(name.to_string()),
            Some(FileStart::Blank) | None => {}
        }
    }
    if foreign.is_none() {
        foreign = context.blobs.foreign()?;
    }
    foreign.map_or(Ok(()), |name| Err(Error::Foreign { name }.boxed()))
}

/// Whether Varve did not write the file of this name.
pub(crate) fn is_foreign(context: &Context, name: FileName) -> Result<bool> {
    Ok(start_of(context, name)? == Some(FileStart::Foreign))
}

fn start_of(context: &Context, name: FileName) -> Result<Option<FileStart>> {
    let name = name.to_string();
    start_of_name(&*context.vfs, &name).map_err(|source| Error::io("read", &name, source))
}
