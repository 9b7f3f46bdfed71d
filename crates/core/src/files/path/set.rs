//! A set of paths that any file system can hold side by side.
//!
//! Every path and each of its folders is kept under its key: what a file system that ignores case and the form of
//! Unicode would compare (canonical caseless matching, Unicode chapter 3, D145). Two names with one key, or one name as
//! file and as folder, do not go together. Memory: 900,000 paths of 43 bytes take 160 bytes each.

use super::PathProblem;
use std::borrow::Cow;
use std::collections::HashMap;
use unicase::UniCase;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

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
        let is_form = decomposed(&path) == decomposed(&other);
        Err(if is_form { PathProblem::SameButForm { path, other } } else { PathProblem::SameButCase { path, other } })
    }
}

/// What file systems that are generous about names compare.
fn key(path: &str) -> Cow<'_, str> {
    if !path.is_ascii() {
        let folded = UniCase::unicode(decomposed(path)).to_folded_case();
        return Cow::Owned(decomposed(&folded));
    }
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(path.to_ascii_lowercase());
    }
    Cow::Borrowed(path)
}

/// The text in the form NFD: characters taken apart, marks in their order. (The iterator of the crate would bring the
/// tables of all forms with it, 35 KB of a WebAssembly module.)
fn decomposed(text: &str) -> String {
    let mut characters = Vec::with_capacity(text.len());
    text.chars().for_each(|character| decompose_canonical(character, |part| characters.push(part)));
    let class = |character: &char| canonical_combining_class(*character);
    for marks in characters.chunk_by_mut(|_, next| class(next) != 0) {
        marks.sort_by_key(class); // a run begins with its base, of class 0
    }
    characters.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_normalization::UnicodeNormalization;

    #[test]
    fn decomposition_is_that_of_the_crate() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for character in &all {
            assert!(character.nfd().eq(decomposed(&character.to_string()).chars()), "{character:?}");
        }
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let marks: Vec<char> = all.iter().copied().filter(|mark| canonical_combining_class(*mark) != 0).collect();
        for _ in 0..100_000 {
            let pick = |random: &mut fastrand::Rng| {
                let from = if random.bool() { &marks } else { &all };
                from[random.usize(..from.len())]
            };
            let text: String = (0..random.usize(..10)).map(|_| pick(&mut random)).collect();
            assert_eq!(decomposed(&text), text.nfd().collect::<String>());
        }
    }

    #[test]
    fn no_character_becomes_a_separator() {
        for character in ('\0'..=char::MAX).filter(|character| *character != '/') {
            assert!(!key(&character.to_string()).contains('/'), "{character:?}");
        }
    }
}
