//! Stores files of a tree in the cache.

use super::folder::Folder;
use super::parallel::in_runs;
use super::read_all;
use super::walker::{Walker, failed};
use std::io::ErrorKind;
use std::path::Path;
use varve_archive::path::{PathProblem, check};
use varve_core::{BlobRef, BlobWriter, Error, FILE_BYTES_MAX, Pool, Result, Watch};

/// A file as it was when it was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The reference to its content.
    pub file: BlobRef,
    /// Whether it may be executed.
    pub executable: bool,
}

/// Stores the files at `paths` below `root`, in parallel. Returns results in the order of the paths. The watch counts
/// files.
///
/// # Errors
/// `UnsafePath` for paths that are not regular files or lead through a link; `Io` for files that cannot be read.
pub fn store_tree(
    root: &Path,
    paths: &[String],
    intake: &BlobWriter,
    pool: &dyn Pool,
    watch: Watch<'_>,
) -> Result<Vec<StoredFile>> {
    let root =
        Folder::root(root).map_err(|source| Error::io("open", &root.to_string_lossy(), source))?;
    in_runs(
        pool,
        paths,
        watch,
        || Walker::new(&root, false),
        |walker, path| {
            check(path).map_err(|problem| Error::unsafe_path(path, problem))?;
            let (folder, name) = walker.go(path)?;
            let (mut file, stat) = folder.read(name).map_err(|error| match error.kind() {
                ErrorKind::InvalidInput => Error::unsafe_path(path, PathProblem::NotAFile),
                _ => failed(path, name, error),
            })?;
            if stat.bytes > FILE_BYTES_MAX {
                let (path, bytes) = (path.to_owned(), stat.bytes);
                return Err(Error::LongFile { path, bytes, bytes_max: FILE_BYTES_MAX }.boxed());
            }
            let content = read_all(&mut file, stat.bytes)
                .map_err(|source| Error::io("read", path, source))?;
            Ok(StoredFile { file: intake.store(&content)?, executable: stat.executable })
        },
    )
}
