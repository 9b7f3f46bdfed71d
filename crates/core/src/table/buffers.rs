//! Memory for blocks that are read for one lookup and not cached. Later lookups use it again: a build that reads
//! thousands of values once would otherwise allocate, clear and free memory for each.

use crate::platform::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;

/// Larger buffers are freed after use, so that one large value does not keep its memory.
const SPARE_BYTES_MAX: usize = 1 << 20;

/// Twice the threads that read at the same time, and keep their buffers: for a block as it is stored, and decompressed.
const SPARES_MAX: usize = 16;

/// Buffers that no lookup uses now. They never get shorter, so that bytes that were cleared once are not cleared again.
#[derive(Debug, Default)]
pub(crate) struct SpareBuffers(Mutex<Vec<Vec<u8>>>);

impl SpareBuffers {
    /// Calls `work` with `bytes` bytes of any content.
    pub(crate) fn with<R>(&self, bytes: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut buffer = self.list().pop().unwrap_or_default();
        if buffer.len() < bytes {
            buffer = vec![0; bytes];
        }
        let result = work(buffer.get_mut(..bytes).unwrap_or_default());
        let mut list = self.list();
        if buffer.len() <= SPARE_BYTES_MAX && list.len() < SPARES_MAX {
            list.push(buffer);
        }
        result
    }

    fn list(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_serves_later_lookups_unless_one_large_value_needed_it() {
        let spare = SpareBuffers::default();
        for (bytes, kept) in [(SPARE_BYTES_MAX + 1, 0), (100, 100), (7, 100), (200, 200)] {
            spare.with(bytes, |buffer| assert_eq!(buffer.len(), bytes));
            assert_eq!(spare.list().iter().map(Vec::len).sum::<usize>(), kept);
        }
        spare.with(10, |_| spare.with(20, |_| ()));
        assert_eq!(spare.list().len(), 2);
    }
}
