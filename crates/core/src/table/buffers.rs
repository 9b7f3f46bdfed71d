//! Memory for blocks that are read for one lookup and not cached. Later lookups use it again: a build that reads
//! thousands of values once would otherwise allocate, clear and free memory for each.

use super::block_cache::BlockCache;
use crate::format::lz4;
use crate::platform::sync::{Mutex, MutexGuard};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

/// Larger buffers are freed after use, so that one large value does not keep its memory.
const SPARE_BYTES_MAX: usize = 1 << 20;

/// Threads that read at the same time, and keep their buffers.
const SPARES_MAX: usize = 8;

/// A block as it is stored, and decompressed.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    stored: Vec<u8>,
    /// Never gets shorter, so that bytes that were cleared once are not cleared again.
    raw: Vec<u8>,
}

impl Buffers {
    /// Copies the stored bytes.
    pub(crate) fn fill(&mut self, stored: Cow<'_, [u8]>) -> &[u8] {
        match stored {
            Cow::Owned(bytes) => self.stored = bytes,
            Cow::Borrowed(bytes) => {
                self.stored.clear();
                self.stored.extend_from_slice(bytes);
            }
        }
        &self.stored
    }

    /// The block, decompressed if it is stored in fewer bytes; `None` = damaged.
    pub(crate) fn unpack(&mut self, raw_bytes: usize) -> Option<&[u8]> {
        if self.stored.len() == raw_bytes {
            return Some(&self.stored);
        }
        lz4::unpack_into(&self.stored, raw_bytes, &mut self.raw)
    }

    /// The block of `raw_bytes` that `unpack` returned.
    fn unpacked(&self, raw_bytes: usize) -> &[u8] {
        let block = if self.stored.len() == raw_bytes { &self.stored } else { &self.raw };
        block.get(..raw_bytes).unwrap_or_default()
    }

    /// The same as memory of its own.
    pub(crate) fn into_unpacked(self, raw_bytes: usize) -> Box<[u8]> {
        let mut block = if self.stored.len() == raw_bytes { self.stored } else { self.raw };
        block.truncate(raw_bytes);
        block.into_boxed_slice()
    }

    fn bytes(&self) -> usize {
        self.stored.capacity() + self.raw.capacity()
    }
}

/// Buffers that no lookup uses now.
#[derive(Debug, Default)]
pub(crate) struct SpareBuffers(Mutex<Vec<Buffers>>);

impl SpareBuffers {
    pub(crate) fn take(&self) -> Buffers {
        self.list().pop().unwrap_or_default()
    }

    fn give_back(&self, buffers: Buffers) {
        let mut list = self.list();
        if buffers.bytes() <= SPARE_BYTES_MAX && list.len() < SPARES_MAX {
            list.push(buffers);
        }
    }

    fn list(&self) -> MutexGuard<'_, Vec<Buffers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of a block that was read for one lookup. Its memory returns to the spare buffers.
#[derive(Debug)]
pub(crate) struct ReadBlock {
    cache: Arc<BlockCache>,
    buffers: Buffers,
    raw_bytes: usize,
    part: Range<usize>,
}

impl ReadBlock {
    pub(crate) fn new(cache: Arc<BlockCache>, buffers: Buffers, raw_bytes: usize, part: Range<usize>) -> Self {
        Self { cache, buffers, raw_bytes, part }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffers.unpacked(self.raw_bytes).get(self.part.clone()).unwrap_or_default()
    }
}

impl Drop for ReadBlock {
    fn drop(&mut self) {
        self.cache.spare.give_back(std::mem::take(&mut self.buffers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_follows_a_longer_one_in_the_same_memory_has_its_own_bytes() {
        let mut scratch = Vec::new();
        let long = b"long ".repeat(1000);
        let short = b"short ".repeat(100);
        let mut buffers = Buffers::default();
        for raw in [&long, &short, &long] {
            let packed = lz4::pack(raw, &mut scratch).map(<[u8]>::to_vec).unwrap_or_default();
            buffers.fill(Cow::Borrowed(&packed));
            assert_eq!(buffers.unpack(raw.len()), Some(&raw[..]));
            assert_eq!(buffers.unpacked(raw.len()), &raw[..]);
        }
        buffers.fill(Cow::Borrowed(b"stored as it is"));
        assert_eq!(buffers.unpack(15), Some(&b"stored as it is"[..]));
        assert_eq!(&*buffers.into_unpacked(15), b"stored as it is");
    }

    #[test]
    fn buffers_of_one_large_value_are_not_kept() {
        let cache = Arc::new(BlockCache::new(1 << 20));
        for (bytes, kept) in [(SPARE_BYTES_MAX + 1, 0), (100, 1)] {
            let mut buffers = Buffers::default();
            buffers.fill(Cow::Owned(vec![1; bytes]));
            drop(ReadBlock::new(Arc::clone(&cache), buffers, bytes, 0..bytes));
            assert_eq!(cache.spare.list().len(), kept);
        }
        assert_eq!(cache.spare.take().bytes(), 100);
    }
}
