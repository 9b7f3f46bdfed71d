//! Watches and stops a long call: its job writes the progress, the JavaScript thread reads it every 50 ms and may ask
//! the job to stop. Both use atomic numbers, so neither waits for the other.

use napi_derive::napi;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the JavaScript thread and the job share.
#[derive(Default)]
pub(crate) struct Counts {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Counts {
    /// Records the progress of the call. The answer is whether to continue.
    pub(crate) fn report(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        let cancelled = self.cancelled.load(Ordering::Relaxed);
        if cancelled { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The progress of one long call.
#[napi]
#[derive(Default)]
pub struct Progress {
    pub(crate) counts: Arc<Counts>,
}

#[napi]
impl Progress {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes or files done.
    #[napi(catch_unwind)]
    pub fn done(&self) -> f64 {
        self.counts.done.load(Ordering::Relaxed) as f64
    }

    /// Those in all; 0 until the call has counted them.
    #[napi(catch_unwind)]
    pub fn total(&self) -> f64 {
        self.counts.total.load(Ordering::Relaxed) as f64
    }

    /// Asks the call to stop.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.counts.cancelled.store(true, Ordering::Relaxed);
    }
}
