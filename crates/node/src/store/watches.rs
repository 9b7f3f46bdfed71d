//! Watches and stops a long call: the task writes its progress, the JavaScript thread reads it every 50 ms and may ask
//! the task to stop. Both use atomic numbers, so neither waits for the other. JavaScript knows a watch by its number.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use varve_bindings::{Failure, Result};

/// What the JavaScript thread and the task share.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Records the progress of the call. The answer is whether to continue.
    pub(crate) fn report(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        if self.cancelled.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Bytes done.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Bytes in all; 0 until the call has counted them.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Asks the call to stop.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// The watches of one store, each of a call under way.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    running: Vec<(u32, Arc<Progress>)>,
    last: u32,
}

impl Watches {
    /// A new watch, for one call; returns its number.
    pub(crate) fn begin(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.running.push((self.last, Arc::default()));
        self.last
    }

    /// The half of the task.
    pub(crate) fn progress(&self, number: u32) -> Result<Arc<Progress>> {
        let found = self.running.iter().find(|(other, _)| *other == number);
        let progress = found.map(|(_, progress)| Arc::clone(progress));
        progress.ok_or_else(|| Failure::argument(format!("there is no watch {number}")))
    }

    /// Removes the watch of a call that has ended.
    pub(crate) fn end(&mut self, number: u32) {
        self.running.retain(|(other, _)| *other != number);
    }
}
