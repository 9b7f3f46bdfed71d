//! The door to files. Core reads and writes flat folders through [`Vfs`] and [`File`] and knows nothing else of
//! the machine below: a disk (`varve-disk`), JavaScript's files (`varve-wasm`), memory ([`MemVfs`]) or a simulation
//! that crashes on request (`SimVfs`). Calls go through it per file or per block, never per key.
//!
//! What every implementation promises (`contract.rs` tests it):
//! 1. `create_new` and `link` fail with `AlreadyExists` where the name is taken: the store's only compare-and-swap.
//! 2. `append` adds all parts, in order, or returns an error; after an error any prefix may be in the file.
//! 3. After `File::sync` the bytes, after `Vfs::sync_folder` the names survive the loss of power.
//! 4. A file that was removed or renamed stays readable through a handle that is open.
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
    /// From front to back while others may append: logs and manifests. Never mapped.
    Stream,
    /// Block by block and never changed again: tables. May be mapped into memory.
    Random,
}

/// A file as its folder knows it. Equal values: the same file, and no write to it in between that the system noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Tells apart files that exist at the same time: the inode, or the time of creation on systems without.
    pub file: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Time of the last change of the file or of its names, in units of the system.
    pub changed: u64,
}

/// One flat folder of files. The folder itself comes into being with the first `create_new` in it or below it.
pub trait Vfs: Debug + Send + Sync {
    /// Names of the regular files in the folder, in any order; empty where the folder does not exist.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Names of the folders in the folder, links not among them, in any order; empty where the folder does not exist.
    fn folders(&self) -> io::Result<Vec<String>>;

    /// Opens a file for reading. `NotFound` where it is missing, `InvalidInput` where it is no regular file.
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>>;

    /// Creates a file for appending and reading. `AlreadyExists` where the name is taken.
    fn create_new(&self, name: &str) -> io::Result<Arc<dyn File>>;

    /// Which regular file has this name now; `None` if there is none.
    fn stat(&self, name: &str) -> io::Result<Option<Stat>>;

    /// Whether a regular file of this name exists now.
    fn exists(&self, name: &str) -> io::Result<bool> {
        Ok(self.stat(name)?.is_some())
    }

    /// Gives a file a second name. `AlreadyExists` where `target` is taken, `Unsupported` where the file system has no
    /// hard links.
    fn link(&self, source: &str, target: &str) -> io::Result<()>;

    /// Renames a file, replacing `target`. `NotFound` where `source` is missing.
    fn rename(&self, source: &str, target: &str) -> io::Result<()>;

    /// Removes a file. `NotFound` where it is missing.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// A folder in this one, which need not exist. `InvalidInput` for what is no name. `list` does not show it,
    /// `folders` does from its first file on.
    fn folder(&self, name: &str) -> io::Result<Arc<dyn Vfs>>;

    /// Makes every name given, changed or removed in this folder so far survive the loss of power.
    fn sync_folder(&self) -> io::Result<()>;
}

/// Whether a name cannot be changed because it is gone, or not now, because somebody has the file open, on a system
/// that minds: later perhaps.
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

    /// Exactly `length` bytes from `offset`; `UnexpectedEof` where the file ends before, without allocating. Borrowed
    /// bytes are a window on the file: whoever needs them to stay the same copies first and verifies the copy.
    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>>;

    /// Lets go of the memory that holds what was read, where it is the system's. The file stays as readable as before;
    /// a hint for those who read much of it once.
    fn release(&self) {}

    /// Adds `parts` at the end of the file. Only for a file from `create_new`, by one thread at a time.
    fn append(&self, parts: &[&[u8]]) -> io::Result<()>;

    /// As `append` and then `sync`, in one step where the system has one; only after all bytes before were synced.
    /// Zeros may follow in the file until the next `append` or until it is dropped.
    fn append_durable(&self, parts: &[&[u8]]) -> io::Result<()> {
        self.append(parts)?;
        self.sync()
    }

    /// Makes the bytes appended so far survive the loss of power.
    fn sync(&self) -> io::Result<()>;

    /// Tries to take the file's lock, which is held until the file is dropped or its process dies. `false` where
    /// another handle holds it, `Unsupported` where there are no locks. Never waits.
    fn try_lock(&self) -> io::Result<bool>;
}
