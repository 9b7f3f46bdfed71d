//! Windows. Files are never mapped: a mapped file could not be removed or replaced.

mod identity;
mod lock;
mod sync;

use super::Stamp;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use varve_core::vfs::Stat;

pub(crate) use identity::{Identity, identity_of, open_unread};
pub(crate) use sync::sync_data;

/// The system writes one buffer per call.
pub(crate) const WRITES_VECTORED: bool = false;

const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const ERROR_INVALID_FUNCTION: i32 = 1;
const ERROR_NOT_SAME_DEVICE: i32 = 17;
const ERROR_SHARING_VIOLATION: i32 = 32;
const ERROR_LOCK_VIOLATION: i32 = 33;
const ERROR_NOT_SUPPORTED: i32 = 50;
const ERROR_CALL_NOT_IMPLEMENTED: i32 = 120;
const ERROR_DELETE_PENDING: i32 = 303;
const ERROR_TOO_MANY_LINKS: i32 = 1142;
const ERROR_USER_MAPPED_FILE: i32 = 1224;

/// Follows no link.
pub(crate) fn open_for_reading(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)
}

pub(crate) fn open_followed(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Std has no time of the last change here, so JavaScript looks at files itself.
pub(crate) fn stamp(_metadata: &fs::Metadata) -> Option<Stamp> {
    None
}

/// Every write goes to the end of the file, even if other processes write, too.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create_new(true).open(path)
}

/// Not supported yet: a write-through handle has other rules on Windows.
pub(crate) fn open_direct(_path: &Path, _same: &File) -> Option<File> {
    None
}

/// Only called for a direct file.
pub(crate) fn write_once_at(_file: &File, _bytes: &[u8], _offset: u64) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Only called for a direct file.
pub(crate) fn read_once_at(_file: &File, _bytes: &mut [u8], _offset: u64) -> io::Result<usize> {
    Err(ErrorKind::Unsupported.into())
}

/// The regular file at `path`; `None` for anything else.
pub(crate) fn stat(path: &Path) -> io::Result<Option<Stat>> {
    let file = open_unread(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let Identity { index, .. } = identity_of(&file)?;
    Ok(Some(Stat { file: index, bytes: metadata.len(), changed: metadata.last_write_time() }))
}

/// Windows has no call to sync a directory, so directories need not be distinguished.
pub(crate) fn folder_number(_metadata: &std::fs::Metadata) -> u64 {
    0
}

pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(path)
}

/// NTFS writes names through its own journal. There is no call to sync a directory.
pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                bytes = bytes.get_mut(count..).unwrap_or_default();
                offset += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns whether this process now holds the lock, which belongs to the open file and is released with it.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    lock::try_lock(file).map_err(|error| {
        if is_unsupported(&error) { io::Error::new(ErrorKind::Unsupported, error) } else { error }
    })
}

pub(crate) fn means_no_links(error: &io::Error) -> bool {
    is_unsupported(error)
        || matches!(error.raw_os_error(), Some(ERROR_NOT_SAME_DEVICE | ERROR_TOO_MANY_LINKS))
}

/// Another program has the file open or mapped.
pub(crate) fn means_in_use(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(ERROR_SHARING_VIOLATION | ERROR_LOCK_VIOLATION | ERROR_USER_MAPPED_FILE)
    )
}

/// Whether the file is removed and keeps its name as long as it is open. The system denies every access to it. To
/// another file that a process may not read, it grants the least access, which is a right of the directory.
pub(crate) fn is_removed(path: &Path, error: &io::Error) -> bool {
    let is_denied = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
    match error.raw_os_error() {
        Some(ERROR_DELETE_PENDING) => true,
        _ if is_denied(error) => open_unread(path).is_err_and(|error| is_denied(&error)),
        _ => false,
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    error.kind() == ErrorKind::Unsupported
        || matches!(
            code,
            Some(ERROR_INVALID_FUNCTION | ERROR_NOT_SUPPORTED | ERROR_CALL_NOT_IMPLEMENTED)
        )
}

pub(crate) fn is_mappable(_file: &File) -> bool {
    false
}

pub(crate) fn map(_file: &File, _length: u64) -> Option<Arc<dyn varve_core::vfs::File>> {
    None
}
