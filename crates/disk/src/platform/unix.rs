//! Linux, macOS and the BSDs.

use super::Stamp;
use crate::map;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use varve_core::vfs::Stat;

/// One system call writes several parts.
pub(crate) const WRITES_VECTORED: bool = true;

/// Follows no link and does not wait for the other end of a FIFO.
pub(crate) fn open_for_reading(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
}

/// Follows links, and does not wait for the other end of a FIFO.
pub(crate) fn open_followed(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

/// The stamp of a file as Node.js computes it; `None` if a time is before 1970, for which its versions differ.
pub(crate) fn stamp(metadata: &fs::Metadata) -> Option<Stamp> {
    let time_ms = |seconds: i64, nanoseconds: i64| seconds as f64 * 1e3 + nanoseconds as f64 / 1e6;
    let modified_ms = time_ms(metadata.mtime(), metadata.mtime_nsec());
    let changed_ms = time_ms(metadata.ctime(), metadata.ctime_nsec());
    let is_known = metadata.mtime() >= 0 && metadata.ctime() >= 0;
    is_known.then_some([metadata.len() as f64, modified_ms, changed_ms, metadata.ino() as f64])
}

/// Every write goes to the end of the file, even if other processes write, too.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)
}

/// The regular file at `path`; `None` for anything else.
pub(crate) fn stat(path: &Path) -> io::Result<Option<Stat>> {
    let metadata = fs::symlink_metadata(path)?;
    let changed = metadata.ctime().wrapping_mul(1_000_000_000).wrapping_add(metadata.ctime_nsec());
    let stat =
        Stat { file: metadata.ino(), bytes: metadata.len(), changed: changed.cast_unsigned() };
    Ok(metadata.is_file().then_some(stat))
}

/// Distinguishes directories that exist at the same time.
pub(crate) fn folder_number(metadata: &fs::Metadata) -> u64 {
    metadata.ino()
}

pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // Some file systems cannot sync a directory, and offer no alternative.
        Err(error) if is_unsupported(&error) || error.raw_os_error() == Some(libc::EINVAL) => {
            Ok(())
        }
        result => result,
    }
}

pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}

/// Opens a second handle of the local file at `path`, whose writes bypass the cache and wait for the disk. Returns
/// `None` if the system has no such handle, or if another file is at `path` by now.
pub(crate) fn open_direct(path: &Path, same: &File) -> Option<File> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if map::is_local(same) {
        let flags = libc::O_DIRECT | libc::O_DSYNC | libc::O_NOFOLLOW;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).ok()?;
        let (ours, theirs) = (same.metadata().ok()?, file.metadata().ok()?);
        return ((ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())).then_some(file);
    }
    let _ = (path, same);
    None
}

/// Writes all bytes in one call or fails: the rest of a short write might not begin at a block.
pub(crate) fn write_once_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    loop {
        match file.write_at(bytes, offset) {
            Ok(count) if count == bytes.len() => return Ok(()),
            Ok(_) => return Err(ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads once; returns fewer bytes at the end of the file.
pub(crate) fn read_once_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(bytes, offset) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// Returns whether this process now holds the lock, which belongs to the open file and is released with it.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if means_no_locks(&error) => {
            Err(io::Error::new(ErrorKind::Unsupported, error))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// NFS requires a file open for writing (EBADF) and a lock server that responds (ENOLCK).
fn means_no_locks(error: &io::Error) -> bool {
    is_unsupported(error)
        || matches!(error.raw_os_error(), Some(libc::EBADF | libc::EINVAL | libc::ENOLCK))
}

/// Linux returns EPERM on FAT and on some FUSE file systems.
pub(crate) fn means_no_links(error: &io::Error) -> bool {
    is_unsupported(error)
        || matches!(error.raw_os_error(), Some(libc::EPERM | libc::EMLINK | libc::EXDEV))
}

/// Makes the bytes of the file survive a power failure.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// No Unix system prevents renaming or removing an open file.
pub(crate) fn means_in_use(_error: &io::Error) -> bool {
    false
}

/// The name of a removed file goes at once.
pub(crate) fn is_removed(_path: &Path, _error: &io::Error) -> bool {
    false
}

/// The two errors are equal on Linux and differ on macOS, so they cannot be patterns.
fn is_unsupported(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    error.kind() == ErrorKind::Unsupported
        || [libc::ENOSYS, libc::ENOTSUP, libc::EOPNOTSUPP].iter().any(|&known| code == Some(known))
}

/// Returns whether the file is on a disk of this machine: a page that comes over a network may never arrive.
pub(crate) fn is_mappable(file: &File) -> bool {
    map::is_local(file)
}

/// Returns `None` if the file cannot be mapped now. Reading it is still possible.
pub(crate) fn map(file: &File, length: u64) -> Option<Arc<dyn varve_core::vfs::File>> {
    Some(Arc::new(map::MappedFile::new(file, length)?))
}
