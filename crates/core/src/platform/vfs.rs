//! Files: core reads and writes flat directories through [`Vfs`] and [`File`] only. Implementations are a disk
//! (`varve-disk`), JavaScript's files (`varve-wasm`), memory ([`MemVfs`]) and a simulation that crashes on request
//! (`SimVfs`). Core calls them per file or per block, never per key.
//!
//! What every implementation promises (`contract.rs` tests it):
//! 1. `create_new` and `link` fail with `AlreadyExists` if the name exists: the only compare-and-swap between
//!    processes.
//! 2. `append` adds all parts, in order, or returns an error; after an error any prefix may be in the file.
//! 3. After `File::sync` the bytes survive a power failure, after `Vfs::sync_folder` the names do.
//! 4. A file that was removed or renamed can be read and synced through an open handle. Windows may keep the name of a
//!    removed file as long as the file is open. Then `list` has the name, and `create_new` and `link` find it taken.
//!    For all other calls it is missing.
//! 5. Errors keep their [`io::ErrorKind`]: core decides by kind, never by text.

mod memory;

use std::borrow::Cow;
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

pub use memory::MemVfs;

/// How a file will be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// From front to back while other processes may append: logs and manifests. Never mapped.
    Stream,
    /// Block by block, and never changed again: tables. May be mapped into memory.
    Random,
}

/// A file as its directory lists it. Equal values mean the same file without a write in between that the system
/// noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Distinguishes files that exist at the same time: the inode, or the index of a file on Windows.
    pub file: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Time of the last change of the file or of its names, in units of the system.
    pub changed: u64,
}

/// One flat directory of files. The first `create_new` in it or below it creates the directory.
pub trait Vfs: Debug + Send + Sync {
    /// Names of the regular files, in any order; empty if the directory does not exist.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Names of the directories in it, without links, in any order; empty if this directory does not exist.
    fn folders(&self) -> io::Result<Vec<String>>;

    /// Opens a file for reading. `NotFound` if it is missing, `InvalidInput` if it is not a regular file.
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>>;

    /// Creates a file for appending and reading. `AlreadyExists` if the name exists.
    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// The regular file of this name; `None` if there is none.
    fn stat(&self, name: &str) -> io::Result<Option<Stat>>;

    /// Whether a regular file of this name exists now.
    fn exists(&self, name: &str) -> io::Result<bool> {
        Ok(self.stat(name)?.is_some())
    }

    /// Gives a file a second name. `AlreadyExists` if `target` exists, `Unsupported` if the file system has no hard
    /// links.
    fn link(&self, source: &str, target: &str) -> io::Result<()>;

    /// Renames a file, replacing `target`. `NotFound` if `source` is missing.
    fn rename(&self, source: &str, target: &str) -> io::Result<()>;

    /// Removes a file. `NotFound` if it is missing.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// A directory in this one, which may not exist yet. `InvalidInput` for an invalid name. `list` omits it; `folders`
    /// lists it once it has a file.
    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>>;

    /// Syncs the directory: every name created, changed or removed so far survives a power failure.
    fn sync_folder(&self) -> io::Result<()>;
}

/// Whether a name cannot be changed because it is gone, or because a process has the file open on a system that locks
/// open files.
pub(crate) fn is_gone_or_in_use(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ResourceBusy};
    matches!(error.kind(), NotFound | PermissionDenied | ResourceBusy)
}

/// One open file.
pub trait File: Debug + Send + Sync {
    /// Length in bytes, as of now.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Exactly `length` bytes from `offset`. `UnexpectedEof` if the file ends before, without allocating. Borrowed
    /// bytes may change with the file; a caller that needs stable bytes copies and then verifies them.
    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>>;

    /// The same into memory of the caller, whose length is the number of bytes. After an error, `target` may have any
    /// content.
    fn read_into(&self, offset: u64, target: &mut [u8]) -> io::Result<()> {
        let bytes = self.read(offset, target.len())?;
        if bytes.len() != target.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        target.copy_from_slice(&bytes);
        Ok(())
    }

    /// Releases the memory with pages that were read, if it belongs to the system. The file stays readable. A hint for
    /// callers that read a large file once.
    fn release(&self) {}

    /// Adds `parts` at the end of the file. Only for a file from `create_new`, by one thread at a time.
    fn append(&self, parts: &[&[u8]]) -> io::Result<()>;

    /// Appends and syncs, in one step if the system can; only after all bytes before were synced. Zeros may follow in
    /// the file until the next `append`, or until the file is dropped.
    fn append_durable(&self, parts: &[&[u8]]) -> io::Result<()> {
        self.append(parts)?;
        self.sync()
    }

    /// Syncs the bytes appended so far, so that they survive a power failure.
    fn sync(&self) -> io::Result<()>;

    /// Tries to take the file's lock, which is held until the file is dropped or the process dies. `false` if another
    /// handle holds it, `Unsupported` if there are no locks. Never waits.
    fn try_lock(&self) -> io::Result<bool>;
}
