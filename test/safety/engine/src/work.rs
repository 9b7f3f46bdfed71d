//! Jobs on all cores, and panics as answers.

use crate::tally::Tally;
use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does `job` for each number, on all cores, and puts together what they counted. A job that panics is a violation
/// whose case is its number.
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

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From now on a panic says nothing; [`caught`] has what it wanted to say.
pub(crate) fn silence_panics() {
    set_hook(Box::new(|panic| LAST_PANIC.with(|last| *last.borrow_mut() = panic.to_string())));
}

/// The answer, or what a panic said and where.
pub(crate) fn caught<T>(job: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(job)).map_err(|_| LAST_PANIC.with(|last| last.take()))
}
