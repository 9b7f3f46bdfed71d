//! Runs jobs on all cores, and turns panics into violations.

use crate::order::{Order, numbers};
use crate::tally::Tally;
use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs `job` for each number, on all cores, and adds up the counts. A job that panics is a violation whose case is its
/// number.
pub(crate) fn each(numbers: Range<u64>, job: impl Fn(u64, &mut Tally) + Sync) -> Tally {
    let next = AtomicU64::new(numbers.start);
    let all = Mutex::new(Tally::default());
    let work = || {
        let mut tally = Tally::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                break;
            }
            if let Err(panic) = caught(|| job(number, &mut tally)) {
                tally.violation(&panic, &number.to_string());
            }
        }
        all.lock().unwrap_or_else(PoisonError::into_inner).absorb(tally);
    };
    thread::scope(|threads| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            threads.spawn(work);
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How many seeds a part takes: as many on a busy machine, so that equal seeds give equal counts.
pub(crate) struct Length {
    pub(crate) seeds_short: u64,
    pub(crate) seeds_long: u64,
}

/// Runs `job` on all cores for seeds derived from the seed of the order, each with its index, or for the seeds to
/// replay. A job that panics is a violation whose case is its seed.
pub(crate) fn each_seed(
    order: &Order,
    length: &Length,
    job: impl Fn(u64, u64, &mut Tally) + Sync,
) -> Tally {
    let one = |index, seed, tally: &mut Tally| {
        if let Err(panic) = caught(|| job(index, seed, tally)) {
            tally.violation(&panic, &seed.to_string());
        }
    };
    if let Some(case) = &order.replay {
        let mut tally = Tally::default();
        numbers(case).into_iter().for_each(|seed| one(0, seed, &mut tally));
        return tally;
    }
    let count = if order.is_long { length.seeds_long } else { length.seeds_short };
    each(0..count, |index, tally| {
        one(index, fastrand::Rng::with_seed(order.seed.wrapping_add(index << 20)).u64(..), tally)
    })
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics from printing their message; [`caught`] returns it.
pub(crate) fn silence_panics() {
    set_hook(Box::new(|panic| LAST_PANIC.with(|last| *last.borrow_mut() = panic.to_string())));
}

/// The result of `job`, or the message and the place of its panic.
pub(crate) fn caught<T>(job: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(job)).map_err(|_| LAST_PANIC.with(|last| last.take()))
}
