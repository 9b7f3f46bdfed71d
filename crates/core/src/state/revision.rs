//! Which content of the state is visible.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number for what lookups find in a state. No other content has it in this process. It orders nothing: the lock on
/// the state does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Revision(u64);

impl Default for Revision {
    fn default() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

impl Revision {
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}
