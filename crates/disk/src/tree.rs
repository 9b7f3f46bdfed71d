//! Trees of files outside of the cache: what tasks made, stored and restored.
//!
//! A tree is foreign ground: others may change it at any time, and what lies there may be a trap. So its root is opened
//! once and everything below is reached from open folders, one name after another and never through a link
//! (`folder`). What is written has a temporary name of its own first and is renamed into place, so a path shows the
//! old file or the whole new one, and no file that has other names is written into.

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

/// What stands under a name; links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    kind: Kind,
    bytes: u64,
    /// Somebody may execute it.
    executable: bool,
    /// It has no bit beyond reading, writing and executing.
    plain: bool,
    /// When its content was last written, nanoseconds since 1970. A program can set it.
    modified_ns: i64,
    /// When anything of it last changed, set by the system; 0 where std does not report it.
    changed_ns: i64,
    /// Its number in the file system.
    number: u64,
    /// Names that it has.
    names: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// An open file that should have so many bytes: these, and one more where there are more.
fn read_all(file: &mut File, bytes: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let bytes_max = bytes.saturating_add(1);
    let room = usize::try_from(bytes_max).map_err(|_| ErrorKind::OutOfMemory)?;
    content.try_reserve_exact(room).map_err(|_| ErrorKind::OutOfMemory)?;
    file.take(bytes_max).read_to_end(&mut content)?;
    Ok(content)
}
