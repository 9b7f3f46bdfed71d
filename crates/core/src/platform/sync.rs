//! Locks and atomics of what threads share. With feature `shuttle`, which nothing that is shipped has, a scheduler
//! decides at each of them which thread goes on (`test/safety/concurrency/threads`).
//!
//! What is taken inside of a `OnceLock`, or by the simulated file system, is of std itself: there no other thread may
//! go on, since it might wait for this one without the scheduler's knowledge.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, atomic};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, atomic};

/// A lock that says whether a panic has left in doubt what it guards.
pub(crate) trait Doubtful {
    fn is_in_doubt(&self) -> bool;
}

impl<T> Doubtful for Mutex<T> {
    fn is_in_doubt(&self) -> bool {
        #[cfg(not(feature = "shuttle"))]
        return self.is_poisoned();
        #[cfg(feature = "shuttle")]
        return matches!(self.try_lock(), Err(std::sync::TryLockError::Poisoned(_)));
    }
}

impl<T> Doubtful for RwLock<T> {
    fn is_in_doubt(&self) -> bool {
        #[cfg(not(feature = "shuttle"))]
        return self.is_poisoned();
        #[cfg(feature = "shuttle")]
        return matches!(self.try_read(), Err(std::sync::TryLockError::Poisoned(_)));
    }
}
