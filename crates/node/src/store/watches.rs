//! Watches and stops a long call: the task writes how far it is, the JavaScript thread reads that every 50 ms and may
//! ask it to stop. Numbers only, so neither waits for the other. JavaScript knows a watch by its number.

use crate::context::Context;
use crate::raw::{Answer, Arguments, Call};
use std::collections::HashMap;
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
    /// Notes how far the call is and whether it may go on.
    pub(crate) fn report(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        if self.cancelled.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The watches of one session.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    running: HashMap<u32, Arc<Progress>>,
    next: u32,
}

impl Watches {
    fn begin(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.running.insert(self.next, Arc::default());
        self.next
    }

    /// The half of the task.
    pub(crate) fn progress(&self, number: u32) -> Result<Arc<Progress>> {
        self.running.get(&number).cloned().ok_or_else(|| Failure::argument(format!("there is no watch {number}")))
    }
}

pub(crate) struct BeginWatch;
pub(crate) struct WatchDone;
pub(crate) struct WatchTotal;
pub(crate) struct CancelWatch;
pub(crate) struct EndWatch;

/// A new watch, for one call; returns its number.
impl Call for BeginWatch {
    const NAME: &'static str = "beginWatch";

    fn run(context: &Context, _arguments: &Arguments) -> Result<Answer> {
        context.with_watches(|watches| Ok(Answer::Count(watches.begin().into())))
    }
}

/// Bytes done.
impl Call for WatchDone {
    const NAME: &'static str = "watchDone";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let progress = context.progress(arguments.number(0)?)?;
        Ok(Answer::Count(progress.done.load(Ordering::Relaxed)))
    }
}

/// Bytes in all; 0 until the call has counted them.
impl Call for WatchTotal {
    const NAME: &'static str = "watchTotal";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let progress = context.progress(arguments.number(0)?)?;
        Ok(Answer::Count(progress.total.load(Ordering::Relaxed)))
    }
}

/// Asks the call to stop.
impl Call for CancelWatch {
    const NAME: &'static str = "cancelWatch";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        context.progress(arguments.number(0)?)?.cancelled.store(true, Ordering::Relaxed);
        Ok(Answer::Nothing)
    }
}

/// Forgets the watch.
impl Call for EndWatch {
    const NAME: &'static str = "endWatch";

    fn run(context: &Context, arguments: &Arguments) -> Result<Answer> {
        let number = arguments.number(0)?;
        context.with_watches(|watches| {
            watches.running.remove(&number);
            Ok(Answer::Nothing)
        })
    }
}
