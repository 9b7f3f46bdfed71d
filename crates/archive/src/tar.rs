//! Archives of files: .tar, .tar.gz, .tar.zst in, .tar and .tar.gz out.
//!
//! ```text
//! import: input -> source (decompressed, counted) -> walk (headers, names, rules) -> batches -> store, in parallel
//! export: records, sorted -> headers and contents -> output
//! ```
//!
//! An archive is foreign: nothing is allocated because a header says so, every name passes the rules of `path`, and
//! what is no file, folder or allowed link is refused. Owners, times and all bits of the mode but "executable" are
//! dropped on the way in and fixed on the way out, so the same files give the same archive.

mod export;
mod extension;
mod frames;
mod import;
mod source;
#[cfg(test)]
mod tests;
mod walk;

pub use export::{ExportOptions, check_sorted, export};
pub use import::{Imported, Warning, import};
use varve_core::Digest;

/// A file, empty folder or link of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// Below the root of the tree, by the rules of `path`.
    pub path: String,
    /// What is there.
    pub content: Content,
}

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A regular file.
    File {
        /// Of its bytes.
        digest: Digest,
        /// How many.
        bytes: u64,
        /// Whether somebody may execute it.
        executable: bool,
    },
    /// A folder with nothing in it; others follow from the paths of what they hold.
    Folder,
    /// A symbolic link.
    Link {
        /// From the folder of the link: `..` any number of times, then names; never out of the tree.
        target: String,
    },
}

/// What becomes of symbolic links in an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// The import fails.
    #[default]
    Refuse,
    /// Those whose target stays inside the tree are kept, the import fails at others.
    Inside,
}

/// What an import takes. The limits are checked against what a header claims before a byte of it is read.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Symbolic links; hard links are always refused.
    pub links: Links,
    /// Bytes of the whole archive, decompressed.
    pub bytes_max: u64,
    /// Bytes of one file; it is held in memory.
    pub file_bytes_max: u64,
    /// Entries of any kind.
    pub files_max: u64,
    /// Over 64 MiB, how many times its compressed size an archive may have.
    pub ratio_max: u64,
    /// Bytes of the input, told to those who watch; 0 = unknown.
    pub input_bytes: u64,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            links: Links::Refuse,
            bytes_max: 4 << 30,
            file_bytes_max: 1 << 30,
            files_max: 1_000_000,
            ratio_max: 1_000,
            input_bytes: 0,
        }
    }
}
