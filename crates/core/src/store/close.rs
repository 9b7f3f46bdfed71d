//! Closing a store: what is due is checkpointed, the log is sealed, every file is closed.

use crate::commit::Committer;
use crate::compact::list_logs::list_logs;
use crate::compact::{Extent, compact};
use crate::error::{Error, Result};
use crate::platform::failpoints;
use crate::platform::sync::atomic::Ordering;
use crate::state::State;
use crate::state::record_usage::is_due;
use crate::store::Store;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::PoisonError;

/// At close, logs are checkpointed if there are more than this number of them, or more bytes in them.
const LOGS_LEFT: usize = 2;
const LOG_BYTES_LEFT: u64 = 256 << 10;

/// Bytes of logs left at close, as a fraction of the size limit of the cache.
const LOG_PART_LEFT: u64 = 8;

impl Store {
    /// Whether this process has written nothing and has nothing to write, so that `close` only closes files.
    pub fn is_unwritten(&self) -> bool {
        self.committer().is_ok_and(|committer| committer.log.is_none())
            && self.state().is_ok_and(|state| !is_due(&self.context, &state))
    }

    /// Checkpoints what is due, seals the log and closes every file. Later calls fail with `Closed`. Entries buffered
    /// in handles are discarded.
    pub fn close(&self) -> Result<()> {
        let _one = self.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.record_usage();
        let outcome = self.settle();
        *self.committer.lock().unwrap_or_else(PoisonError::into_inner) = Committer::default();
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = State::default();
        outcome
    }

    /// Checkpoints and seals logs if this process has written to the cache.
    fn settle(&self) -> Result<()> {
        failpoints::panics("settle");
        if self.is_broken() {
            return Err(Error::Broken.boxed());
        }
        if self.context.failed_syncs.is_any() {
            self.checkpoint_failed_syncs()?;
        }
        let own =
            self.committer.lock()?.log.as_ref().filter(|log| log.commits > 0).map(|log| log.writer);
        self.context.blobs.sync(&*self.context.pool)?;
        let Some(own) = own else { return self.committer.lock()?.flush(&self.context) };
        // Damaged files are quarantined before a process closes after a commit, so that the next process opens a sound
        // cache.
        if self.is_checkpoint_due(own)? || self.context.damage.is_left() {
            let go_on = |_, _| ControlFlow::Continue(());
            let compacted =
                compact(&self.context, &self.state, &self.committer, Extent::Closing, &go_on);
            // Processes that are always faster have checkpointed, or will: the logs of this one are sealed.
            if let Err(error) = compacted
                && !matches!(*error, Error::Busy { .. })
            {
                return Err(error);
            }
        }
        let mut committer = self.committer.lock()?;
        let is_sealed = committer.seal(&self.context, &self.state)?;
        committer.flush(&self.context)?;
        if is_sealed {
            // Optional: every commit is in place without it.
            let known = self.state.read()?.newest().known_logs();
            let _ = list_logs(&self.context, &known);
        }
        Ok(())
    }

    /// Whether the log of this process and those of processes that have ended are due. Others checkpoint their own.
    fn is_checkpoint_due(&self, own: u32) -> Result<bool> {
        let state = self.state.read()?;
        let (mut writers, mut bytes) = (BTreeSet::new(), 0);
        for view in &state.logs {
            if view.writer == own || view.is_done()? || !view.is_lock_testable() {
                writers.insert(view.writer);
                bytes += view.end;
            }
        }
        let bytes_left = LOG_BYTES_LEFT.min(self.context.options.bytes_max / LOG_PART_LEFT);
        Ok(writers.len() > LOGS_LEFT
            || bytes > bytes_left
            || state.attached_tables(|writer| writers.contains(&writer)) > 0)
    }
}
