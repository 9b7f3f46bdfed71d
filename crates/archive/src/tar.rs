//! Archives of files: imports .tar, .tar.gz and .tar.zst, exports .tar and .tar.gz.
//!
//! ```text
//! import: input -> source (decompressed, counted) -> walk (headers, names, rules) -> batches -> store, in parallel
//! export: records, sorted -> headers and contents -> output
//! ```
//!
//! Archives are untrusted. Memory grows with the bytes read, not with the sizes in headers. Every name must pass the
//! rules of `path`, and every entry must be a file, a directory or an allowed link. Owners, times and all mode bits
//! besides "executable" are dropped on import and constant on export, so the same files give the same archive.

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

/// A file, empty directory or link of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// The path below the root of the tree; it follows the rules of `path`.
    pub path: String,
    /// What is at this path.
    pub content: Content,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A regular file.
    File {
        /// The digest of its content.
        digest: Digest,
        /// The size of its content.
        bytes: u64,
        /// Whether it may be executed.
        executable: bool,
    },
    /// An empty directory. Other directories follow from the paths of their files.
    Folder,
    /// A symbolic link.
    Link {
        /// The target, relative to the directory of the link: any number of `..`, then names. It stays below the root.
        target: String,
    },
}

/// How an import treats symbolic links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// A link fails the import.
    #[default]
    Refuse,
    /// Links whose target stays below the root are kept; any other link fails the import.
    Inside,
}

/// Options and limits of an import. A size in a header is compared with the limits before the content is read.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Symbolic links. Hard links always fail the import.
    pub links: Links,
    /// The most bytes of the whole archive, decompressed.
    pub bytes_max: u64,
    /// The most bytes of one file, which is held in memory.
    pub file_bytes_max: u64,
    /// The most entries of any kind.
    pub files_max: u64,
    /// Above 64 MiB, the highest ratio of the decompressed to the compressed size.
    pub ratio_max: u64,
    /// The bytes of the input as the total for progress; 0 if unknown.
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
