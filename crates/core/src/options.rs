//! What callers choose: how safe a commit is, how a store is opened, who watches a long call.

use crate::format::mac_key::Key;
use crate::platform::clock::Clock;
use std::ops::ControlFlow;

/// What an acknowledged commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process. After power loss the cache is some earlier committed state.
    #[default]
    Relaxed,
    /// The loss of power.
    Durable,
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// For commits that do not say otherwise.
    pub durability: Durability,
    /// Write nothing at all; puts stay in memory.
    pub read_only: bool,
    /// Cap in bytes of the tables and of the files they name, kept at compaction; the least recently used entries go
    /// first.
    pub bytes_max: u64,
    /// Values of this length and more are files of their own, stored once however many entries have them.
    pub file_bytes_min: usize,
    /// Memory for decoded blocks in bytes; an index over many tables may take a quarter of it beside them.
    pub block_cache_bytes: usize,
    /// What every byte must have been written with; whatever was not is damage. The folder is `folder_of` it.
    pub key: Option<Key>,
    /// A random number, another one each time a cache is opened: the ids of the cache, of its manifests and of its logs
    /// are made of it, and names of files that are being collected.
    pub random: u64,
    /// The time that commits are ordered by.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Relaxed,
            read_only: false,
            bytes_max: 1 << 30,
            file_bytes_min: 1 << 20,
            block_cache_bytes: 64 << 20,
            key: None,
            random: 0,
            clock: Clock::default(),
        }
    }
}

/// Told how far a long call is; may stop it. `done` and `total` are bytes.
pub type Watch<'a> = &'a (dyn Fn(u64, u64) -> ControlFlow<()> + Sync);
