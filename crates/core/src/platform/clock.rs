//! The clock, which the caller provides.

use std::fmt;
use std::sync::Arc;

/// A clock in microseconds since 1970. The default always shows 0: sequence numbers then only count, and the same
/// commits give the same bytes.
#[derive(Clone, Default)]
pub struct Clock(Option<Arc<dyn Fn() -> u64 + Send + Sync>>);

impl Clock {
    /// A clock that calls `now_us`.
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
