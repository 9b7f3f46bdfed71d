//! Commits that JavaScript asks for.

use crate::failure::{Failure, Result};
use serde::Deserialize;
use std::sync::Arc;
use varve_core::{CommitReport, Durability, PendingCommit, Store};

/// A relaxed commit of fewer bytes runs on the thread that asks for it: one write costs less than another thread.
const SHORT_BYTES_MAX: u64 = 256 << 10;

/// Bytes of a packed report.
const PACKED_BYTES: usize = 32;

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
    durability: Durability,
}

/// What a commit did, how many bytes its entries have before compression, and how many places of damage the store has
/// found so far.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "the lines above say what the fields are")]
pub struct Committed {
    pub report: CommitReport,
    pub batch_bytes: u64,
    pub damage_count: u32,
}

impl Commit {
    pub(crate) fn new(store: Arc<Store>, pending: PendingCommit, durability: Durability) -> Self {
        Self { store, pending, durability }
    }

    /// Whether running it takes less time than handing it to another thread.
    pub fn is_short(&self) -> bool {
        self.durability == Durability::Relaxed && self.pending.bytes() < SHORT_BYTES_MAX
    }

    /// Writes the entries as one atomic commit.
    pub fn run(self, now_ms: u64) -> Result<Committed> {
        let batch_bytes = self.pending.bytes();
        let report = self.pending.run(Some(self.durability), now_ms)?;
        Ok(Committed { report, batch_bytes, damage_count: self.store.damage_count() })
    }
}

impl Committed {
    /// The report as bytes; see `packed.rs`.
    pub fn pack(&self) -> [u8; PACKED_BYTES] {
        let Self { report, batch_bytes, damage_count } = self;
        let mut packed = [0; PACKED_BYTES];
        let (counts, numbers) = packed.split_at_mut(24);
        let three =
            [report.entries, report.bytes, *batch_bytes].map(|count| (count as f64).to_le_bytes());
        counts.copy_from_slice(three.as_flattened());
        let two = [*damage_count, u32::from(report.maintenance_due)].map(u32::to_le_bytes);
        numbers.copy_from_slice(two.as_flattened());
        packed
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

/// The durability of one commit.
pub fn durability(is_durable: bool) -> Durability {
    if is_durable { Durability::Durable } else { Durability::Relaxed }
}

/// The durability that JavaScript names.
pub fn durability_of(word: &str) -> Result<Durability> {
    match word {
        "relaxed" => Ok(Durability::Relaxed),
        "durable" => Ok(Durability::Durable),
        _ => Err(Failure::argument(format!("durability is 'relaxed' or 'durable', not '{word}'"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_commit_has_its_counts_before_damage_and_due_maintenance() {
        let report = CommitReport { entries: 3, bytes: 1 << 40, maintenance_due: true };
        let packed = Committed { report, batch_bytes: 5, damage_count: 2 }.pack();
        let counts = [3f64, (1u64 << 40) as f64, 5f64].map(f64::to_le_bytes);
        let numbers = [2u32, 1].map(u32::to_le_bytes);
        assert_eq!(packed.to_vec(), [counts.as_flattened(), numbers.as_flattened()].concat());
    }
}
