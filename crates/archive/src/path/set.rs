//! A set of paths that can exist side by side on any file system.
//!
//! The set is a tree of names. A name is found by the number of its directory and its key. The key is what a file
//! system compares if it ignores case and Unicode forms (canonical caseless matching, Unicode chapter 3, D145). Two
//! names of one directory collide if they have the same key, or if one name is both file and directory. Each name is
//! stored once, however many paths lead through it, so time and memory grow with the bytes of the paths. With whole
//! paths as keys, they grew with the square of the depth.

use crate::path::PathProblem;
use std::borrow::Cow;
use std::collections::HashMap;
use unicase::UniCase;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};
use varve_core::order;

/// What a path of the set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A directory: other paths may be below it.
    Folder,
    /// A file or a link: no path is below it.
    Leaf,
}

/// The paths that were added, and all their directories.
#[derive(Debug, Default)]
pub struct PathSet {
    /// Keyed by the number of the directory, little-endian, and the key of the name.
    names: HashMap<Box<[u8]>, Name>,
    /// A buffer for the key of the current lookup.
    wanted: Vec<u8>,
}

#[derive(Debug)]
struct Name {
    /// The number of this file or directory, from 1; 0 is the root.
    number: u32,
    /// The name as it was added; `None` if it equals the key.
    written: Option<Box<str>>,
    role: Role,
}

impl PathSet {
    /// Adds a path that passed `check`. Returns `false` if the same path is already in the set, in the same role.
    ///
    /// # Errors
    /// A collision with a path or directory in the set, with both names. The set may then hold directories of the new
    /// path.
    pub fn insert(&mut self, path: &str, role: Role) -> Result<bool, PathProblem> {
        let whole = key(path);
        let (mut folder, mut is_new, mut end) = (0_u32, false, 0);
        // No character folds to '/', so the parts of the key are the keys of the parts.
        let mut parts = path.split('/').zip(whole.split('/')).peekable();
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
                    self.names.insert(
                        self.wanted.as_slice().into(),
                        Name { number: folder, written, role },
                    );
                    true
                }
            };
            end += 1;
        }
        Ok(is_new)
    }
}

impl Name {
    /// Checks that this name and `part`, the last part of `path`, are the same file or directory. They have the same
    /// directory and key.
    fn meet(&self, path: &str, part: &str, folded: &str, role: Role) -> Result<(), PathProblem> {
        let written = self.written.as_deref().unwrap_or(folded);
        if part == written {
            return if self.role == role {
                Ok(())
            } else {
                Err(PathProblem::FileAndFolder { path: path.to_owned() })
            };
        }
        let other = format!("{}{written}", path.strip_suffix(part).unwrap_or_default());
        let path = path.to_owned();
        let is_form = decomposed(part) == decomposed(written);
        Err(if is_form {
            PathProblem::SameButForm { path, other }
        } else {
            PathProblem::SameButCase { path, other }
        })
    }
}

/// What a file system compares if it ignores case and Unicode forms.
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

/// The text in the form NFD: characters decomposed, combining marks in canonical order. The iterator of the crate would
/// add the tables of all forms, 35 KB of a WebAssembly module.
fn decomposed(text: &str) -> String {
    let mut characters = Vec::with_capacity(text.len());
    text.chars().for_each(|character| decompose_canonical(character, |part| characters.push(part)));
    let class = |character: &char| canonical_combining_class(*character);
    for marks in characters.chunk_by_mut(|_, next| class(next) != 0) {
        // A run begins with its base, which has class 0.
        order::sort_by(marks, |left, right| class(left).cmp(&class(right)));
    }
    characters.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_normalization::UnicodeNormalization;

    #[test]
    fn unicode_decomposition_equals_that_of_the_crate() {
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for character in &all {
            assert!(
                character.nfd().eq(decomposed(&character.to_string()).chars()),
                "{character:?}"
            );
        }
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let marks: Vec<char> =
            all.iter().copied().filter(|mark| canonical_combining_class(*mark) != 0).collect();
        for _ in 0..100_000 {
            let pick = |random: &mut fastrand::Rng| {
                let from = if random.bool() { &marks } else { &all };
                from[random.usize(..from.len())]
            };
            let text: String = (0..random.usize(..10)).map(|_| pick(&mut random)).collect();
            assert_eq!(decomposed(&text), text.nfd().collect::<String>());
        }
    }

    /// 20,000 paths of 60 directories each, 2.9 MB of an archive, took 92 s when each directory was stored with its
    /// whole path.
    #[test]
    fn memory_for_deep_paths_grows_with_their_bytes() {
        let mut set = PathSet::default();
        let mut bytes = 0;
        for index in 0..100 {
            let parts: Vec<String> =
                (0..60).map(|depth| format!("{:x}", index * 60 + depth)).collect();
            let path = parts.join("/");
            bytes += path.len();
            assert_eq!(set.insert(&path, Role::Leaf), Ok(true));
        }
        let kept: usize = set.names.keys().map(|key| key.len()).sum();
        assert!(kept <= bytes + set.names.len() * size_of::<u32>(), "{kept} bytes kept of {bytes}");
    }

    #[test]
    fn no_character_folds_to_a_path_separator() {
        for character in ('\0'..=char::MAX).filter(|character| *character != '/') {
            assert!(!key(&character.to_string()).contains('/'), "{character:?}");
        }
    }
}
