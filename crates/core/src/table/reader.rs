//! Reads a table: one key block, then at most one value block. A block is copied first and the copy is verified, so
//! that later changes of the file cannot affect verified bytes.

mod load;

use super::TableMeta;
use super::directory::{BlockRow, Blocks, Directory};
use super::key_block::{ENTRIES_MAX, INLINE_BYTES_MAX, KeyBlock, NAMES_BLOBS, Stored};
use crate::format::checksum::Checksum;
use crate::format::file_names::TableName;
use crate::format::hash::upper;
use crate::platform::vfs::File;
use crate::report::damage_list::DamageList;
use crate::table::block_cache::BlockCache;
use crate::table::pages::{Pages, Slot};
use crate::table::writer::OWN_BLOCK_BYTES;
use crate::usage::{Day, UsageBits, day_of};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Pages of a mapped file count as memory of this process once they were read, so scans release them after this many
/// bytes.
const SCANNED_BYTES_MAX: usize = 1 << 20;

/// The place of a table among the tables of its cache and of the layers below.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) namespace: Arc<str>,
    /// 0 for the cache, 1 for its newest layer, more for older ones. Lower levels hide higher ones.
    pub(crate) level: u32,
    /// The directory of the layer; empty for the cache.
    pub(crate) layer: Arc<str>,
    /// Lookups that the layer has answered; none for the cache.
    pub(crate) hits: Option<Arc<AtomicU64>>,
}

impl Origin {
    pub(crate) fn cache(namespace: &str) -> Self {
        Self { namespace: namespace.into(), level: 0, layer: "".into(), hits: None }
    }

    /// Counts a lookup that a table of the layer has answered. The count orders nothing, so it needs no other ordering.
    #[inline]
    pub(crate) fn count_hit(&self) {
        if let Some(hits) = &self.hits {
            hits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The name of a file as reports have it.
    pub(crate) fn name_of(&self, file: TableName) -> String {
        if self.level == 0 { file.to_string() } else { format!("{}/{file}", self.layer) }
    }
}

/// A table, open for reading.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) meta: TableMeta,
    pub(crate) origin: Origin,
    /// `None` = the file is missing.
    file: Option<Arc<dyn File>>,
    /// Read on first use; `None` = damaged.
    loaded: OnceLock<Option<Loaded>>,
    checksum: Checksum,
    damage: Arc<DamageList>,
    cache: Arc<BlockCache>,
    cached_bytes: AtomicUsize,
    /// Bytes that scans have read since they released pages of the file.
    scanned_bytes: AtomicUsize,
    /// The operating system refused a read, so the bytes may be sound.
    unreadable: AtomicBool,
    /// The file was removed before it was opened (on a platform with few descriptors), so a newer manifest does not
    /// name it.
    gone: AtomicBool,
}

/// The directory, and the rows and blocks read so far.
#[derive(Debug)]
struct Loaded {
    directory: Arc<Directory>,
    /// Which entries were read; each key block has room for its most entries.
    usage: Arc<UsageBits>,
    keys: Pages<Keys>,
    values: Pages<Box<[u8]>>,
}

/// A verified key block.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) layout: KeyBlock,
}

/// The result of a lookup in one table.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    Miss,
    Value {
        sequence: u64,
        value: Value<'a>,
        /// Whether the value names blobs.
        names_blobs: bool,
    },
    Deleted {
        sequence: u64,
    },
    /// The table may have had an entry newer than in any other table, so no other entry is valid.
    Damaged,
}

/// Bytes of a value.
#[derive(Debug)]
pub(crate) enum Value<'a> {
    /// Copied out of its key block.
    Inline { bytes: [u8; INLINE_BYTES_MAX], length: u8 },
    /// In a cached block.
    Kept(&'a [u8]),
    /// In a block that is not cached.
    Unread(Unread<'a>),
}

/// A part of a value block that is read when the value is used, directly into the memory where the value is needed.
#[derive(Debug)]
pub(crate) struct Unread<'a> {
    table: &'a Table,
    index: usize,
    raw_bytes: usize,
    part: Range<usize>,
}

impl Value<'_> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Inline { length, .. } => usize::from(*length),
            Self::Kept(bytes) => bytes.len(),
            Self::Unread(unread) => unread.part.len(),
        }
    }

    /// What `use_bytes` makes of the bytes; `None` = damaged.
    #[inline]
    pub(crate) fn read<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> Option<R> {
        match self {
            Self::Inline { bytes, length } => bytes.get(..usize::from(*length)).map(use_bytes),
            Self::Kept(bytes) => Some(use_bytes(bytes)),
            Self::Unread(Unread { table, index, part, .. }) => {
                table.with_values(*index, |block| block.get(part.clone()).map(use_bytes))?
            }
        }
    }

    /// Copies the bytes to `target`, which has their length; `None` = damaged.
    #[inline]
    pub(crate) fn copy_to(&self, target: &mut [u8]) -> Option<()> {
        match self {
            Self::Unread(Unread { table, index, raw_bytes, part }) if part.len() == *raw_bytes => {
                table.read_values_into(*index, target)
            }
            value => value.read(|bytes| target.copy_from_slice(bytes)),
        }
    }
}

/// A cached block, or one that was read for this call only.
enum Block<'a, T> {
    Kept(&'a T),
    Read(T),
}

impl<T> Block<'_, T> {
    fn get(&self) -> &T {
        match self {
            Self::Kept(kept) => kept,
            Self::Read(read) => read,
        }
    }
}

impl Table {
    pub(crate) fn new(
        meta: TableMeta,
        origin: Origin,
        file: Option<Arc<dyn File>>,
        checksum: Checksum,
        damage: &Arc<DamageList>,
        cache: &Arc<BlockCache>,
    ) -> Self {
        let (damage, cache) = (Arc::clone(damage), Arc::clone(cache));
        let (loaded, cached_bytes, scanned_bytes) =
            (OnceLock::new(), AtomicUsize::new(0), AtomicUsize::new(0));
        let (unreadable, gone) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            meta,
            origin,
            file,
            loaded,
            checksum,
            damage,
            cache,
            cached_bytes,
            scanned_bytes,
            unreadable,
            gone,
        }
    }

    /// The same table without cached blocks. The old ones no longer count, even if other threads still read them.
    pub(crate) fn without_blocks(&self) -> Self {
        self.cache.remove(self.cached_bytes.swap(0, Ordering::Relaxed));
        let (origin, file) = (self.origin.clone(), self.file.clone());
        let fresh = Self::new(self.meta, origin, file, self.checksum, &self.damage, &self.cache);
        if let Some(Some(loaded)) = self.loaded.get() {
            let _ = fresh
                .loaded
                .set(Some(Loaded::new(Arc::clone(&loaded.directory), Arc::clone(&loaded.usage))));
        }
        fresh.unreadable.store(self.is_unreadable(), Ordering::Relaxed);
        fresh
    }

    /// Counts bytes that a scan has read, and releases the pages of the mapped file after many.
    pub(crate) fn count_scanned(&self, bytes: usize) {
        if self.scanned_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > SCANNED_BYTES_MAX {
            self.scanned_bytes.store(0, Ordering::Relaxed);
            self.file.iter().for_each(|file| file.release());
        }
    }

    /// Whether its file was missing or cut when it was opened.
    pub(crate) fn is_broken(&self) -> bool {
        self.file.is_none() || matches!(self.loaded.get(), Some(None))
    }

    /// The same table in another file.
    pub(crate) fn with_file(&self, file: Arc<dyn File>) -> Self {
        Self::new(
            self.meta,
            self.origin.clone(),
            Some(file),
            self.checksum,
            &self.damage,
            &self.cache,
        )
    }

    /// Bytes of cached blocks.
    pub(crate) fn cached_bytes(&self) -> usize {
        self.cached_bytes.load(Ordering::Relaxed)
    }

    /// The newest entry of `key` in this table.
    #[inline]
    pub(crate) fn get(&self, hash: u64, key: &[u8]) -> Found<'_> {
        let Some(loaded) = self.loaded() else { return Found::Damaged };
        let hash = upper(hash);
        let Some(mut index) = loaded.directory.key_block_of(hash) else { return Found::Miss };
        let mut bounds = loaded.directory.bounds(index);
        if bounds.0 == hash {
            let Some(of_key) = self.block_of(loaded, index, hash, key) else {
                return Found::Damaged;
            };
            (index, bounds) = (of_key, loaded.directory.bounds(of_key));
        }
        let Some(block) = self.keys(loaded, index) else { return Found::Damaged };
        let keys = block.get();
        let Some(at) = keys.layout.find(&keys.bytes, bounds, hash, key) else {
            return Found::Miss;
        };
        loaded.usage.set(index * ENTRIES_MAX + at);
        self.found(keys, at).unwrap_or_else(|| self.damaged_layout(index))
    }

    /// The block that may have `key`, among those up to `last` that may have its hash. Entries of one hash are sorted
    /// by key, and an attacker can make them fill many blocks. `None` = damaged.
    #[cold]
    fn block_of(&self, loaded: &Loaded, last: usize, hash: u32, key: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (loaded.directory.first_block_of(hash), last);
        while low < high {
            let middle = usize::midpoint(low, high + 1);
            let block = self.keys(loaded, middle)?;
            let keys = block.get();
            match keys.layout.key(&keys.bytes, 0) {
                Some(first) if first <= key => low = middle,
                Some(_) => high = middle - 1,
                None => {
                    self.damaged_layout(middle);
                    return None;
                }
            }
        }
        Some(low)
    }

    /// The sequence number of an entry; `None` = the block has no valid layout. An entry that is newer than its table
    /// was planted, and would hide all later ones.
    #[inline]
    pub(crate) fn sequence(&self, keys: &Keys, at: usize) -> Option<u64> {
        let sequence =
            self.meta.sequence_base.saturating_add(keys.layout.sequence(&keys.bytes, at)?);
        (sequence <= self.meta.sequence_max).then_some(sequence)
    }

    #[inline]
    fn found(&self, keys: &Keys, at: usize) -> Option<Found<'_>> {
        let sequence = self.sequence(keys, at)?;
        let (_, stored) = keys.layout.entry(&keys.bytes, at)?;
        Some(match stored {
            Stored::Deleted => Found::Deleted { sequence },
            // Tables have no such values.
            Stored::WithBlobs(_) => return None,
            Stored::Inline(bytes) => {
                let mut inline = [0; INLINE_BYTES_MAX];
                inline.get_mut(..bytes.len())?.copy_from_slice(bytes);
                Found::Value {
                    sequence,
                    value: Value::Inline { bytes: inline, length: bytes.len() as u8 },
                    names_blobs: false,
                }
            }
            Stored::Placed { block, offset, bytes } => {
                match self.value(block & !NAMES_BLOBS, offset, bytes) {
                    Some(value) => {
                        Found::Value { sequence, value, names_blobs: block & NAMES_BLOBS != 0 }
                    }
                    None => Found::Damaged,
                }
            }
        })
    }

    /// Bytes of a placed value; `None` = damaged.
    fn value(&self, index: u32, offset: u32, bytes: u32) -> Option<Value<'_>> {
        let loaded = self.loaded()?;
        let slot = self.value_slot(loaded, index as usize)?;
        let start = offset as usize;
        let part = start..start.checked_add(bytes as usize)?;
        if let Some(block) = slot.block.get() {
            return block.get(part).map(Value::Kept);
        }
        let raw_bytes = slot.row.raw_bytes as usize;
        if part.end > raw_bytes {
            return None;
        }
        // Most values are read once in a process, so a block is cached only for the sake of the others in it.
        if bytes as usize >= OWN_BLOCK_BYTES || !self.cache.admits(raw_bytes) {
            return Some(Value::Unread(Unread {
                table: self,
                index: index as usize,
                raw_bytes,
                part,
            }));
        }
        self.keep(&slot.block, self.read_values(index as usize)?, raw_bytes)
            .get(part)
            .map(Value::Kept)
    }

    #[inline]
    fn keys<'a>(&'a self, loaded: &'a Loaded, index: usize) -> Option<Block<'a, Keys>> {
        let slot = &self.key_slot(loaded, index)?.block;
        if let Some(keys) = slot.get() {
            return Some(Block::Kept(keys));
        }
        let keys = self.read_keys(index)?;
        let bytes = keys.bytes.len();
        Some(if self.cache.admits(bytes) {
            Block::Kept(self.keep(slot, keys, bytes))
        } else {
            Block::Read(keys)
        })
    }

    /// Caches a block.
    fn keep<'a, T>(&'a self, slot: &'a OnceLock<T>, read: T, bytes: usize) -> &'a T {
        let mut read = Some(read);
        let mut is_new = false;
        let kept = slot.get_or_init(|| {
            is_new = true;
            match read.take() {
                Some(read) => read,
                None => unreachable!("the slot is filled once"),
            }
        });
        if is_new {
            self.cached_bytes.fetch_add(bytes, Ordering::Relaxed);
            self.cache.add(bytes);
        }
        kept
    }

    /// Calls `each` with the upper half of every key's hash, sorted; `false` = a block cannot be read.
    pub(crate) fn hashes(&self, mut each: impl FnMut(u32)) -> bool {
        let Some(loaded) = self.loaded() else { return false };
        (0..loaded.directory.key_blocks).all(|index| {
            let read = loaded.keys.cached(index).map(Block::Kept);
            let Some(block) = read.or_else(|| self.read_keys(index).map(Block::Read)) else {
                return false;
            };
            let keys = block.get();
            keys.layout.hashes(&keys.bytes).iter().for_each(|hash| each(u32::from_le_bytes(*hash)));
            true
        })
    }

    /// The known day of all its entries.
    pub(crate) fn known_day(&self) -> Day {
        day_of(self.meta.oldest_ms)
    }

    /// Number of entries read from this table.
    pub(crate) fn reads(&self) -> u64 {
        self.loaded.get().and_then(Option::as_ref).map_or(0, |loaded| loaded.usage.count())
    }

    /// Calls `each` with the upper half of the hash of every key that was read, sorted.
    pub(crate) fn hashes_read(&self, mut each: impl FnMut(u32)) {
        let Some(loaded) = self.loaded.get().and_then(Option::as_ref) else { return };
        let mut last = None;
        for place in loaded.usage.iter() {
            let (index, at) = (place / ENTRIES_MAX, place % ENTRIES_MAX);
            if last.as_ref().is_none_or(|(other, _)| *other != index) {
                last = self.keys(loaded, index).map(|block| (index, block));
            }
            let Some((_, block)) = &last else { continue };
            let keys = block.get();
            if let Some(hash) = keys.layout.hashes(&keys.bytes).get(at) {
                each(u32::from_le_bytes(*hash));
            }
        }
    }

    /// Number of entries, at most as many as its blocks can have; 0 = the directory is damaged.
    pub(crate) fn entries(&self) -> u64 {
        self.directory().map_or(0, |directory| {
            self.meta.entries.min((directory.key_blocks * ENTRIES_MAX) as u64)
        })
    }

    /// The directory; `None` = damaged.
    pub(crate) fn directory(&self) -> Option<&Directory> {
        self.loaded().map(|loaded| &*loaded.directory)
    }

    /// Row of a key block; `None` = damaged.
    pub(crate) fn key_row(&self, index: usize) -> Option<BlockRow> {
        self.key_slot(self.loaded()?, index).map(|slot| slot.row)
    }

    /// Row of a value block; `None` = damaged.
    pub(crate) fn value_row(&self, index: usize) -> Option<BlockRow> {
        self.value_slot(self.loaded()?, index).map(|slot| slot.row)
    }

    #[inline]
    fn key_slot<'l>(&self, loaded: &'l Loaded, index: usize) -> Option<&'l Slot<Keys>> {
        loaded.keys.slot(index, |number| self.read_rows(&loaded.directory, Blocks::Keys, number))
    }

    #[inline]
    fn value_slot<'l>(&self, loaded: &'l Loaded, index: usize) -> Option<&'l Slot<Box<[u8]>>> {
        loaded
            .values
            .slot(index, |number| self.read_rows(&loaded.directory, Blocks::Values, number))
    }

    #[inline]
    fn loaded(&self) -> Option<&Loaded> {
        self.loaded.get_or_init(|| self.load()).as_ref()
    }

    /// Whether the operating system refused a read. Lookups then miss, but a merge must not drop the entries.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.unreadable.load(Ordering::Relaxed)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.cache.remove(self.cached_bytes());
    }
}

impl Loaded {
    fn new(directory: Arc<Directory>, usage: Arc<UsageBits>) -> Self {
        let (keys, values) = (Pages::new(directory.key_blocks), Pages::new(directory.value_blocks));
        Self { directory, usage, keys, values }
    }
}
