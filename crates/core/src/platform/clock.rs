//! The time, which core is given.

use std::fmt;
use std::sync::Arc;

/// A clock in microseconds since 1970. The default stands still: then commits are numbered one after another, and a
/// history gives the same bytes each time.
#[derive(Clone, Default)]
pub struct Clock(Option<Arc<dyn Fn() -> u64 + Send + Sync>>);

impl Clock {
    /// A clock that asks `now_us`.
    pub fn new(now_us: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(now_us)))
    }

    pub(crate) fn now_us(&self) -> u64 {
        self.0.as_ref().map_or(0, |now_us| now_us())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Clock")
    }
}
