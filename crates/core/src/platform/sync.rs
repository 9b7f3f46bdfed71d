//! Locks and atomics for data that threads share. With the feature `shuttle`, which no shipped build has, a scheduler
//! decides at each of them which thread continues (`test/safety/concurrency/threads`).
//!
//! Locks inside a `OnceLock`, or in the simulated file system, are those of std. No other thread may continue there,
//! because it could wait for this one without the scheduler's knowledge.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, atomic};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, atomic};

/// A lock that reports whether a thread has panicked while holding it.
pub(crate) trait Poisonable {
    fn has_poison(&self) -> bool;
}

impl<T> Poisonable for Mutex<T> {
    fn has_poison(&self) -> bool {
        #[cfg(not(feature = "shuttle"))]
        return self.is_poisoned();
        #[cfg(feature = "shuttle")]
        return matches!(self.try_lock(), Err(std::sync::TryLockError::Poisoned(_)));
    }
}

impl<T> Poisonable for RwLock<T> {
    fn has_poison(&self) -> bool {
        #[cfg(not(feature = "shuttle"))]
        return self.is_poisoned();
        #[cfg(feature = "shuttle")]
        return matches!(self.try_read(), Err(std::sync::TryLockError::Poisoned(_)));
    }
}
