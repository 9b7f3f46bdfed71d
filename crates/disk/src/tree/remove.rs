//! Removes surplus files of a tree.

use super::folder::Folder;
use super::walker::{Walker, failed};
use super::{Kind, parallel::in_runs};
use std::io::ErrorKind;
use std::path::Path;
use varve_archive::path::check;
use varve_core::{Error, Result, SerialPool, Watch};

/// Removes the files, links (not their targets) and empty directories at `paths` below `root`, in this order. Skips
/// paths that do not exist and directories that are not empty. Returns the number of removed paths.
///
/// # Errors
/// `UnsafePath` for paths that lead through a link, `Io` for files that cannot be removed.
pub fn remove_tree(root: &Path, paths: &[String], watch: Watch<'_>) -> Result<u64> {
    let root = match Folder::root(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        root => root.map_err(|source| Error::io("open", "target", source))?,
    };
    let begin = || Walker::new(&root, false);
    let removed =
        in_runs(&SerialPool, paths, watch, begin, |walker, path| remove_one(walker, path))?;
    Ok(removed.iter().filter(|removed| **removed).count() as u64)
}

fn remove_one(walker: &mut Walker<'_>, path: &str) -> Result<bool> {
    // Names that break the rules of paths may exist in a directory that is to be cleaned, and may be removed. Names
    // that lead out of it may not.
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) || path.contains('\0') {
        check(path).map_err(|problem| Error::unsafe_path(path, problem))?;
    }
    let (folder, name) = walker.go(path)?;
    let outcome = match folder.stat(name).map_err(|error| failed(path, name, error))? {
        None => return Ok(false),
        Some(stat) if stat.kind == Kind::Folder => folder.remove_folder(name),
        Some(_) => folder.remove_file(name),
    };
    match outcome {
        Ok(()) => Ok(true),
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) =>
        {
            Ok(false)
        }
        Err(source) => Err(Error::io("remove", path, source)),
    }
}
