//! Lookups of many keys in one committed state, which write values where the caller needs them.

use crate::error::Result;
use crate::format::blob_refs::BlobRefs;
use crate::format::hash::key_hash;
use crate::format::namespace_ids::NamespaceId;
use crate::platform::sync::RwLockReadGuard;
use crate::read::lookup::{copy_fitting, lookup};
use crate::state::State;
use crate::store::handle::Handle;

/// Lookups in one namespace. No commit becomes visible while it lives, so the caller soon calls [`Lookups::finish`].
#[derive(Debug)]
pub struct Lookups<'h> {
    handle: &'h Handle,
    id: &'h NamespaceId,
    state: RwLockReadGuard<'h, State>,
}

/// A value that a lookup has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The length of the value.
    pub bytes: usize,
    /// Whether the target has all of them.
    pub is_whole: bool,
}

impl Handle {
    /// Begins lookups that are all in the state that is visible now.
    pub fn lookups(&self, namespace: u32) -> Result<Lookups<'_>> {
        let id = self.known(namespace)?;
        // The state comes first: what leaves the buffer is in the state before.
        let state = self.store().state()?;
        Ok(Lookups { handle: self, id, state })
    }
}

impl Lookups<'_> {
    /// Copies the value to the start of `target` if it fits there; `None` is a miss. A blob is not copied: reading it
    /// takes long, and commits wait for these lookups.
    pub fn get_into(&self, key: &[u8], target: &mut [u8]) -> Option<Copied> {
        let (hash, room) = (key_hash(key), target.len());
        let whole_if_fitting = |bytes: usize| Copied { bytes, is_whole: bytes <= room };
        let buffered = self.handle.buffered(self.id, hash, key, |entry| {
            entry.buffered_value().map(|value| whole_if_fitting(copy_fitting(value, target)))
        });
        if let Some(answer) = buffered {
            return answer;
        }
        let hit = lookup(&self.state, self.id.number, hash, key)?;
        if hit.names_blobs {
            let bytes = hit
                .read(|refs| BlobRefs::parse(refs).map_or(0, |refs| refs.value_bytes() as usize))?;
            return Some(Copied { bytes, is_whole: false });
        }
        hit.read_into(target).map(whole_if_fitting)
    }

    /// Ends the lookups.
    pub fn finish(self) -> Result<()> {
        let store = self.handle.store();
        store.after_reads(&store.context, self.id.number, self.state)
    }
}
