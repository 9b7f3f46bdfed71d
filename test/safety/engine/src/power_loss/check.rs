//! What a cache must hold after a crash: the oracle of acknowledged commits.

use super::record::content_of;
use super::recorded::{Outcome, Recorded, WRITERS};
use crate::history::{Expected, KEYS, commit, compact, key, open};
use crate::work::caught;
use std::collections::HashMap;
use std::ops::{ControlFlow, RangeInclusive};
use varve_core::testing::sim::{CrashState, SimVfs};
use varve_core::{Durability, Handle};

/// Checks the states of one history. Several prefixes of the history may leave the same bytes. These are read only
/// once, but compared for each prefix, because later prefixes allow fewer states.
pub(crate) struct Checker<'h> {
    history: &'h Recorded,
    outcomes: Vec<Outcome>,
    /// Outcomes with this content, by fingerprint.
    seen: HashMap<u64, Vec<usize>>,
}

pub(crate) struct Look {
    pub(crate) is_new: bool,
    /// Outcomes with this content.
    matches: Vec<usize>,
}

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
        if let Some(matches) = self.seen.get(&fingerprint) {
            return Ok(Look { is_new: false, matches: matches.clone() });
        }
        let found = read(&state.vfs)?;
        let outcomes = self.outcomes.iter().enumerate();
        let matches: Vec<usize> =
            outcomes.filter(|(_, outcome)| outcome.content == found).map(|(index, _)| index).collect();
        self.seen.insert(fingerprint, matches.clone());
        Ok(Look { is_new: true, matches })
    }

    /// Of each writer, between its last commit that was acknowledged as durable and the last that was begun.
    pub(crate) fn allows(&self, state: &CrashState, look: &Look) -> Result<(), String> {
        let allowed: Vec<RangeInclusive<usize>> =
            (0..WRITERS).map(|writer| self.history.allowed_of(writer, state.prefix)).collect();
        let is_allowed =
            |outcome: &Outcome| allowed.iter().zip(outcome.last).all(|(range, last)| range.contains(&last));
        let mut found = look.matches.iter().filter_map(|index| self.outcomes.get(*index)).peekable();
        let first = found.peek().map(|outcome| outcome.last);
        if found.any(is_allowed) {
            return Ok(());
        }
        Err(match first {
            Some(last) => format!("commits {last:?} where {allowed:?} are allowed: acknowledged and lost"),
            None => format!("no committed state where commits {allowed:?} are allowed"),
        })
    }

    /// The crashed cache takes a commit and a compaction, and is sound afterwards.
    pub(crate) fn takes_the_next_commit(&self, state: &CrashState) -> Result<(), String> {
        caught(|| {
            let mut handle = open(&state.vfs).expect("open");
            let mut content = content_of(&mut handle);
            content.insert(b"next".to_vec(), b"commit".to_vec());
            ask_for_all(&mut handle);
            recover(&mut handle);
            drop(handle);
            let fresh = read(&state.vfs)?;
            let store = open(&state.vfs).expect("open");
            let verified = store.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify");
            if fresh != content {
                return Err("the next commit changed more than it should".to_owned());
            }
            if verified.sound { Ok(()) } else { Err(format!("not sound after the next commit: {:?}", verified.damage)) }
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

/// What a new participant finds.
pub(crate) fn read(vfs: &SimVfs) -> Result<Expected, String> {
    caught(|| open(vfs).map(|mut handle| content_of(&mut handle)))?.map_err(|error| format!("cannot open: {error}"))
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
    let version = handle.store().version_of("n").expect("version").unwrap_or_else(|| "1".to_owned());
    handle.namespace("n", &version).expect("namespace")
}
