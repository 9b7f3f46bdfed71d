//! What a crashed cache must be: the oracle of acknowledged commits.

use super::record::{Recorded, content_of};
use crate::history::{Expected, KEYS, commit, compact, key, open};
use crate::work::caught;
use std::collections::HashMap;
use std::ops::ControlFlow;
use varve_core::vfs::sim::{CrashState, SimVfs};
use varve_core::{Durability, Handle};

/// Looks at the states of one history. The same bytes may follow from several prefixes and are read only once, but what
/// they may hold is asked for each prefix: later ones allow less.
pub(crate) struct Checker<'h> {
    history: &'h Recorded,
    /// Commits after which the cache had this content, by fingerprint.
    seen: HashMap<u64, Vec<usize>>,
}

pub(crate) struct Look {
    pub(crate) is_new: bool,
    /// Commits with this content.
    matches: Vec<usize>,
}

impl<'h> Checker<'h> {
    pub(crate) fn new(history: &'h Recorded) -> Self {
        Self { history, seen: HashMap::new() }
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
        let commits = self.history.commits.iter().enumerate();
        let matches: Vec<usize> =
            commits.filter(|(_, commit)| commit.content == found).map(|(index, _)| index).collect();
        self.seen.insert(fingerprint, matches.clone());
        Ok(Look { is_new: true, matches })
    }

    /// Between the last commit that was acknowledged as durable and the last that was begun.
    pub(crate) fn allows(&self, state: &CrashState, look: &Look) -> Result<(), String> {
        let commits = &self.history.commits;
        let oldest = commits.iter().rposition(|commit| commit.durable && commit.acknowledged <= state.prefix);
        let oldest = oldest.unwrap_or(0);
        let newest = commits.iter().rposition(|commit| commit.begun < state.prefix).unwrap_or(0).max(oldest);
        if look.matches.iter().any(|index| (oldest..=newest).contains(index)) {
            return Ok(());
        }
        Err(match look.matches.first() {
            Some(index) => format!("commit {index} where {oldest} to {newest} are allowed: acknowledged and lost"),
            None => format!("no committed state where commits {oldest} to {newest} are allowed"),
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

/// As a build does: a file that is missing is noticed when somebody asks for the value.
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

/// The namespace, of the version that is there.
fn namespace(handle: &mut Handle) -> u32 {
    let version = handle.store().version_of("n").expect("version").unwrap_or_else(|| "1".to_owned());
    handle.namespace("n", &version).expect("namespace")
}
