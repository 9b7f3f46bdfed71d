//! Commits that JavaScript asks for.

use crate::failure::{Failure, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use varve_core::{CommitReport, Durability, PendingCommit, Store};

/// A relaxed commit of fewer bytes runs on the thread that asks for it: one write costs less than another thread.
const SHORT_BYTES_MAX: u64 = 256 << 10;

/// A commit that begins.
#[derive(Debug)]
pub enum Begun {
    /// Nothing is buffered.
    Empty,
    /// An older commit has not ended: `JsHandle::next_commit` returns this one later.
    Waits,
    /// It can run.
    Ready(Commit),
}

/// A commit, to be run on any thread.
#[derive(Debug)]
pub struct Commit {
    store: Arc<Store>,
    pending: PendingCommit,
    durability: Option<Durability>,
}

/// What a commit did, and how many places of damage the store has found so far.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the line above describes the fields")]
pub struct Committed {
    pub report: CommitReport,
    pub damage_count: u32,
}

impl Commit {
    pub(crate) fn new(store: Arc<Store>, pending: PendingCommit, durability: Option<Durability>) -> Self {
        Self { store, pending, durability }
    }

    /// Whether running it takes less time than handing it to another thread.
    pub fn is_short(&self) -> bool {
        self.durability == Some(Durability::Relaxed) && self.pending.bytes() < SHORT_BYTES_MAX
    }

    /// Writes the entries as one atomic commit.
    pub fn run(self, now_ms: u64) -> Result<Committed> {
        let report = self.pending.run(self.durability, now_ms)?;
        Ok(Committed { report, damage_count: self.store.damage_count() })
    }
}

/// An entry that is committed by itself.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "the names describe the fields")]
pub struct Alone {
    pub namespace: String,
    pub version: String,
    pub key: String,
    pub value: String,
}

/// Commits one entry by itself; what other handles have buffered stays buffered.
pub fn commit_alone(store: &Arc<Store>, entry: &Alone, now_ms: u64) -> Result<()> {
    let mut handle = store.handle();
    let namespace = handle.namespace(&entry.namespace, &entry.version)?;
    handle.put(namespace, entry.key.as_bytes(), entry.value.as_bytes())?;
    if let Some(commit) = handle.begin_commit() {
        commit.run(Some(Durability::Relaxed), now_ms)?;
    }
    Ok(())
}

/// The durability that JavaScript names; `''` is the default of the cache.
pub fn durability_of(word: &str) -> Result<Option<Durability>> {
    match word {
        "" => Ok(None),
        "relaxed" => Ok(Some(Durability::Relaxed)),
        "durable" => Ok(Some(Durability::Durable)),
        _ => Err(Failure::argument(format!("durability is 'relaxed' or 'durable', not '{word}'"))),
    }
}
