//! Decoded, verified blocks in memory. Two generations: what was not asked for while one generation filled up goes
//! with it. Close to least-recently-used, without a list to keep.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Which block: table, index, and whether it holds keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlockId {
    pub(crate) table: u64,
    pub(crate) index: u32,
    pub(crate) holds_keys: bool,
}

const SHARDS: usize = 16;

/// Blocks larger than this share of the cache are not kept.
const LARGEST_SHARE: usize = 64;

/// A cache with a cap in bytes, for all threads.
#[derive(Debug)]
pub(crate) struct BlockCache {
    shards: [Mutex<Shard>; SHARDS],
    block_bytes_max: usize,
    generation_bytes_max: usize,
}

#[derive(Debug, Default)]
struct Shard {
    young: HashMap<BlockId, Arc<[u8]>>,
    old: HashMap<BlockId, Arc<[u8]>>,
    young_bytes: usize,
}

impl BlockCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            shards: Default::default(),
            block_bytes_max: bytes_max / LARGEST_SHARE,
            generation_bytes_max: bytes_max / SHARDS / 2,
        }
    }

    fn shard(&self, id: BlockId) -> Option<&Mutex<Shard>> {
        let mixed = (id.table ^ u64::from(id.index)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
        self.shards.get(mixed as usize % SHARDS)
    }

    pub(crate) fn get(&self, id: BlockId) -> Option<Arc<[u8]>> {
        let mut shard = self.shard(id)?.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = shard.young.get(&id) {
            return Some(Arc::clone(block));
        }
        let block = shard.old.remove(&id)?;
        shard.insert(id, Arc::clone(&block), self.generation_bytes_max);
        Some(block)
    }

    pub(crate) fn insert(&self, id: BlockId, block: &Arc<[u8]>) {
        if block.len() > self.block_bytes_max {
            return;
        }
        if let Some(shard) = self.shard(id) {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.insert(id, Arc::clone(block), self.generation_bytes_max);
        }
    }
}

impl Shard {
    fn insert(&mut self, id: BlockId, block: Arc<[u8]>, generation_bytes_max: usize) {
        if self.young_bytes + block.len() > generation_bytes_max {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        let bytes = block.len();
        if self.young.insert(id, block).is_none() {
            self.young_bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_under_its_cap_and_keeps_what_is_asked_for() {
        let cache = BlockCache::new(1 << 20);
        let block: Arc<[u8]> = vec![0; 4_096].into();
        let id = |index| BlockId { table: 1, index, holds_keys: true };
        cache.insert(id(0), &block);
        for index in 1..10_000 {
            cache.insert(id(index), &block);
            assert!(cache.get(id(0)).is_some(), "block 0 is asked for all the time");
        }
        let kept = (0..10_000).filter(|index| cache.get(id(*index)).is_some()).count();
        assert!((64..=256).contains(&kept), "{kept} blocks of 4 KiB kept in 1 MiB");
    }
}
