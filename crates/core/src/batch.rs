//! Entries on their way to a commit: their bytes exactly as a log holds them, and of each the hash and the place, which
//! is all that sorting moves. Looking a key up before it is committed is rare, so the index for it grows only then.

use crate::format::bytes::Reader;
use crate::format::entry::{Entry, Kind};
use crate::format::hash::{key_hash, upper};
use crate::key_map::KeyMap;
use crate::radix::{self, Item, hash_of, item};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of entries that one commit can have.
pub(crate) const BATCH_BYTES_MAX: u64 = u32::MAX as u64;

/// Buffered entries of any namespaces. Of entries with the same key the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Hash of the key and offset into `bytes`, by namespace id, in the order of addition.
    places: Vec<Vec<Item>>,
    entries: u64,
    /// Offsets by key, by namespace id, of the first entries; grows when somebody asks.
    index: Mutex<Vec<Index>>,
}

#[derive(Debug, Default)]
struct Index {
    offsets: KeyMap<u32>,
    covered: usize,
}

impl Batch {
    /// Adds an entry; the caller sees to it that the batch stays below [`BATCH_BYTES_MAX`].
    pub(crate) fn add(&mut self, entry: Entry<'_>) {
        let place = item(upper(key_hash(entry.key)), self.bytes.len() as u32);
        let namespace = usize::from(entry.namespace);
        if self.places.len() <= namespace {
            self.places.resize_with(namespace + 1, Vec::new);
        }
        if let Some(places) = self.places.get_mut(namespace) {
            places.push(place);
        }
        entry.write(&mut self.bytes);
        self.entries += 1;
    }

    /// The buffered entry of a key.
    pub(crate) fn get(&self, namespace: u16, hash: u64, key: &[u8]) -> Option<Entry<'_>> {
        let places = self.places.get(usize::from(namespace)).filter(|places| !places.is_empty())?;
        let mut all = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < self.places.len() {
            all.resize_with(self.places.len(), Index::default);
        }
        let index = all.get_mut(usize::from(namespace))?;
        for place in places.get(index.covered..)? {
            let offset = *place as u32;
            let Some(entry) = self.entry_at(offset) else { continue };
            let is_key = |other: &u32| self.entry_at(*other).is_some_and(|found| found.key == entry.key);
            *index.offsets.entry(key_hash(entry.key), is_key, offset).0 = offset;
        }
        index.covered = places.len();
        let is_key = |offset: &u32| self.entry_at(*offset).is_some_and(|found| found.key == key);
        self.entry_at(index.offsets.find(hash, is_key)?)
    }

    /// The entries that count, of one namespace, by upper half of the hash and key.
    pub(crate) fn sorted(&self, namespace: u16) -> impl Iterator<Item = (u32, Entry<'_>)> {
        let mut places = self.places.get(usize::from(namespace)).cloned().unwrap_or_default();
        radix::sort(&mut places, &mut Vec::new());
        let mut at = 0;
        let mut same: Vec<Entry<'_>> = Vec::new();
        std::iter::from_fn(move || {
            if let Some(entry) = same.pop() {
                return Some((upper(key_hash(entry.key)), entry));
            }
            let first = *places.get(at)?;
            at += 1;
            let hash = hash_of(first);
            if places.get(at).is_none_or(|next| hash_of(*next) != hash) {
                return Some((hash, self.entry_at(first as u32)?));
            }
            same.extend(self.entry_at(first as u32));
            while let Some(next) = places.get(at).filter(|next| hash_of(**next) == hash) {
                same.extend(self.entry_at(*next as u32));
                at += 1;
            }
            keep_last(&mut same);
            same.pop().map(|entry| (hash, entry))
        })
    }

    /// Ids of the namespaces that have entries.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = u16> + '_ {
        let has_entries = |id: &usize| self.places.get(*id).is_some_and(|places| !places.is_empty());
        (0..self.places.len()).filter(has_entries).map(|id| id as u16)
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
    pub(crate) fn without(&self, newer: &[Arc<Self>]) -> Self {
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

    #[inline]
    fn entry_at(&self, offset: u32) -> Option<Entry<'_>> {
        Entry::read(&mut Reader::new(self.bytes.get(offset as usize..)?))
    }
}

/// Of entries in order of addition, keeps the last of each key; the greatest key comes first, to be popped last.
fn keep_last(entries: &mut Vec<Entry<'_>>) {
    entries.reverse();
    entries.sort_by(|left, right| right.key.cmp(left.key));
    entries.dedup_by(|later, earlier| later.key == earlier.key);
}

impl Entry<'_> {
    /// The value of a put, nothing for a delete.
    pub(crate) fn live_value(&self) -> Option<&[u8]> {
        (self.kind == Kind::Put).then_some(self.value)
    }
}
