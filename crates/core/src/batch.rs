//! Entries on their way to a commit: their bytes exactly as a log holds them, and an index so that they can be read
//! before they are committed.

use crate::format::bytes::Reader;
use crate::format::entry::{Entry, Kind};
use crate::format::hash::key_hash;
use crate::key_map::KeyMap;

/// Buffered entries of any namespaces. Of entries with the same key the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Offsets into `bytes`, by namespace id and key hash.
    places: Vec<KeyMap<u64>>,
    entries: u64,
}

impl Batch {
    pub(crate) fn add(&mut self, entry: Entry<'_>) {
        let offset = self.bytes.len() as u64;
        let namespace = usize::from(entry.namespace);
        if self.places.len() <= namespace {
            self.places.resize_with(namespace + 1, KeyMap::default);
        }
        let Self { bytes, places, entries } = self;
        if let Some(map) = places.get_mut(namespace) {
            let is_key = |other: &u64| entry_at(bytes, *other).is_some_and(|found| found.key == entry.key);
            let (place, _) = map.entry(key_hash(entry.key), is_key, offset);
            *place = offset;
        }
        entry.write(bytes);
        *entries += 1;
    }

    /// The buffered entry of a key.
    pub(crate) fn get(&self, namespace: u16, hash: u64, key: &[u8]) -> Option<Entry<'_>> {
        let map = self.places.get(usize::from(namespace))?;
        let is_key = |offset: &u64| entry_at(&self.bytes, *offset).is_some_and(|found| found.key == key);
        entry_at(&self.bytes, map.find(hash, is_key)?)
    }

    /// The entries that count, of one namespace, by hash and key.
    pub(crate) fn sorted(&self, namespace: u16) -> Vec<(u64, Entry<'_>)> {
        let Some(map) = self.places.get(usize::from(namespace)) else { return Vec::new() };
        let mut entries: Vec<_> =
            map.iter().filter_map(|(hash, offset)| Some((hash, entry_at(&self.bytes, offset)?))).collect();
        entries.sort_unstable_by(|left, right| (left.0, left.1.key).cmp(&(right.0, right.1.key)));
        entries
    }

    /// Ids of the namespaces that have entries.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = u16> + '_ {
        (0..self.places.len()).filter(|id| self.places.get(*id).is_some_and(|map| !map.is_empty())).map(|id| id as u16)
    }

    /// The entries as a log holds them.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Entries added, overwritten ones included.
    pub(crate) fn len(&self) -> u64 {
        self.entries
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Adds everything that `newer` holds on top.
    pub(crate) fn absorb(&mut self, newer: &Self) {
        let mut reader = Reader::new(&newer.bytes);
        while let Some(entry) = Entry::read(&mut reader) {
            self.add(entry);
        }
    }

    /// The entries whose keys none of `newer` has.
    pub(crate) fn without(&self, newer: &[std::sync::Arc<Self>]) -> Self {
        let mut kept = Self::default();
        let mut reader = Reader::new(&self.bytes);
        while let Some(entry) = Entry::read(&mut reader) {
            let hash = key_hash(entry.key);
            if !newer.iter().any(|batch| batch.get(entry.namespace, hash, entry.key).is_some()) {
                kept.add(entry);
            }
        }
        kept
    }
}

fn entry_at(bytes: &[u8], offset: u64) -> Option<Entry<'_>> {
    Entry::read(&mut Reader::new(bytes.get(usize::try_from(offset).ok()?..)?))
}

impl Entry<'_> {
    /// The value of a put, nothing for a delete.
    pub(crate) fn live_value(&self) -> Option<&[u8]> {
        (self.kind == Kind::Put).then_some(self.value)
    }
}
