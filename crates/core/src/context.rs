//! What every step needs: the doors and what is shared by all threads of a store.

use crate::block_cache::BlockCache;
use crate::damage::DamageList;
use crate::names::Names;
use crate::options::Options;
use crate::pool::Pool;
use crate::vfs::Vfs;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) pool: Arc<dyn Pool>,
    pub(crate) options: Options,
    pub(crate) names: Names,
    pub(crate) damage: Arc<DamageList>,
    pub(crate) blocks: Arc<BlockCache>,
}

impl Context {
    pub(crate) fn new(vfs: Arc<dyn Vfs>, pool: Arc<dyn Pool>, options: Options) -> Self {
        let blocks = Arc::new(BlockCache::new(options.block_cache_bytes));
        Self { vfs, pool, options, names: Names::default(), damage: Arc::default(), blocks }
    }
}
