//! What callers choose: how durable a commit is, how a store is opened, and how a long call reports progress.

use crate::format::mac_key::MacKey;
use crate::platform::clock::Clock;
use crate::platform::vfs::Vfs;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Which failures an acknowledged commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A process crash. After a power failure, the cache has an earlier committed state.
    #[default]
    Relaxed,
    /// A power failure as well.
    Durable,
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// The durability of commits that do not choose one.
    pub durability: Durability,
    /// Write no file; puts stay in the buffer.
    pub read_only: bool,
    /// Size limit in bytes for tables and the blobs that they name. A compaction keeps to it and evicts the least
    /// recently used entries first.
    pub bytes_max: u64,
    /// Values of at least this length become blobs, which are stored once, however many entries have them.
    pub blob_bytes_min: usize,
    /// Memory for decoded blocks in bytes; an index over many tables may take a quarter of it in addition.
    pub block_cache_bytes: usize,
    /// Authenticates every byte: bytes that were written without the secret are damage. The directory depends on it,
    /// see `folder_of`.
    pub mac_key: Option<MacKey>,
    /// A random number, different each time a cache is opened. The ids of the cache, of its manifests and its logs are
    /// derived from it, and the names of blobs being collected.
    pub random: u64,
    /// Sealed layers below the cache, the newest first: lookups that the cache does not answer read them in this order.
    /// They are never written.
    pub layers: Vec<LayerSource>,
    /// The clock from which sequence numbers are made.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Relaxed,
            read_only: false,
            bytes_max: 1 << 30,
            blob_bytes_min: 1 << 20,
            block_cache_bytes: 64 << 20,
            mac_key: None,
            random: 0,
            layers: Vec::new(),
            clock: Clock::default(),
        }
    }
}

/// The files of a sealed layer.
#[derive(Clone, Debug)]
pub struct LayerSource {
    /// The path that reports name.
    pub name: Arc<str>,
    /// The directory with its manifest, which is `folder_of` the secret.
    pub vfs: Arc<dyn Vfs>,
}

/// Receives the progress of a long call, `done` and `total` in bytes, and may stop the call.
pub type Watch<'a> = &'a (dyn Fn(u64, u64) -> ControlFlow<()> + Sync);
