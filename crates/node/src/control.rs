//! Watches and stops a long call: the task writes how far it is, the JavaScript thread reads that every 50 ms and may ask
//! it to stop. Numbers only, so neither waits for the other.
#![expect(unreachable_pub, reason = "napi-derive takes public methods only")]

use napi_derive::napi;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Watches and stops a long call from the JavaScript thread.
#[napi]
#[derive(Debug, Default)]
pub(crate) struct Control {
    progress: Arc<Progress>,
}

/// What the JavaScript thread and the task share.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

#[napi]
impl Control {
    /// For one call.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the call to stop.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.progress.cancelled.store(true, Ordering::Relaxed);
    }

    /// Bytes done.
    #[napi(getter, catch_unwind)]
    pub fn done(&self) -> f64 {
        self.progress.done.load(Ordering::Relaxed) as f64
    }

    /// Bytes in all.
    #[napi(getter, catch_unwind)]
    pub fn total(&self) -> f64 {
        self.progress.total.load(Ordering::Relaxed) as f64
    }
}

impl Control {
    /// The half of the task.
    pub(crate) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }
}

impl Progress {
    /// Notes how far the call is and whether it may go on.
    pub(crate) fn report(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        if self.cancelled.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
