//! A set of paths that any file system can hold side by side.
//!
//! A tree of names: each is found by its folder's number and its key, which is what a file system that ignores case and
//! the form of Unicode would compare (canonical caseless matching, Unicode chapter 3, D145). Two names of a folder with
//! one key, or one name as file and as folder, do not go together. A name is kept once however many paths lead through
//! it, so time and memory grow with the bytes of the paths: whole paths as keys took the square of their depth.

use crate::path::PathProblem;
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
    /// By the number of the folder, little-endian, and the key of the name.
    names: HashMap<Box<[u8]>, Name>,
    /// What is looked for.
    wanted: Vec<u8>,
}

#[derive(Debug)]
struct Name {
    /// Number of what it names, from 1; 0 is the root.
    number: u32,
    /// As it was written; `None` where that is the key.
    written: Option<Box<str>>,
    role: Role,
}

impl PathSet {
    /// Adds a path that passed `check`; `false` = this very path is there already, in the same role.
    ///
    /// # Errors
    /// A collision with a path or folder that is there; it names both. The set may then hold folders of the path.
    pub fn insert(&mut self, path: &str, role: Role) -> Result<bool, PathProblem> {
        let folded = key(path);
        let (mut folder, mut is_new, mut end) = (0_u32, false, 0);
        // No character folds to '/', so the parts of the key are the keys of the parts.
        let mut parts = path.split('/').zip(folded.split('/')).peekable();
        while let Some((part, folded)) = parts.next() {
            let role = if parts.peek().is_some() { Role::Folder } else { role };
            end += part.len();
            self.wanted.clear();
            self.wanted.extend(folder.to_le_bytes());
            self.wanted.extend(folded.bytes());
            is_new = match self.names.get(&*self.wanted) {
                Some(there) => {
                    there.meet(path.get(..end).unwrap_or_default(), part, folded, role)?;
                    folder = there.number;
                    false
                }
                None => {
                    folder = self.names.len() as u32 + 1;
                    let written = (part != folded).then(|| part.into());
                    self.names.insert(self.wanted.as_slice().into(), Name { number: folder, written, role });
                    true
                }
            };
            end += 1;
        }
        Ok(is_new)
    }
}

impl Name {
    /// Whether this name and `part`, the last one of `path`, which have the same folder and key, are the same thing.
    fn meet(&self, path: &str, part: &str, folded: &str, role: Role) -> Result<(), PathProblem> {
        let written = self.written.as_deref().unwrap_or(folded);
        if part == written {
            return if self.role == role { Ok(()) } else { Err(PathProblem::FileAndFolder { path: path.to_owned() }) };
        }
        let other = format!("{}{written}", path.strip_suffix(part).unwrap_or_default());
        let path = path.to_owned();
        let is_form = decomposed(part) == decomposed(written);
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

    /// 20,000 paths of 60 folders each, 2.9 MB of an archive, took 92 s: every folder was kept under its whole path.
    #[test]
    fn deep_paths_take_memory_by_their_bytes_not_by_the_square_of_their_depth() {
        let mut set = PathSet::default();
        let mut bytes = 0;
        for index in 0..100 {
            let parts: Vec<String> = (0..60).map(|depth| format!("{:x}", index * 60 + depth)).collect();
            let path = parts.join("/");
            bytes += path.len();
            assert_eq!(set.insert(&path, Role::Leaf), Ok(true));
        }
        let kept: usize = set.names.keys().map(|key| key.len()).sum();
        assert!(kept <= bytes + set.names.len() * size_of::<u32>(), "{kept} bytes kept of {bytes}");
    }

    #[test]
    fn no_character_becomes_a_separator() {
        for character in ('\0'..=char::MAX).filter(|character| *character != '/') {
            assert!(!key(&character.to_string()).contains('/'), "{character:?}");
        }
    }
}
