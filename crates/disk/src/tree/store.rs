//! Files of a tree into the cache.

use super::folder::Folder;
use super::parallel::in_runs;
use super::read_all;
use super::walker::{Walker, failed};
use std::io::ErrorKind;
use std::path::Path;
use varve_archive::path::{PathProblem, check};
use varve_core::{BlobRef, BlobWriter, Error, Pool, Result, Watch};

/// What a file was when it was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its content.
    pub file: BlobRef,
    /// Whether somebody may execute it.
    pub executable: bool,
}

/// Stores the files at `paths` below `root`, in parallel. Answers in the order of the paths; the watch counts files.
///
/// # Errors
/// `UnsafePath` for what is no regular file, or lies behind a link; `Io` for what cannot be read.
pub fn store_tree(
    root: &Path,
    paths: &[String],
    intake: &BlobWriter,
    pool: &dyn Pool,
    watch: Watch<'_>,
) -> Result<Vec<StoredFile>> {
    let root = Folder::root(root).map_err(|source| Error::io("open", &root.to_string_lossy(), source))?;
    in_runs(
        pool,
        paths,
        watch,
        || Walker::new(&root, false),
        |walker, path| {
            check(path).map_err(|problem| Error::UnsafePath { path: path.clone(), problem })?;
            let (folder, name) = walker.go(path)?;
            let (mut file, stat) = folder.read(name).map_err(|error| match error.kind() {
                ErrorKind::InvalidInput => Error::UnsafePath { path: path.clone(), problem: PathProblem::NotAFile },
                _ => failed(path, name, error),
            })?;
            let content = read_all(&mut file, stat.bytes).map_err(|source| Error::io("read", path, source))?;
            Ok(StoredFile { file: intake.store(&content)?, executable: stat.executable })
        },
    )
}
