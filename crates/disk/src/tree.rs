//! Trees of files outside of the cache: the outputs of tasks, which Varve stores and restores.
//!
//! Other programs may change a tree at any time, and its files may be traps. So Varve opens the root once and reaches
//! everything below it from open directories, one name after another and never through a link (`folder`). It writes
//! under a temporary name first and renames the file into place. A path shows the old file or the complete new one, and
//! a file with several names is never written to.

#[cfg(unix)]
#[path = "tree/folder_unix.rs"]
mod folder;
#[cfg(windows)]
#[path = "tree/folder_windows.rs"]
mod folder;
mod parallel;
mod remove;
mod restore;
mod store;
mod walker;

pub use remove::remove_tree;
pub use restore::{Known, Mode, Outcome, Placed, Restore};
pub use store::{StoredFile, store_tree};

use std::fs::File;
use std::io::{self, ErrorKind, Read};

/// What a name refers to; links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    kind: Kind,
    bytes: u64,
    /// It has a bit that allows executing it.
    executable: bool,
    /// It has no mode bits besides reading, writing and executing.
    plain: bool,
    /// When its content was last written, in nanoseconds since 1970. Programs can set this time.
    modified_ns: i64,
    /// When its content or metadata last changed, set by the system; 0 if std does not report it.
    changed_ns: i64,
    /// Its number in the file system.
    number: u64,
    /// How many names it has.
    names: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// Reads an open file of `bytes` bytes. If it is longer, it returns one byte more, so that the caller notices.
fn read_all(file: &mut File, bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let bytes_max = bytes.saturating_add(1);
    let room = usize::try_from(bytes_max).map_err(|_| ErrorKind::OutOfMemory)?;
    content.try_reserve_exact(room).map_err(|_| ErrorKind::OutOfMemory)?;
    file.take(bytes_max).read_to_end(&mut content)?;
    Ok(content)
}
