//! A set of paths that any file system can hold side by side.
//!
//! Every path and each of its folders is kept under its key: what a file system that ignores case and the form of
//! Unicode would compare (canonical caseless matching, Unicode chapter 3, D145). Two names with one key, or one name as
//! file and as folder, do not go together. Memory: about 100 bytes beside the text for a path or folder.

use super::PathProblem;
use std::borrow::Cow;
use std::collections::HashMap;
use unicase::UniCase;
use unicode_normalization::UnicodeNormalization;

/// What a path of the set stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A folder: other paths may lie below it.
    Folder,
    /// A file or a link: nothing lies below it.
    Leaf,
}

/// Paths that were added, and all their folders.
#[derive(Debug, Default)]
pub struct PathSet {
    names: HashMap<Box<str>, Name>,
}

#[derive(Debug)]
struct Name {
    /// As it was written; `None` where that is the key.
    written: Option<Box<str>>,
    role: Role,
}

impl PathSet {
    /// Adds a path that passed `check`; `false` = this very path is there already, in the same role.
    ///
    /// # Errors
    /// A collision with a path or folder that is there; it names both. The set may then hold the path, not its folders.
    pub fn insert(&mut self, path: &str, role: Role) -> Result<bool, PathProblem> {
        let folded = key(path);
        if !self.add(path, &folded, role)? {
            return Ok(false);
        }
        let (mut path, mut folded) = (path, &*folded);
        // No character folds to '/', so the folders of the key are the keys of the folders.
        while let (Some((folder, _)), Some((rest, _))) = (path.rsplit_once('/'), folded.rsplit_once('/')) {
            (path, folded) = (folder, rest);
            if !self.add(path, folded, Role::Folder)? {
                break;
            }
        }
        Ok(true)
    }

    fn add(&mut self, path: &str, folded: &str, role: Role) -> Result<bool, PathProblem> {
        if let Some(there) = self.names.get(folded) {
            return there.meet(path, folded, role).map(|()| false);
        }
        let written = (path != folded).then(|| path.into());
        self.names.insert(folded.into(), Name { written, role });
        Ok(true)
    }
}

impl Name {
    /// Whether this name and `path`, which have the same key, are the same thing.
    fn meet(&self, path: &str, folded: &str, role: Role) -> Result<(), PathProblem> {
        let written = self.written.as_deref().unwrap_or(folded);
        if path == written && self.role == role {
            return Ok(());
        }
        let (path, other) = (path.to_owned(), written.to_owned());
        if path == other {
            return Err(PathProblem::FileAndFolder { path });
        }
        let is_form = path.nfd().eq(other.nfd());
        Err(if is_form { PathProblem::SameButForm { path, other } } else { PathProblem::SameButCase { path, other } })
    }
}

/// What file systems that are generous about names compare.
fn key(path: &str) -> Cow<'_, str> {
    if !path.is_ascii() {
        let decomposed: String = path.nfd().collect();
        return Cow::Owned(UniCase::unicode(decomposed).to_folded_case().nfd().collect());
    }
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(path.to_ascii_lowercase());
    }
    Cow::Borrowed(path)
}
