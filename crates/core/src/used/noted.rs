//! What this process wrote, and what it read where tables have gone since. A compaction spares both.

use super::{Day, Mark, day_of};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Hashes are sorted, and each left once, when so many have come.
const SORTED_MIN: usize = 4 << 10;

/// Of one store.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// The time as this process was told last; 0 = never.
    now_ms: AtomicU64,
    /// By number of the namespace.
    spaces: Mutex<HashMap<u16, Space>>,
    /// Day and count of what was read when a record was written last: as long as both are the same, none is due.
    recorded: Mutex<(Day, u64)>,
}

#[derive(Debug, Default)]
struct Space {
    written: Vec<u32>,
    written_sorted: usize,
    /// With the known day of the table.
    read: Vec<Mark>,
}

impl Noted {
    pub(crate) fn set_now(&self, now_ms: u64) {
        self.now_ms.store(now_ms, Ordering::Relaxed);
    }

    /// `None` = nobody has said what time it is.
    pub(crate) fn today(&self) -> Option<Day> {
        Some(self.now_ms.load(Ordering::Relaxed)).filter(|now_ms| *now_ms > 0).map(day_of)
    }

    /// Whether so many reads were recorded on that day. Notes them.
    pub(crate) fn is_recorded(&self, today: Day, reads: u64) -> bool {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *recorded, (today, reads)) == (today, reads)
    }

    pub(crate) fn wrote(&self, id: u16, hashes: impl Iterator<Item = u32>) {
        let mut spaces = self.spaces();
        let Space { written, written_sorted, .. } = spaces.entry(id).or_default();
        written.extend(hashes);
        if written.len() >= (*written_sorted * 2).max(SORTED_MIN) {
            written.sort_unstable();
            written.dedup();
            *written_sorted = written.len();
        }
    }

    /// What was read in tables and logs that this process no longer has.
    pub(crate) fn read(&self, id: u16, marks: Vec<Mark>) {
        if marks.is_empty() {
            return;
        }
        let mut spaces = self.spaces();
        let read = &mut spaces.entry(id).or_default().read;
        read.extend(marks);
        read.sort_unstable();
        read.dedup();
    }

    pub(crate) fn written_of(&self, id: u16) -> Vec<u32> {
        self.spaces().get(&id).map(|space| space.written.clone()).unwrap_or_default()
    }

    pub(crate) fn read_of(&self, id: u16) -> Vec<Mark> {
        self.spaces().get(&id).map(|space| space.read.clone()).unwrap_or_default()
    }

    pub(crate) fn reads(&self) -> u64 {
        self.spaces().values().map(|space| space.read.len() as u64).sum()
    }

    fn spaces(&self) -> MutexGuard<'_, HashMap<u16, Space>> {
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
