//! What a cache must hold after a crash: the oracle of acknowledged commits.

use super::record::content_of;
use super::recorded::{Outcome, Recorded, WRITERS};
use crate::history::{Expected, KEYS, commit, compact, key, open};
use crate::work::caught;
use std::collections::HashMap;
use std::ops::{ControlFlow, RangeInclusive};
use varve_core::testing::sim::{CrashState, SimVfs};
use varve_core::{BlobRef, Durability, Handle};

/// Checks the states of one history. Several prefixes of the history may leave the same bytes. These are read only
/// once, but compared for each prefix, because later prefixes allow fewer states.
pub(crate) struct Checker<'h> {
    history: &'h Recorded,
    outcomes: Vec<Outcome>,
    /// What was found, by fingerprint.
    seen: HashMap<u64, Found>,
}

pub(crate) struct Look {
    pub(crate) is_new: bool,
    found: Found,
}

#[derive(Clone)]
struct Found {
    /// Outcomes with this content.
    matches: Vec<usize>,
    /// Keys of entries whose stored file is lost.
    lost: Vec<Vec<u8>>,
}

/// The beginning of the keys of entries that also have their value as a stored file.
const FILE: &[u8] = b"file/";

impl<'h> Checker<'h> {
    pub(crate) fn new(history: &'h Recorded) -> Self {
        Self { history, outcomes: history.outcomes(), seen: HashMap::new() }
    }

    pub(crate) fn seen(&self) -> usize {
        self.seen.len()
    }

    pub(crate) fn into_fingerprints(self) -> Vec<u64> {
        self.seen.into_keys().collect()
    }

    /// Opens the state and compares it with every commit.
    pub(crate) fn look(&mut self, state: &CrashState) -> Result<Look, String> {
        let fingerprint = state.vfs.fingerprint();
        if let Some(found) = self.seen.get(&fingerprint) {
            return Ok(Look { is_new: false, found: found.clone() });
        }
        let content = read(&state.vfs)?;
        let outcomes = self.outcomes.iter().enumerate();
        let matches = outcomes
            .filter(|(_, outcome)| outcome.content == content)
            .map(|(index, _)| index)
            .collect();
        let found = Found { matches, lost: lost_files(&state.vfs, &content)? };
        self.seen.insert(fingerprint, found.clone());
        Ok(Look { is_new: true, found })
    }

    /// Of each writer, between its last commit that must be left and the last that was begun. A power failure must
    /// leave the commits that were acknowledged as durable. The death of the process (`is_whole`) must leave all that
    /// were acknowledged.
    pub(crate) fn allows(
        &self,
        state: &CrashState,
        look: &Look,
        is_whole: bool,
    ) -> Result<(), String> {
        let allowed: Vec<RangeInclusive<usize>> = (0..WRITERS)
            .map(|writer| self.history.allowed_of(writer, state.prefix, is_whole))
            .collect();
        let is_allowed = |outcome: &Outcome| {
            allowed.iter().zip(outcome.last).all(|(range, last)| range.contains(&last))
        };
        let mut found =
            look.found.matches.iter().filter_map(|index| self.outcomes.get(*index)).peekable();
        let first = found.peek().map(|outcome| outcome.last);
        if let Some(outcome) = found.find(|outcome| is_allowed(outcome)) {
            let least = allowed.first().and_then(|range| self.history.commits.get(*range.start()));
            let is_due = |key: &&Vec<u8>| {
                least.is_some_and(|least| least.content.get(*key) == outcome.content.get(*key))
            };
            return match look.found.lost.iter().find(is_due) {
                Some(key) => Err(format!("the file of {} is lost", String::from_utf8_lossy(key))),
                None => Ok(()),
            };
        }
        Err(match first {
            Some(last) => {
                format!("commits {last:?} where {allowed:?} are allowed: acknowledged and lost")
            }
            None => format!("no committed state where commits {allowed:?} are allowed"),
        })
    }

    /// The crashed cache takes a commit and a compaction, and is sound afterwards. `verify` reports lost files.
    pub(crate) fn takes_the_next_commit(
        &self,
        state: &CrashState,
        look: &Look,
    ) -> Result<(), String> {
        caught(|| {
            let mut handle = open(&state.vfs).expect("open");
            let mut content = content_of(&mut handle);
            // A compaction may drop entries whose files are lost.
            let whole =
                |content: &mut Expected| content.retain(|key, _| !look.found.lost.contains(key));
            whole(&mut content);
            content.insert(b"next".to_vec(), b"commit".to_vec());
            ask_for_all(&mut handle);
            recover(&mut handle);
            drop(handle);
            let mut fresh = read(&state.vfs)?;
            whole(&mut fresh);
            let store = open(&state.vfs).expect("open");
            let verified = store.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify");
            if fresh != content {
                return Err("the next commit changed more than it should".to_owned());
            }
            if verified.sound || !look.found.lost.is_empty() {
                Ok(())
            } else {
                Err(format!("not sound after the next commit: {:?}", verified.damage))
            }
        })
        .and_then(|outcome| outcome)
    }
}

/// Reads as a build does: the engine notices a missing file when a value in it is read.
fn ask_for_all(handle: &mut Handle) {
    let id = namespace(handle);
    for number in 0..KEYS {
        handle.get(id, &key(number), <[u8]>::len).expect("get");
    }
}

/// The keys of entries whose stored file is missing or damaged.
fn lost_files(vfs: &SimVfs, content: &Expected) -> Result<Vec<Vec<u8>>, String> {
    let mut files = content.iter().filter(|(key, _)| key.starts_with(FILE)).peekable();
    if files.peek().is_none() {
        return Ok(Vec::new());
    }
    caught(|| {
        let handle = open(vfs).expect("open");
        let is_lost =
            |value: &[u8]| handle.store().read_blob(&BlobRef::of(value)).expect("read").is_none();
        files.filter(|(_, value)| is_lost(value)).map(|(key, _)| key.clone()).collect()
    })
}

/// What a new participant finds.
pub(crate) fn read(vfs: &SimVfs) -> Result<Expected, String> {
    caught(|| open(vfs).map(|mut handle| content_of(&mut handle)))?
        .map_err(|error| format!("cannot open: {error}"))
}

/// The first commit and compaction after a crash.
pub(crate) fn recover(handle: &mut Handle) {
    commit_next(handle);
    compact(handle, true).expect("the next compaction");
}

/// The first commit after a crash.
pub(crate) fn commit_next(handle: &mut Handle) {
    let id = namespace(handle);
    handle.put(id, b"next", b"commit").expect("put");
    commit(handle, Durability::Durable).expect("the next commit");
}

/// The namespace, with its current version.
fn namespace(handle: &mut Handle) -> u32 {
    let version =
        handle.store().version_of("n").expect("version").unwrap_or_else(|| "1".to_owned());
    handle.namespace("n", &version).expect("namespace")
}
