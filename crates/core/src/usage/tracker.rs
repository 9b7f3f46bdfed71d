//! What this process wrote, and what it read in tables that it no longer has. Both are evicted last.

use super::{Day, Mark, day_of};
use crate::format::namespace_ids::NamespaceId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Hashes are sorted and deduplicated from this many on.
const SORTED_MIN: usize = 4 << 10;

/// The usage of one store.
#[derive(Debug, Default)]
pub(crate) struct UsageTracker {
    /// The current time as last set by the caller; 0 = never.
    now_ms: AtomicU64,
    /// By name of the namespace.
    spaces: Mutex<HashMap<String, NamespaceUsage>>,
    /// Day and number of reads at the last record; while both are the same, no new record is due.
    recorded: Mutex<(Day, u64)>,
}

/// Usage of the version of a namespace that was used last.
#[derive(Debug, Default)]
struct NamespaceUsage {
    version: String,
    written: Vec<u32>,
    written_sorted: usize,
    /// Each with the known day of its table.
    read: Vec<Mark>,
}

impl UsageTracker {
    pub(crate) fn set_now(&self, now_ms: u64) {
        self.now_ms.store(now_ms, Ordering::Relaxed);
    }

    /// `None` = the time was never set.
    pub(crate) fn today(&self) -> Option<Day> {
        Some(self.now_ms.load(Ordering::Relaxed)).filter(|now_ms| *now_ms > 0).map(day_of)
    }

    /// Whether this many reads were recorded on that day. Remembers both for the next call.
    pub(crate) fn is_recorded(&self, today: Day, reads: u64) -> bool {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *recorded, (today, reads)) == (today, reads)
    }

    pub(crate) fn wrote(&self, id: &NamespaceId, hashes: impl Iterator<Item = u32>) {
        let mut spaces = self.spaces();
        let NamespaceUsage { written, written_sorted, .. } = usage_of(&mut spaces, id);
        written.extend(hashes);
        if written.len() >= (*written_sorted * 2).max(SORTED_MIN) {
            written.sort_unstable();
            written.dedup();
            *written_sorted = written.len();
        }
    }

    /// Records reads of tables and logs that this process no longer has.
    pub(crate) fn read(&self, id: &NamespaceId, marks: Vec<Mark>) {
        if marks.is_empty() {
            return;
        }
        let mut spaces = self.spaces();
        let read = &mut usage_of(&mut spaces, id).read;
        read.extend(marks);
        read.sort_unstable();
        read.dedup();
    }

    pub(crate) fn written_of(&self, id: &NamespaceId) -> Vec<u32> {
        let spaces = self.spaces();
        let found = spaces.get(&id.name).filter(|space| space.version == id.version);
        found.map(|space| space.written.clone()).unwrap_or_default()
    }

    pub(crate) fn read_of(&self, id: &NamespaceId) -> Vec<Mark> {
        let spaces = self.spaces();
        let found = spaces.get(&id.name).filter(|space| space.version == id.version);
        found.map(|space| space.read.clone()).unwrap_or_default()
    }

    pub(crate) fn reads(&self) -> u64 {
        self.spaces().values().map(|space| space.read.len() as u64).sum()
    }

    fn spaces(&self) -> MutexGuard<'_, HashMap<String, NamespaceUsage>> {
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The usage of a namespace at this version.
fn usage_of<'a>(
    spaces: &'a mut HashMap<String, NamespaceUsage>,
    id: &NamespaceId,
) -> &'a mut NamespaceUsage {
    if spaces.get(&id.name).is_none_or(|space| space.version != id.version) {
        spaces.insert(
            id.name.clone(),
            NamespaceUsage { version: id.version.clone(), ..NamespaceUsage::default() },
        );
    }
    spaces.entry(id.name.clone()).or_default()
}
