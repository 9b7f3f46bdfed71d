//! Lookups of many keys on a thread other than the handle's, prepared by
//! [`Handle::begin_reads`](crate::Handle::begin_reads).

use crate::error::Result;
use crate::format::hash::key_hash;
use crate::format::namespace_ids::NamespaceId;
use crate::store::Store;
use std::sync::Arc;

/// Lookups for any thread. Keys buffered in the handle have their results already; the others are looked up when this
/// runs.
#[derive(Debug)]
pub struct PendingReads {
    pub(crate) store: Arc<Store>,
    pub(crate) namespace: Arc<NamespaceId>,
    pub(crate) reads: Vec<PendingRead>,
}

/// One lookup.
#[derive(Debug)]
pub(crate) enum PendingRead {
    /// The key was buffered: a value, or `None` if it was deleted.
    Buffered(Option<Vec<u8>>),
    /// A key to look up in the store.
    Key(Vec<u8>),
}

impl PendingReads {
    /// Number of keys.
    pub fn count(&self) -> usize {
        self.reads.len()
    }

    /// Calls `each` once per key, in order, with the value, which is valid during the call only; `None` is a miss.
    pub fn run(self, each: impl FnMut(Option<&[u8]>)) -> Result<()> {
        let mut lookups = self.store.multi_get(self.namespace.number, each)?;
        for read in &self.reads {
            match read {
                PendingRead::Buffered(value) => lookups.add(value.as_deref()),
                PendingRead::Key(key) => lookups.look_up(key_hash(key), key),
            }
        }
        lookups.finish()
    }
}
