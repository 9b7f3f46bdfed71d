//! The memory limit for verified blocks of all tables. Each table has its own blocks, in slots that are filled once and
//! then read without a lock; this only counts their bytes. If the limit is exceeded, whole tables drop their blocks
//! (`State::trim_blocks`). Reading a needed block again costs less than a list of all blocks would.

use super::buffers::SpareBuffers;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Blocks larger than this fraction of the limit are not cached.
const LARGEST_SHARE: usize = 64;

/// A limit in bytes for all threads, and the memory of blocks that are not cached.
#[derive(Debug)]
pub(crate) struct BlockCache {
    bytes: AtomicUsize,
    bytes_max: usize,
    /// For blocks that are not cached.
    pub(super) spare: SpareBuffers,
}

impl BlockCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes: AtomicUsize::new(0), bytes_max, spare: SpareBuffers::default() }
    }

    /// Whether a block of this size may be cached.
    #[inline]
    pub(crate) fn admits(&self, bytes: usize) -> bool {
        bytes <= self.bytes_max / LARGEST_SHARE
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether tables should drop blocks.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.bytes_max
    }

    /// Bytes to drop: down to half the limit, so that the next blocks do not exceed it at once.
    pub(crate) fn surplus(&self) -> usize {
        self.bytes.load(Ordering::Relaxed).saturating_sub(self.bytes_max / 2)
    }

    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_cache_over_its_limit_shrinks_to_half_of_it() {
        let cache = BlockCache::new(1 << 20);
        cache.add(1 << 20);
        assert!(!cache.is_over() && cache.admits(16 << 10) && !cache.admits((16 << 10) + 1));
        cache.add(1);
        assert!(cache.is_over());
        assert_eq!(cache.surplus(), (1 << 19) + 1);
        cache.remove(cache.surplus());
        assert_eq!(cache.surplus(), 0);
    }
}
