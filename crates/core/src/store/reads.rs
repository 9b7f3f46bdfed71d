//! Reading from a store: one key, many keys, pages of entries, and blobs.

use crate::blobs::Content;
use crate::error::Result;
use crate::format::blob_refs::BlobRefs;
use crate::format::digest::BlobRef;
use crate::platform::failpoints;
use crate::platform::sync::RwLockReadGuard;
use crate::read::entries::{Entries, Ranges, Source, Visit};
use crate::read::lookup::{copy_fitting, lookup};
use crate::read::missing_blob;
use crate::read::stats::sources_of;
use crate::state::context::Context;
use crate::state::{Known, Layers, Namespace, State, TableIndex};
use crate::store::Store;
use crate::store::multi_get::MultiGet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Places in lines of the processor's cache that a value of at most 128 bytes fills.
const FETCHED: [usize; 3] = [0, 64, 127];

/// Bytes of the length of a value in a page of keys.
const LENGTH_BYTES: usize = 4;

/// Receives the key and the value of an entry, and the length of the value.
pub(crate) type EachEntry<'a> = dyn FnMut(&[u8], &[u8], usize) + 'a;

impl Store {
    pub(crate) fn get<R>(
        &self,
        id: u32,
        hash: u64,
        key: &[u8],
        use_value: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let (context, state) = (&self.context, self.state()?);
        let answer = match lookup(&state, id, hash, key) {
            Some(hit) if hit.names_blobs => {
                let refs = hit.read(<[u8]>::to_vec);
                drop(state);
                let Some(refs) = refs else { return Ok(None) };
                return Ok(self.blob_value(id, hash, key, &refs)?.map(|value| use_value(&value)));
            }
            hit => hit.and_then(|hit| hit.read(use_value)),
        };
        self.after_reads(context, id, state)?;
        Ok(answer)
    }

    /// Copies the value to the start of `target` if it fits there, and returns its length.
    pub(crate) fn get_into(
        &self,
        id: u32,
        hash: u64,
        key: &[u8],
        target: &mut [u8],
    ) -> Result<Option<usize>> {
        let (context, state) = (&self.context, self.state()?);
        fetch(target);
        let answer = match lookup(&state, id, hash, key) {
            Some(hit) if hit.names_blobs => {
                let refs = hit.read(<[u8]>::to_vec);
                drop(state);
                let Some(refs) = refs else { return Ok(None) };
                // A blob is read once, when there is room for it.
                let bytes = BlobRefs::parse(&refs).map_or(0, |refs| refs.value_bytes() as usize);
                if bytes > target.len() {
                    return Ok(Some(bytes));
                }
                return Ok(self
                    .blob_value(id, hash, key, &refs)?
                    .map(|value| copy_fitting(&value, target)));
            }
            hit => hit.and_then(|hit| hit.read_into(target)),
        };
        self.after_reads(context, id, state)?;
        Ok(answer)
    }

    #[inline]
    pub(crate) fn after_reads(
        &self,
        context: &Context,
        id: u32,
        state: RwLockReadGuard<'_, State>,
    ) -> Result<()> {
        let is_index_due = state.is_index_due(id, &context.blocks);
        drop(state);
        if is_index_due {
            self.make_index(id);
        }
        if context.blocks.is_over() {
            self.trim_blocks(context);
        }
        Ok(())
    }

    // Under WebAssembly, V8 optimizes a function as a whole once one of its parts is hot. With what follows as part of
    // each lookup, that took 25 ms more CPU time.
    #[cold]
    #[inline(never)]
    fn trim_blocks(&self, context: &Context) {
        if let Ok(mut state) = self.state.write() {
            state.trim_blocks(&context.blocks);
        }
    }

    /// Many lookups in one state; `each` receives the values.
    pub(crate) fn multi_get<E: FnMut(Option<&[u8]>)>(
        &self,
        id: u32,
        each: E,
    ) -> Result<MultiGet<'_, E>> {
        Ok(MultiGet::new(self, &self.context, id, self.state()?, each))
    }

    pub(crate) fn has(&self, id: u32, hash: u64, key: &[u8]) -> Result<bool> {
        Ok(lookup(&*self.state()?, id, hash, key).is_some())
    }

    /// The value of an entry that names blobs. If a blob is missing, it may have been collected since this state was
    /// loaded. A newer state then does not name it for this key, and the value is a miss. The visible state stays the
    /// same.
    #[inline(never)]
    pub(crate) fn blob_value(
        &self,
        id: u32,
        hash: u64,
        key: &[u8],
        refs: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let context = self.open_context()?;
        let names = |newest: &State| {
            let hit = lookup(newest, id, hash, key).filter(|hit| hit.names_blobs);
            hit.and_then(|hit| hit.read(|bytes| bytes == refs)).unwrap_or(false)
        };
        Ok(
            match missing_blob::look(
                context,
                || self.known_and_layers(),
                names,
                || context.blobs.value(refs),
            )? {
                Some(Content::Whole(value)) => Some(value),
                Some(Content::Missing) => {
                    context.blobs.report_missing(refs);
                    None
                }
                Some(Content::Damaged) | None => None,
            },
        )
    }

    fn known_and_layers(&self) -> Result<(Known, Layers)> {
        let state = self.state()?;
        Ok((state.known(), state.layers.clone()))
    }

    /// Whether the cache or a layer has the blob. Its content may be damaged.
    pub fn has_blob(&self, file: &BlobRef) -> Result<bool> {
        self.open_context()?.blobs.has(file)
    }

    /// The content of a blob that an entry names; `None` = it is missing or damaged.
    pub fn read_blob(&self, file: &BlobRef) -> Result<Option<Vec<u8>>> {
        let context = self.open_context()?;
        let names = |newest: &State| !newest.unrecoverable && newest.named_blobs().contains(file);
        Ok(
            match missing_blob::look(
                context,
                || self.known_and_layers(),
                names,
                || context.blobs.read(file),
            )? {
                Some(Content::Whole(content)) => Some(content),
                Some(Content::Missing) => {
                    context.blobs.report(file, "missing file");
                    None
                }
                Some(Content::Damaged) | None => None,
            },
        )
    }

    /// Builds the index over the tables of a namespace without a lock on the state.
    #[cold]
    #[inline(never)]
    fn make_index(&self, id: u32) {
        let Ok(state) = self.state() else { return };
        let Some(namespace) = state.namespace(id) else { return };
        let tables: Vec<_> = namespace.tables.iter().map(|live| Arc::clone(&live.table)).collect();
        drop(state);
        let (index, covered) = TableIndex::new(tables.iter().map(|table| &**table));
        let Ok(mut state) = self.state.write() else { return };
        if let Some(Namespace { selector, tables: live, .. }) = state.namespace_mut(id) {
            selector.install(live, &tables, index, &covered);
        }
    }

    /// See [`Handle::scan`](crate::Handle::scan). Without values, `each` receives empty ones with their lengths.
    pub(crate) fn scan(
        &self,
        id: u32,
        (cursor, bytes_max): (u64, u64),
        with_values: bool,
        newer: Vec<Source<'_>>,
        each: &mut EachEntry<'_>,
    ) -> Result<Option<u64>> {
        let (context, state) = (&self.context, self.state()?);
        let (mut sources, hidden_below) = sources_of(&state, id);
        failpoints::panics("scan");
        sources.extend(newer);
        let from = u32::try_from(cursor).unwrap_or(u32::MAX);
        let mut entries = Entries::new(hidden_below);
        let (mut bytes, mut last_hash) = (0, None);
        for range in Ranges::new(sources, from) {
            let mut next = Ok(None);
            let _all = entries.visit(&range, &mut |entry| {
                // A page ends between two hashes, so that the next one begins exactly at the cursor.
                let hash = entry.hash;
                if bytes >= bytes_max && last_hash != Some(hash) {
                    next = Ok(Some(u64::from(hash)));
                    return ControlFlow::Break(());
                }
                last_hash = Some(hash);
                let (key, is_hidden, names_blobs) =
                    (entry.key, entry.is_hidden, entry.names_blobs());
                if !with_values {
                    if let Some(value_bytes) = value_bytes_of(entry).filter(|_| !is_hidden) {
                        bytes += (key.len() + LENGTH_BYTES) as u64;
                        each(key, &[], value_bytes);
                    }
                    return ControlFlow::Continue(());
                }
                let Some(value) = entry.value().filter(|_| !is_hidden) else {
                    return ControlFlow::Continue(());
                };
                let content =
                    if names_blobs { context.blobs.value(value).map(Some) } else { Ok(None) };
                let value = match &content {
                    Ok(None) => value,
                    Ok(Some(Content::Whole(value))) => value,
                    Ok(Some(Content::Missing | Content::Damaged)) => {
                        return ControlFlow::Continue(());
                    }
                    Err(_) => {
                        next = content.map(|_| None);
                        return ControlFlow::Break(());
                    }
                };
                bytes += (key.len() + value.len()) as u64;
                each(key, value, value.len());
                ControlFlow::Continue(())
            });
            if let Some(next) = next? {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }
}

/// The length of a value, which is not read: of one that names blobs, that of its blobs. `None` = deleted.
fn value_bytes_of(entry: Visit<'_>) -> Option<usize> {
    if !entry.names_blobs() {
        return entry.value_bytes();
    }
    BlobRefs::parse(entry.value()?).map(|refs| refs.value_bytes() as usize)
}

/// Writes to the first lines of the target, which the value is about to fill. So the processor fetches them together
/// with those of the entry. Otherwise unlocking the state, which waits for all writes, would wait for them alone.
#[inline]
fn fetch(target: &mut [u8]) {
    for start in FETCHED {
        if let Some(byte) = target.get_mut(start) {
            *byte = 0;
        }
    }
}
