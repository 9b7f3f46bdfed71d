//! The memtable: the entries of all open logs, byte by byte as in the logs. A commit only appends to a list. The index
//! by key is extended by lookups, so a process that only writes never builds it.

use crate::format::bytes::Reader;
use crate::format::entry::Entry;
use crate::format::hash::{key_hash, upper};
use crate::format::hash_index::HashIndex;
use crate::log::LogCommit;
use crate::platform::sync::RwLock;
use crate::usage::UsageBits;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError};

/// Largest size of the segments that collect small commits, and how many times its size the first one of a log has.
const SEGMENT_BYTES: usize = 1 << 20;
const SEGMENT_COMMITS: usize = 8;

/// The bodies of commits in segments, which are filled front to back. Each segment has commits of one log, so that a
/// state of a newer manifest shares those of the logs that stay. While it or a snapshot shares a segment, the next
/// commit begins a new one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    all: Vec<Arc<Vec<u8>>>,
    commits: Vec<Commit>,
    /// The segment that each writer's commits fill.
    last: HashMap<u32, u32>,
}

/// One commit of a log, which is in one segment.
#[derive(Clone, Copy, Debug)]
struct Commit {
    sequence: u64,
    writer: u32,
    segment: u32,
    offset: u32,
    bytes: u32,
}

/// An entry in the memtable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemtableEntry<'a> {
    pub(crate) sequence: u64,
    pub(crate) writer: u32,
    pub(crate) place: Place,
    /// Bytes from the start of the entry on.
    bytes: &'a [u8],
}

/// Where an entry is in the segments. Places are ordered by arrival. They are small, because a log may have an entry
/// for every eight of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Number of its commit, and offset in the segment of that commit.
    pub(crate) commit: u32,
    pub(crate) offset: u32,
}

/// The entries of one namespace in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Memtable {
    entries: Vec<(u32, Place)>,
    index: RwLock<Index>,
}

/// The newest entry of each key among the first `covered` entries.
#[derive(Debug, Default)]
struct Index {
    places: HashIndex<Place>,
    covered: usize,
    /// Which of them were read.
    usage: UsageBits,
}

impl Segments {
    /// Copies a commit and returns the place of its first entry.
    pub(super) fn add(&mut self, writer: u32, commit: &LogCommit<'_>) -> Place {
        let LogCommit { sequence, prelude, entries, .. } = *commit;
        let bytes = prelude.len() + entries.len();
        let last = self.last.get(&writer).copied();
        let segment = match last.filter(|last| self.room_in(*last) >= bytes) {
            Some(last) => last,
            None => self.begin_segment(writer, last, bytes),
        };
        let mut offset = 0;
        if let Some(all) = self.all.get_mut(segment as usize).and_then(Arc::get_mut) {
            offset = all.len() as u32;
            all.extend_from_slice(prelude);
            all.extend_from_slice(entries);
        }
        self.commits.push(Commit { sequence, writer, segment, offset, bytes: bytes as u32 });
        Place { commit: self.commits.len() as u32 - 1, offset: offset + prelude.len() as u32 }
    }

    /// Bytes that can be appended to a segment; none if it is shared.
    fn room_in(&mut self, segment: u32) -> usize {
        let unshared = self.all.get_mut(segment as usize).and_then(Arc::get_mut);
        unshared.map_or(0, |all| all.capacity() - all.len())
    }

    /// Begins a segment for a commit of that size, twice as large as the last one of the writer.
    fn begin_segment(&mut self, writer: u32, last: Option<u32>, bytes: usize) -> u32 {
        let before =
            last.and_then(|last| self.all.get(last as usize)).map_or(0, |last| last.capacity());
        let size = (before * 2).max(bytes * SEGMENT_COMMITS).min(SEGMENT_BYTES).max(bytes);
        let segment = self.all.len() as u32;
        self.all.push(Arc::new(Vec::with_capacity(size)));
        self.last.insert(writer, segment);
        segment
    }

    /// The commits of some writers, which share the segments with these.
    pub(super) fn of(&self, writers: &BTreeSet<u32>) -> Self {
        let (mut kept, mut numbers) = (Self::default(), HashMap::new());
        for commit in self.commits.iter().filter(|commit| writers.contains(&commit.writer)) {
            let Some(bytes) = self.all.get(commit.segment as usize) else { continue };
            let segment = *numbers.entry(commit.segment).or_insert_with(|| {
                kept.all.push(Arc::clone(bytes));
                kept.all.len() as u32 - 1
            });
            kept.commits.push(Commit { segment, ..*commit });
        }
        kept
    }

    /// Each commit with its writer and the place of its first entry.
    pub(super) fn commits(&self) -> impl Iterator<Item = (u32, Place, LogCommit<'_>)> {
        self.commits.iter().zip(0u32..).filter_map(|(of, commit)| {
            let Commit { sequence, writer, segment, offset, bytes } = *of;
            let body =
                self.all.get(segment as usize)?.get(offset as usize..)?.get(..bytes as usize)?;
            let read = LogCommit::read(sequence, body)?;
            Some((writer, Place { commit, offset: offset + read.prelude.len() as u32 }, read))
        })
    }

    #[inline]
    pub(crate) fn at(&self, place: Place) -> Option<MemtableEntry<'_>> {
        let Commit { sequence, segment, writer, .. } = *self.commits.get(place.commit as usize)?;
        let bytes = self.all.get(segment as usize)?.get(place.offset as usize..)?;
        Some(MemtableEntry { sequence, writer, place, bytes })
    }

    #[inline]
    fn key(&self, place: Place) -> Option<&[u8]> {
        self.at(place)?.entry().map(|entry| entry.key)
    }

    fn sequence(&self, place: Place) -> u64 {
        self.commits.get(place.commit as usize).map_or(0, |commit| commit.sequence)
    }
}

impl<'a> MemtableEntry<'a> {
    /// `None` = the bytes do not begin with an entry.
    #[inline]
    pub(crate) fn entry(&self) -> Option<Entry<'a>> {
        Entry::read(&mut Reader::new(self.bytes))
    }
}

impl Place {
    /// The place after an entry of this many bytes.
    pub(super) fn after(self, bytes: usize) -> Self {
        Self { offset: self.offset + bytes as u32, ..self }
    }
}

impl Memtable {
    /// A copy of the entries; lookups in it build an index of its own.
    pub(super) fn snapshot(&self) -> Self {
        Self { entries: self.entries.clone(), index: RwLock::default() }
    }

    pub(super) fn reserve(&mut self, count: usize) {
        self.entries.reserve(count);
    }

    pub(super) fn add(&mut self, key: &[u8], place: Place) {
        self.entries.push((upper(key_hash(key)), place));
    }

    /// The newest entry of a key.
    #[inline]
    pub(super) fn get<'a>(
        &self,
        segments: &'a Segments,
        hash: u64,
        key: &[u8],
    ) -> Option<MemtableEntry<'a>> {
        if self.entries.is_empty() {
            return None;
        }
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        if index.covered == self.entries.len() {
            return index.find(segments, hash, key);
        }
        drop(index);
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.cover(&self.entries, segments);
        index.find(segments, hash, key)
    }

    /// Sorts the entries by hash; entries of equal hash keep their order of arrival.
    pub(super) fn sort(&mut self) {
        self.entries.sort_unstable();
    }

    /// Sorted entries with hashes from `from` up to but not including `end`.
    pub(super) fn window(&self, from: u64, end: u64) -> &[(u32, Place)] {
        let before =
            |hash: u64| self.entries.partition_point(|(other, _)| u64::from(*other) < hash);
        self.entries.get(before(from)..before(end)).unwrap_or_default()
    }

    /// Number of entries read from this memtable.
    pub(super) fn reads(&self) -> u64 {
        self.index.read().unwrap_or_else(PoisonError::into_inner).usage.count()
    }

    /// Calls `each` with the hash and sequence number of every entry read from this memtable.
    pub(super) fn each_read(&self, segments: &Segments, mut each: impl FnMut(u32, u64)) {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        for place in index.usage.iter().filter_map(|slot| index.places.get(slot)) {
            if let Some(key) = segments.key(place) {
                each(upper(key_hash(key)), segments.sequence(place));
            }
        }
    }

    /// All entries, overwritten ones included.
    pub(super) fn iter<'a>(
        &'a self,
        segments: &'a Segments,
    ) -> impl Iterator<Item = (u32, MemtableEntry<'a>)> {
        self.entries.iter().filter_map(|(hash, place)| Some((*hash, segments.at(*place)?)))
    }
}

impl Index {
    fn find<'a>(&self, segments: &'a Segments, hash: u64, key: &[u8]) -> Option<MemtableEntry<'a>> {
        let (slot, place) = self.places.find_at(hash, key, |place| segments.key(*place))?;
        self.usage.set(slot);
        segments.at(place)
    }

    fn cover(&mut self, entries: &[(u32, Place)], segments: &Segments) {
        for (_, place) in entries.get(self.covered..).unwrap_or_default() {
            let Some(key) = segments.key(*place) else { continue };
            let kept = self.places.entry(key_hash(key), key, |other| segments.key(*other), *place);
            if segments.sequence(*place) >= segments.sequence(*kept) {
                *kept = *place;
            }
        }
        self.covered = entries.len();
        self.usage.grow(self.places.len());
    }
}
