//! Walks from the root of a tree to the directory of a path, and from there to the next one.

use super::folder::Folder;
use std::io::{self, ErrorKind};
use varve_archive::path::PathProblem;
use varve_core::{Error, Result};

/// The position of one thread in a tree.
#[derive(Debug)]
pub(super) struct Walker<'a> {
    root: &'a Folder,
    /// The directory of the last path, unless that is the root.
    last: Option<(String, Folder)>,
    /// Creates missing directories.
    creates: bool,
}

impl<'a> Walker<'a> {
    pub(super) fn new(root: &'a Folder, creates: bool) -> Self {
        Self { root, last: None, creates }
    }

    /// Returns the open directory of a path and the name in it. The path has passed the rules.
    pub(super) fn go<'p>(&mut self, path: &'p str) -> Result<(&Folder, &'p str)> {
        let Some((parent, name)) = path.rsplit_once('/') else { return Ok((self.root, path)) };
        if self.last.as_ref().is_none_or(|(last, _)| last != parent) {
            self.last = None;
            let folder = self.open(path, parent)?;
            self.last = Some((parent.to_owned(), folder));
        }
        let folder = self.last.as_ref().map_or(self.root, |(_, folder)| folder);
        Ok((folder, name))
    }

    fn open(&self, path: &str, parent: &str) -> Result<Folder> {
        let mut open: Option<Folder> = None;
        for name in parent.split('/') {
            let folder = open.as_ref().unwrap_or(self.root);
            open = Some(self.step(folder, name).map_err(|error| failed(path, name, error))?);
        }
        open.ok_or_else(|| Error::io("open", path, ErrorKind::InvalidInput.into()))
    }

    fn step(&self, folder: &Folder, name: &str) -> io::Result<Folder> {
        match folder.open(name) {
            Err(error) if error.kind() == ErrorKind::NotFound && self.creates => {}
            outcome => return outcome,
        }
        match folder.create_folder(name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            outcome => outcome?,
        }
        folder.open(name)
    }
}

/// The error for `path`, which `part` blocks.
pub(super) fn failed(path: &str, part: &str, error: io::Error) -> Box<Error> {
    let blocks = [ErrorKind::NotADirectory, ErrorKind::IsADirectory, ErrorKind::DirectoryNotEmpty];
    if blocks.contains(&error.kind()) {
        return Error::unsafe_path(path, PathProblem::Blocked { part: part.to_owned() });
    }
    Error::io("reach", path, error)
}
