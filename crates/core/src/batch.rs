//! Buffered entries of the next commit: their bytes exactly as a log has them, and for each its hash and place, which
//! are all that sorting moves. Lookups before the commit are rare, so only a lookup extends the index.

use crate::blobs::Pin;
use crate::error::{Error, Result};
use crate::format::blob_refs::{BlobRefs, Form};
use crate::format::bytes::Reader;
use crate::format::entry::{Entry, Kind, NAMESPACES_MAX};
use crate::format::hash::{key_hash, upper};
use crate::format::hash_index::HashIndex;
use crate::format::hash_sort;
use crate::format::hash_sort::{Item, hash_of, item, same_hash};
use crate::format::namespace_ids::NamespaceId;
use crate::platform::sync::Mutex;
use std::borrow::Cow;
use std::sync::{Arc, PoisonError};

/// Entries are stored in segments of this size, so that they never move; a larger entry has a segment of its own.
const SEGMENT_BITS: u32 = 20;
const SEGMENT_BYTES: usize = 1 << SEGMENT_BITS;

/// Most segments of one commit: the number of a segment and an offset in it fit into 32 bits.
const SEGMENTS_MAX: usize = 1 << (32 - SEGMENT_BITS);

/// How many entries are touched before they are visited.
const AHEAD: usize = 32;

/// Buffered entries of any namespaces. If a key occurs twice, its last entry counts.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    segments: Vec<Vec<u8>>,
    bytes: u64,
    entries: u64,
    /// Length of the longest value that may become a blob.
    longest_value: usize,
    /// Pins of the blobs that its entries name or will name.
    pins: Mutex<Vec<Pin>>,
    /// The namespaces that have entries. An entry names its namespace by the position in this list, so that a commit
    /// contains no number of this process.
    parts: Vec<Part>,
    /// Position in `parts`, by number of the namespace.
    positions: Vec<(u32, u16)>,
    /// One index for each of `parts`; a lookup extends it.
    index: Mutex<Vec<Index>>,
}

/// The entries of one namespace.
#[derive(Debug)]
struct Part {
    id: Arc<NamespaceId>,
    /// Hash of the key, and segment and offset, in order of addition.
    places: Vec<Item>,
}

/// Places by key of the first `covered` entries.
#[derive(Debug, Default)]
struct Index {
    places: HashIndex<u32>,
    covered: usize,
}

impl Batch {
    /// Adds an entry. Fails if the batch has as much as one commit can have.
    #[inline]
    pub(crate) fn add(
        &mut self,
        id: &Arc<NamespaceId>,
        kind: Kind,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.add_if(id, kind, key, value, |_| Ok(()))
    }

    /// Adds an entry. `check` is called with the batch before its first entry of a namespace.
    #[inline]
    pub(crate) fn add_if(
        &mut self,
        id: &Arc<NamespaceId>,
        kind: Kind,
        key: &[u8],
        value: &[u8],
        check: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<()> {
        let namespace = match self.position(id.number) {
            Some(position) => position,
            None => {
                check(self)?;
                self.add_part(id)?
            }
        };
        let entry = Entry { kind, namespace, key, value };
        let bytes = entry.bytes();
        if self.segments.last().is_none_or(|last| last.len() + bytes > SEGMENT_BYTES) {
            self.add_segment(bytes)?;
        }
        let number = self.segments.len() as u32 - 1;
        let (Some(segment), Some(part)) =
            (self.segments.last_mut(), self.parts.get_mut(usize::from(namespace)))
        else {
            unreachable!("both were added before");
        };
        part.places.push(item(upper(key_hash(key)), number << SEGMENT_BITS | segment.len() as u32));
        entry.write(segment);
        self.bytes += bytes as u64;
        self.entries += 1;
        if kind == Kind::Put {
            self.longest_value = self.longest_value.max(value.len());
        }
        Ok(())
    }

    #[inline]
    fn position(&self, number: u32) -> Option<u16> {
        let at = self.positions.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.positions.get(at).map(|(_, position)| *position)
    }

    fn add_part(&mut self, id: &Arc<NamespaceId>) -> Result<u16> {
        let position = self.parts.len();
        if position >= NAMESPACES_MAX {
            return Err(Error::Exhausted {
                field: "namespaces of one commit",
                limit: NAMESPACES_MAX as u64,
            }
            .boxed());
        }
        self.parts.push(Part { id: Arc::clone(id), places: Vec::new() });
        let at = self.positions.partition_point(|(number, _)| *number < id.number);
        self.positions.insert(at, (id.number, position as u16));
        Ok(position as u16)
    }

    fn add_segment(&mut self, bytes: usize) -> Result<()> {
        if self.segments.len() >= SEGMENTS_MAX {
            return Err(
                Error::Exhausted { field: "bytes of one commit", limit: self.bytes }.boxed()
            );
        }
        // Most batches are small, so the first segment grows with its entries.
        let capacity = if self.segments.is_empty() { bytes } else { bytes.max(SEGMENT_BYTES) };
        self.segments.push(Vec::with_capacity(capacity));
        Ok(())
    }

    /// Places of the entries of a namespace, and the position of the namespace.
    #[inline]
    fn places(&self, number: u32) -> Option<(usize, &[Item])> {
        let position = usize::from(self.position(number)?);
        self.parts.get(position).map(|part| (position, part.places.as_slice()))
    }

    /// Upper halves of the key hashes in a namespace, in order of addition.
    pub(crate) fn hashes(&self, number: u32) -> impl Iterator<Item = u32> {
        self.places(number).into_iter().flat_map(|(_, places)| places).map(|place| hash_of(*place))
    }

    /// The buffered entry of a key.
    #[inline]
    pub(crate) fn get(&self, number: u32, hash: u64, key: &[u8]) -> Option<Entry<'_>> {
        let (position, places) = self.places(number)?;
        self.find(position, places, hash, key)
    }

    /// Apart from `get`, which most lookups call for a batch without entries of the namespace.
    #[inline(never)]
    fn find(&self, position: usize, places: &[Item], hash: u64, key: &[u8]) -> Option<Entry<'_>> {
        let mut all = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < self.parts.len() {
            all.resize_with(self.parts.len(), Index::default);
        }
        let index = all.get_mut(position)?;
        let key_of = |place: &u32| self.entry_at(*place).map(|entry| entry.key);
        for place in places.get(index.covered..)? {
            let place = *place as u32;
            let Some(Entry { key, .. }) = self.entry_at(place) else { continue };
            *index.places.entry(key_hash(key), key, key_of, place) = place;
        }
        index.covered = places.len();
        self.entry_at(index.places.find(hash, key, key_of)?)
    }

    /// Calls `each` with the last entry of each key in a namespace, by upper half of the hash and key.
    pub(crate) fn sorted<'a, E>(
        &'a self,
        number: u32,
        mut each: impl FnMut(u32, Entry<'a>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.sorted_places(number, |hash, place| {
            self.entry_at(place).map_or(Ok(()), |entry| each(hash, entry))
        })
    }

    /// Like `sorted`, with the places of the entries, for `entry_at`.
    pub(crate) fn sorted_places<E>(
        &self,
        number: u32,
        mut each: impl FnMut(u32, u32) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut places = self.places(number).map(|(_, places)| places.to_vec()).unwrap_or_default();
        hash_sort::sort(&mut places, &mut Vec::new());
        let (mut at, mut touched) = (0, 0);
        for same in places.chunk_by(same_hash) {
            if at >= touched {
                touched = at + AHEAD;
                self.touch(places.get(at..touched.min(places.len())).unwrap_or_default());
            }
            at += same.len();
            if let [one] = same {
                each(hash_of(*one), *one as u32)?;
            } else {
                let entry = |item: &Item| Some((*item, self.entry_at(*item as u32)?.key));
                let mut same: Vec<_> = same.iter().filter_map(entry).collect();
                keep_last(&mut same);
                same.into_iter().try_for_each(|(item, _)| each(hash_of(item), item as u32))?;
            }
        }
        Ok(())
    }

    /// The namespaces that have entries, in the order of their positions.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &Arc<NamespaceId>> {
        self.parts.iter().map(|part| &part.id)
    }

    /// The entries as a log has them.
    pub(crate) fn joined(&self) -> Cow<'_, [u8]> {
        match self.segments.as_slice() {
            [] => Cow::Borrowed(&[]),
            [one] => Cow::Borrowed(one),
            all => Cow::Owned(all.concat()),
        }
    }

    /// Bytes of all entries.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Entries added, overwritten ones included.
    pub(crate) fn len(&self) -> u64 {
        self.entries
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Whether one commit can have the entries of both batches.
    pub(crate) fn has_room_for(&self, newer: &Self) -> bool {
        let namespaces = self.parts.len() + newer.parts.len();
        self.is_empty()
            || self.segments.len() + newer.segments.len() < SEGMENTS_MAX
                && namespaces <= NAMESPACES_MAX
    }

    /// Length of the longest value that may become a blob.
    pub(crate) fn longest_value(&self) -> usize {
        self.longest_value
    }

    /// Keeps blobs pinned until this batch is committed.
    pub(crate) fn keep(&self, pins: impl IntoIterator<Item = Pin>) {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner).extend(pins);
    }

    /// Takes the pins, which end once the batch is committed.
    pub(crate) fn take_pins(&self) -> Vec<Pin> {
        std::mem::take(&mut *self.pins.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds all entries of `newer`, for which there is room.
    pub(crate) fn absorb(&mut self, newer: &Self) {
        self.keep(newer.take_pins());
        newer.entries().for_each(|(id, entry)| self.copy(id, entry));
    }

    /// Adds an entry for which there is room.
    fn copy(&mut self, id: &Arc<NamespaceId>, entry: Entry<'_>) {
        let added = self.add(id, entry.kind, entry.key, entry.value);
        debug_assert!(added.is_ok(), "no room for an entry of another batch");
    }

    /// The entries whose keys are in none of `newer`.
    pub(crate) fn without(&self, newer: &[Arc<Self>]) -> Self {
        let mut kept = Self::default();
        kept.keep(self.take_pins());
        for (id, entry) in self.entries() {
            let hash = key_hash(entry.key);
            if !newer.iter().any(|batch| batch.get(id.number, hash, entry.key).is_some()) {
                kept.copy(id, entry);
            }
        }
        kept
    }

    /// The entries in the order of addition, with their namespaces.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Arc<NamespaceId>, Entry<'_>)> {
        let entries = self.segments.iter().flat_map(|segment| {
            let mut reader = Reader::new(segment);
            std::iter::from_fn(move || Entry::read(&mut reader))
        });
        entries.filter_map(|entry| Some((&self.parts.get(usize::from(entry.namespace))?.id, entry)))
    }

    #[inline]
    pub(crate) fn entry_at(&self, place: u32) -> Option<Entry<'_>> {
        Entry::read(&mut Reader::new(self.from(place)?))
    }

    #[inline]
    fn from(&self, place: u32) -> Option<&[u8]> {
        self.segments.get((place >> SEGMENT_BITS) as usize)?.get(place as usize % SEGMENT_BYTES..)
    }

    /// Reads one byte of each of these entries. Their bytes are anywhere in memory, and the processor fetches all of
    /// them at once instead of one after another.
    fn touch(&self, places: &[Item]) {
        let first_byte =
            |place: &Item| self.from(*place as u32).and_then(<[u8]>::first).copied().unwrap_or(0);
        std::hint::black_box(
            places.iter().map(first_byte).fold(0, |sum: u8, byte| sum.wrapping_add(byte)),
        );
    }
}

/// Keeps the last entry of each key, sorted by key. `entries` are in order of addition.
fn keep_last(entries: &mut Vec<(Item, &[u8])>) {
    entries.reverse();
    entries.sort_by_key(|(_, key)| *key);
    entries.dedup_by(|(_, later), (_, earlier)| later == earlier);
}

impl<'a> Entry<'a> {
    /// The stored value of a put; `None` for a delete.
    pub(crate) fn live_value(&self) -> Option<&'a [u8]> {
        matches!(self.kind, Kind::Put | Kind::PutWithBlobs).then_some(self.value)
    }

    /// The value of a buffered put, whose large value is not a blob yet.
    pub(crate) fn buffered_value(&self) -> Option<&'a [u8]> {
        if self.kind != Kind::PutWithBlobs {
            return self.live_value();
        }
        match BlobRefs::parse(self.value)?.form {
            Form::Beside(value) => Some(value),
            Form::Content | Form::Packed { .. } => None,
        }
    }
}
