//! Logs whose sync failed. The operating system may drop what it could not write and report success the next time,
//! while readers still see it in memory (<https://wiki.postgresql.org/wiki/Fsync_Errors>). So a second sync proves
//! nothing. Such a log is checkpointed, as far as it can be read, before this process makes another promise.

use crate::platform::sync::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::PoisonError;

/// Writers of logs that must be checkpointed.
#[derive(Debug, Default)]
pub(crate) struct FailedSyncs {
    writers: Mutex<BTreeSet<u32>>,
}

impl FailedSyncs {
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

    /// Removes logs that are not in the directory any more: another process has checkpointed them.
    pub(crate) fn retain(&self, is_there: impl Fn(u32) -> bool) {
        self.writers().retain(|writer| is_there(*writer));
    }
}
