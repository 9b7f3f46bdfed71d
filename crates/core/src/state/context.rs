//! The platform and everything that all threads of a store share.

use crate::blobs::Blobs;
use crate::format::checksum::Checksum;
use crate::format::hash::mix;
use crate::format::namespace_ids::NamespaceIds;
use crate::options::Options;
use crate::platform::failpoints;
use crate::platform::pool::Pool;
use crate::platform::vfs::Vfs;
use crate::report::damage_list::DamageList;
use crate::report::foreign_files::ForeignFiles;
use crate::state::failed_syncs::FailedSyncs;
use crate::table::block_cache::BlockCache;
use crate::usage::{UsageFolder, UsageTracker};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) pool: Arc<dyn Pool>,
    pub(crate) options: Options,
    pub(crate) checksum: Checksum,
    pub(crate) namespace_ids: NamespaceIds,
    pub(crate) damage: Arc<DamageList>,
    pub(crate) foreign: ForeignFiles,
    pub(crate) failed_syncs: FailedSyncs,
    pub(crate) blocks: Arc<BlockCache>,
    pub(crate) blobs: Arc<Blobs>,
    pub(crate) usage_folder: UsageFolder,
    pub(crate) usage: UsageTracker,
    ids: AtomicU64,
}

impl Context {
    pub(crate) fn new(vfs: Arc<dyn Vfs>, pool: Arc<dyn Pool>, options: Options) -> Self {
        let vfs = failpoints::vfs(vfs);
        let blocks = Arc::new(BlockCache::new(options.block_cache_bytes));
        let damage: Arc<DamageList> = Arc::default();
        let mut blobs = Blobs::new(Arc::clone(&vfs), Arc::clone(&damage), !options.read_only);
        for layer in &options.layers {
            blobs.add_layer(Arc::clone(&layer.name), Arc::clone(&layer.vfs));
        }
        let blobs = Arc::new(blobs);
        let checksum = Checksum::new(options.mac_key.as_ref());
        let (usage_folder, usage) =
            (UsageFolder::new(Arc::clone(&vfs), checksum), UsageTracker::default());
        let (namespace_ids, failed_syncs, ids) =
            (NamespaceIds::default(), FailedSyncs::default(), AtomicU64::new(0));
        Self {
            vfs,
            pool,
            options,
            checksum,
            namespace_ids,
            damage,
            foreign: ForeignFiles::default(),
            failed_syncs,
            blocks,
            blobs,
            usage_folder,
            usage,
            ids,
        }
    }

    /// The same for a store that writes nothing.
    pub(crate) fn read_only(self) -> Self {
        let options = Options { read_only: true, ..self.options };
        Self::new(self.vfs, self.pool, options)
    }

    /// A random number for a log or a manifest, never 0, derived from the random number of this store.
    pub(crate) fn new_id(&self) -> u64 {
        let count = self.ids.fetch_add(1, Ordering::Relaxed);
        mix(self.options.random.wrapping_add(count + 1)) | 1
    }
}
