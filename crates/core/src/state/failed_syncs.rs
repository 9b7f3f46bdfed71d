//! Logs whose sync has failed. The system may have dropped what it could not write and call it written the next time
//! (<https://wiki.postgresql.org/wiki/Fsync_Errors>), while readers still see it in memory. So no second sync is
//! believed: before anything else is promised such a log is folded, as far as it can be read, into a table.

use crate::platform::sync::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::PoisonError;

/// Writers of logs that must be folded.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    writers: Mutex<BTreeSet<u32>>,
}

impl Doubts {
    fn writers(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, writer: u32) {
        self.writers().insert(writer);
    }

    pub(crate) fn has(&self, writer: u32) -> bool {
        self.writers().contains(&writer)
    }

    pub(crate) fn is_any(&self) -> bool {
        !self.writers().is_empty()
    }

    /// Forgets those that are not in the folder any more: somebody has folded them.
    pub(crate) fn retain(&self, is_there: impl Fn(u32) -> bool) {
        self.writers().retain(|writer| is_there(*writer));
    }
}
