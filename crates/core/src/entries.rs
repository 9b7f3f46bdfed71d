//! All entries of a namespace in order of (hash, key), each key once with its newest entry: what compaction writes and
//! what a listing shows. A merge of sources that are sorted already.

use crate::format::entry::{Entry, Kind};
use crate::state::MemoryEntry;
use crate::table::{ScanStored, TableScan};
use std::cmp::Ordering;

/// Where entries come from.
pub(crate) enum Source<'a> {
    /// Buffered entries, newer than everything committed; of two such sources the one with the higher rank is newer.
    Batch {
        entries: Vec<(u64, Entry<'a>)>,
        at: usize,
        rank: u64,
    },
    /// Entries of the logs.
    Memory {
        entries: Vec<(u64, MemoryEntry<'a>)>,
        at: usize,
    },
    Table(TableScan),
}

/// Buffered entries have no order yet; this makes them newer than any that has.
const BATCH_ORDER: u64 = u64::MAX - (1 << 20);

impl<'a> Source<'a> {
    pub(crate) fn batch(entries: Vec<(u64, Entry<'a>)>, from: u64, rank: u64) -> Self {
        let at = entries.partition_point(|(hash, _)| *hash < from);
        Self::Batch { entries, at, rank }
    }

    pub(crate) fn memory(entries: Vec<(u64, MemoryEntry<'a>)>, from: u64) -> Self {
        let at = entries.partition_point(|(hash, _)| *hash < from);
        Self::Memory { entries, at }
    }

    /// Hash of the entry it stands at; `None` at the end.
    #[inline]
    fn hash(&self) -> Option<u64> {
        match self {
            Self::Batch { entries, at, .. } => entries.get(*at).map(|(hash, _)| *hash),
            Self::Memory { entries, at } => entries.get(*at).map(|(hash, _)| *hash),
            Self::Table(scan) => scan.hash,
        }
    }

    #[inline]
    fn key(&self) -> &[u8] {
        match self {
            Self::Batch { entries, at, .. } => entries.get(*at).map_or(&[], |(_, entry)| entry.key),
            Self::Memory { entries, at } => entries.get(*at).map_or(&[], |(_, found)| found.entry.key),
            Self::Table(scan) => scan.entry().map_or(&[], |entry| entry.key),
        }
    }

    #[inline]
    fn order(&self) -> u64 {
        match self {
            Self::Batch { rank, .. } => BATCH_ORDER + rank,
            Self::Memory { entries, at } => entries.get(*at).map_or(0, |(_, found)| found.order),
            Self::Table(scan) => scan.entry().map_or(0, |entry| entry.order),
        }
    }

    fn next(&mut self) {
        match self {
            Self::Batch { at, .. } | Self::Memory { at, .. } => *at += 1,
            Self::Table(scan) => scan.next(),
        }
    }

    /// Whether an entry of this hash and order may have been overwritten in a part of this source that is lost.
    fn hides(&self, hash: u64, order: u64) -> bool {
        let Self::Table(scan) = self else { return false };
        let in_hole = |(start, end): &(u64, Option<u64>)| *start <= hash && end.is_none_or(|end| hash < end);
        order <= scan.table().meta.order_max && scan.holes.iter().any(in_hole)
    }

    /// Calls `use_entry` with key and value (`None` = deleted, or lost) of the entry it stands at.
    fn with_value<R>(&self, use_entry: impl FnOnce(&[u8], Option<&[u8]>) -> R) -> R {
        match self {
            Self::Batch { entries, at, .. } => match entries.get(*at) {
                Some((_, entry)) => use_entry(entry.key, entry.live_value()),
                None => use_entry(&[], None),
            },
            Self::Memory { entries, at } => match entries.get(*at) {
                Some((_, found)) => use_entry(found.entry.key, found.entry.live_value()),
                None => use_entry(&[], None),
            },
            Self::Table(scan) => match scan.entry() {
                None => use_entry(&[], None),
                Some(entry) => match entry.stored {
                    ScanStored::Deleted => use_entry(entry.key, None),
                    ScanStored::Inline(bytes) => use_entry(entry.key, Some(bytes)),
                    ScanStored::Placed { block, offset, bytes } => {
                        let value = scan.value(block, offset, bytes);
                        use_entry(entry.key, value.as_ref().map(|value| value.bytes()))
                    }
                },
            },
        }
    }

    /// Lengths of key and value (`None` = deleted) without reading a block of values.
    fn lengths(&self) -> (usize, Option<usize>) {
        let of = |entry: &Entry<'_>| (entry.key.len(), (entry.kind == Kind::Put).then_some(entry.value.len()));
        match self {
            Self::Batch { entries, at, .. } => entries.get(*at).map_or((0, None), |(_, entry)| of(entry)),
            Self::Memory { entries, at } => entries.get(*at).map_or((0, None), |(_, found)| of(&found.entry)),
            Self::Table(scan) => scan.entry().map_or((0, None), |entry| {
                let value = match entry.stored {
                    ScanStored::Deleted => None,
                    ScanStored::Inline(bytes) => Some(bytes.len()),
                    ScanStored::Placed { bytes, .. } => Some(bytes as usize),
                };
                (entry.key.len(), value)
            }),
        }
    }
}

/// Stands at one key after another.
pub(crate) struct Entries<'a> {
    sources: Vec<Source<'a>>,
    hidden_below: u64,
    /// Sources that stand at the present key; the first one has its newest entry.
    same: Vec<usize>,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(sources: Vec<Source<'a>>, hidden_below: u64) -> Self {
        Self { sources, hidden_below, same: Vec::new() }
    }

    /// Goes to the next key; `false` at the end.
    pub(crate) fn next(&mut self) -> bool {
        for index in std::mem::take(&mut self.same) {
            if let Some(source) = self.sources.get_mut(index) {
                source.next();
            }
        }
        let Self { sources, same, .. } = self;
        for (index, source) in sources.iter().enumerate() {
            let Some(hash) = source.hash() else { continue };
            let ordering = match same.first().and_then(|best| sources.get(*best)) {
                None => Ordering::Less,
                Some(best) => Some(hash).cmp(&best.hash()).then_with(|| source.key().cmp(best.key())),
            };
            match ordering {
                Ordering::Less => {
                    same.clear();
                    same.push(index);
                }
                Ordering::Equal => {
                    same.push(index);
                    let newer =
                        same.first().and_then(|best| sources.get(*best)).map(Source::order) < Some(source.order());
                    if newer {
                        let last = same.len() - 1;
                        same.swap(0, last);
                    }
                }
                Ordering::Greater => {}
            }
        }
        !same.is_empty()
    }

    fn newest(&self) -> Option<&Source<'a>> {
        self.sources.get(*self.same.first()?)
    }

    pub(crate) fn hash(&self) -> u64 {
        self.newest().and_then(Source::hash).unwrap_or(u64::MAX)
    }

    pub(crate) fn order(&self) -> u64 {
        self.newest().map_or(0, Source::order)
    }

    /// Older entries of the present key.
    pub(crate) fn shadowed(&self) -> u64 {
        self.same.len().saturating_sub(1) as u64
    }

    /// Whether nobody may see the entry: it is of another version, or a lost part of a table may have overwritten it.
    pub(crate) fn is_hidden(&self) -> bool {
        let (hash, order) = (self.hash(), self.order());
        let is_hidden = order < self.hidden_below.min(BATCH_ORDER);
        is_hidden || self.sources.iter().any(|source| source.hides(hash, order))
    }

    /// Calls `use_entry` with key and value; `None` = deleted, or lost.
    pub(crate) fn with_value<R>(&self, use_entry: impl FnOnce(&[u8], Option<&[u8]>) -> R) -> R {
        match self.newest() {
            Some(source) => source.with_value(use_entry),
            None => use_entry(&[], None),
        }
    }

    /// Lengths of key and value; `None` = deleted.
    pub(crate) fn lengths(&self) -> (usize, Option<usize>) {
        self.newest().map_or((0, None), Source::lengths)
    }
}
