//! Checks the inputs of results against what is on disk now, on the threads of the pool. `packages/varve/src/inputs` does the
//! same in JavaScript, and both give the same answers (`test/inputs`).
//!
//! A set arrives as text and numbers, and nothing in it is trusted:
//!
//! ```text
//! c bLHvAPItmcc9l4w10oslyz \0 /app/src/a.js \0 y missing \0 /app/b.js    without the spaces: kind, digest, path
//! 120, 1795257074727.025, 1795257074727.025, 91, 0, 0, 0, 0             four numbers for each: its stamp
//! ```
//!
//! 1. What has a stamp is looked at. If the stamp is the recorded one, the input is unchanged, and nothing is read.
//! 2. Otherwise its digest decides (`digest`, `folder`).
//! 3. Whatever JavaScript might see in another way, such as names without UTF-8, is left to it: [`State::Undecided`].
//!
//! Only regular files and directories are opened: reading anything else might never end.

mod digest;
mod folder;

use crate::platform::{self, Stamp};
use crate::pool;
use digest::{Buffer, digest_of_file};
use folder::{names_below, typed_names_in};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use varve_core::{Pool, failpoints};

/// Inputs that one thread checks in a row. Fewer than that stay on the thread of the caller, because handing them out takes
/// longer.
const RUN: usize = 128;

const MISSING: &str = "missing";

/// What an input is: its letter in a packed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `c`, `C`: the content of a file; the large letter for that of a package's manifest, whose digest has the version.
    Content { versioned: bool },
    /// `l`: the names in a folder, with types.
    List,
    /// `t`: the names in all folders below.
    Tree,
    /// `y`: whether there is a file, a folder or something else.
    Type,
    /// `k`: what a path resolves to.
    Link,
}

impl Kind {
    fn of(letter: char) -> Option<Self> {
        Some(match letter {
            'c' | 'C' => Self::Content { versioned: letter == 'C' },
            'l' => Self::List,
            't' => Self::Tree,
            'y' => Self::Type,
            'k' => Self::Link,
            _ => return None,
        })
    }

    fn has_stamp(self) -> bool {
        matches!(self, Self::Content { .. } | Self::List)
    }
}

/// One input of a packed set.
#[derive(Clone, Copy, Debug)]
struct Input<'a> {
    kind: Kind,
    digest: &'a str,
    path: &'a Path,
    stamp: Stamp,
}

/// How an input compares with the present.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Same,
    /// The digest is the recorded one; the stamp is this one now.
    Restamped(Stamp),
    Changed,
    /// JavaScript decides.
    Undecided,
}

/// Why there is no digest.
enum NoDigest {
    Unreadable,
    Undecided,
}

impl From<io::Error> for NoDigest {
    fn from(_error: io::Error) -> Self {
        Self::Unreadable
    }
}

type Digest = Result<String, NoDigest>;

/// What is at a path, links followed.
enum Look {
    Missing,
    /// Neither a file nor a folder, or the system refuses to tell.
    Unreadable,
    There {
        is_folder: bool,
        bytes: u64,
        stamp: Stamp,
    },
}

/// Checks a packed set. The answer has six numbers in little-endian for each input that is not known to be unchanged: its
/// index, 1 if only its stamp differs, 2 if it changed, 3 if JavaScript decides, and its stamp now. `until_change`: no
/// other inputs are checked once one has changed. `None` if this is not a packed set.
pub fn check_inputs(rows: &str, stamps: &[f64], until_change: bool) -> Option<Vec<u8>> {
    let inputs = unpacked(rows, stamps)?;
    let findings = Mutex::new(Vec::new());
    let is_over = AtomicBool::new(false);
    pool::shared().run(inputs.len().div_ceil(RUN), &|run| {
        failpoints::panics("check-inputs");
        let mut buffer = Buffer::default();
        let mut found = Vec::new();
        for (index, input) in inputs.iter().enumerate().skip(run * RUN).take(RUN) {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let state = state_of(input, &mut buffer);
            if state == State::Changed && until_change {
                is_over.store(true, Ordering::Relaxed);
            }
            push(&mut found, index, state);
        }
        findings.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&found);
    });
    Some(findings.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn unpacked<'a>(rows: &'a str, stamps: &[f64]) -> Option<Vec<Input<'a>>> {
    let (stamps, rest) = stamps.as_chunks::<4>();
    if stamps.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut fields = rows.split('\0');
    let mut inputs = Vec::with_capacity(stamps.len());
    for &stamp in stamps {
        let head = fields.next()?;
        let path = fields.next()?;
        let mut digest = head.chars();
        let kind = Kind::of(digest.next()?)?;
        inputs.push(Input { kind, digest: digest.as_str(), path: Path::new(path), stamp });
    }
    fields.next().is_none().then_some(inputs)
}

fn push(found: &mut Vec<u8>, index: usize, state: State) {
    let (state, stamp) = match state {
        State::Same => return,
        State::Restamped(stamp) => (1.0, stamp),
        State::Changed => (2.0, [0.0; 4]),
        State::Undecided => (3.0, [0.0; 4]),
    };
    for number in [index as f64, state].iter().chain(&stamp) {
        found.extend_from_slice(&number.to_le_bytes());
    }
}

fn state_of(input: &Input<'_>, buffer: &mut Buffer) -> State {
    let Input { kind, digest, path, stamp } = *input;
    let resolves = matches!(kind, Kind::List | Kind::Tree | Kind::Link);
    if resolves && path.components().any(|part| part == Component::ParentDir) {
        return State::Undecided; // Node.js resolves such paths as text
    }
    if kind == Kind::Link {
        return compared(digest, target_of(path));
    }
    let Some(look) = look_at(path) else { return State::Undecided };
    let now = match look {
        Look::There { stamp, .. } if kind.has_stamp() => Some(stamp),
        _ => None,
    };
    // A stamp without a time is none.
    if stamp[1] != 0.0 && now == Some(stamp) {
        return State::Same;
    }
    let state = compared(digest, digest_of(kind, path, &look, buffer));
    match (state, now) {
        (State::Same, Some(now)) => State::Restamped(now),
        _ => state,
    }
}

fn compared(digest: &str, now: Digest) -> State {
    let is_same = match now {
        Ok(now) => now == digest,
        Err(NoDigest::Undecided) => return State::Undecided,
        Err(NoDigest::Unreadable) => digest == "other",
    };
    if is_same { State::Same } else { State::Changed }
}

/// `None` if JavaScript has to look.
fn look_at(path: &Path) -> Option<Look> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => {
            let is_missing = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            return Some(if is_missing { Look::Missing } else { Look::Unreadable });
        }
    };
    let is_folder = metadata.is_dir();
    let bytes = metadata.len();
    if !is_folder && !metadata.is_file() {
        return Some(Look::Unreadable);
    }
    platform::stamp(&metadata).map(|stamp| Look::There { is_folder, bytes, stamp })
}

fn digest_of(kind: Kind, path: &Path, look: &Look, buffer: &mut Buffer) -> Digest {
    let (is_folder, bytes) = match look {
        Look::Missing => return Ok(MISSING.to_owned()),
        Look::Unreadable => return Err(NoDigest::Unreadable),
        Look::There { is_folder, bytes, .. } => (*is_folder, *bytes),
    };
    match (kind, is_folder) {
        (Kind::List, true) => Ok(digest::digest_of_names(typed_names_in(path)?)),
        (Kind::Tree, true) => Ok(digest::digest_of_names(names_below(path)?)),
        (Kind::Content { versioned }, false) => Ok(digest_of_file(path, bytes, versioned, buffer)?),
        (_, true) => Ok("folder".to_owned()),
        (_, false) => Ok("file".to_owned()),
    }
}

/// What a path resolves to.
fn target_of(path: &Path) -> Digest {
    match fs::canonicalize(path) {
        Err(_) => Ok(MISSING.to_owned()),
        Ok(target) => target.into_os_string().into_string().map_err(|_| NoDigest::Undecided),
    }
}

#[cfg(test)]
mod tests;
