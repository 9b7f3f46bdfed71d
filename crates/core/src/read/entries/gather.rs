//! Gathers the entries of all sources, one range of hashes at a time.

use crate::batch::Batch;
use crate::format::entry::{Entry, Kind};
use crate::format::hash_sort;
use crate::format::hash_sort::{Item, item};
use crate::state::{MemtableEntry, Place, Segments};
use crate::table::{Hole, Keys, ScanStored, Table, TableScan};
use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

/// Approximate entries of a range. Their hashes and places, 8 bytes each, fit into the L1 cache while they are sorted.
const RANGE_ENTRIES: u64 = 8 << 10;

/// Bits of an index within a chunk; the rest of a place is the number of the chunk.
const CHUNK_BITS: u32 = 8;
const CHUNK_ENTRIES: usize = 1 << CHUNK_BITS;

/// Number of hashes: the end of the last range.
pub(crate) const HASHES: u64 = 1 << 32;

/// Buffered entries have no sequence number yet; this one is higher than that of any commit.
pub(super) const BATCH_SEQUENCE: u64 = u64::MAX - (1 << 20);

/// Hashes and places of entries in memory, by hash; entries of equal hash are in order of arrival.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    owner: Owner<'a>,
    all: Cow<'a, [(u32, Place)]>,
}

/// The memory that the places refer to.
#[derive(Clone, Debug)]
enum Owner<'a> {
    Logs(&'a Segments),
    Shared(Arc<Segments>),
    /// All entries have this sequence number.
    Batch(&'a Batch, u64),
}

impl<'a> Places<'a> {
    fn entry(&self, index: usize) -> Option<(u64, Entry<'_>)> {
        let (_, place) = self.all.get(index)?;
        let segments = match &self.owner {
            Owner::Logs(segments) => segments,
            Owner::Shared(segments) => &**segments,
            Owner::Batch(batch, sequence) => {
                return Some((*sequence, batch.entry_at(place.offset)?));
            }
        };
        segments.at(*place).and_then(|found| Some((found.sequence, found.entry()?)))
    }
}

/// One source of entries.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    Memory(Places<'a>),
    Table(Arc<Table>),
}

impl<'a> Source<'a> {
    /// Memtable entries in order of arrival.
    pub(crate) fn memtable(
        logs: &'a Segments,
        found: impl Iterator<Item = (u32, MemtableEntry<'a>)>,
    ) -> Self {
        // Reserve room for all entries at once.
        let mut all = Vec::with_capacity(found.size_hint().1.unwrap_or(0));
        all.extend(found.map(|(hash, found)| (hash, found.place)));
        hash_sort::sort(&mut all, &mut Vec::new());
        Self::Memory(Places { owner: Owner::Logs(logs), all: all.into() })
    }

    /// Memtable entries sorted by hash, then by arrival; the source owns its places and shares the segments.
    pub(crate) fn sorted_memtable(logs: &Arc<Segments>, places: &[(u32, Place)]) -> Self {
        Self::Memory(Places { owner: Owner::Shared(Arc::clone(logs)), all: places.to_vec().into() })
    }

    /// Buffered entries, newer than all commits; of two such sources the one with the higher rank is newer.
    pub(crate) fn batch(batch: &'a Batch, number: u32, rank: u64) -> Self {
        let mut all = Vec::new();
        let Ok(()) = batch.sorted_places::<Infallible>(number, |hash, offset| {
            all.push((hash, Place { commit: 0, offset }));
            Ok(())
        });
        Self::Memory(Places { owner: Owner::Batch(batch, BATCH_SEQUENCE + rank), all: all.into() })
    }

    fn entries(&self) -> u64 {
        match self {
            Self::Memory(places) => places.all.len() as u64,
            Self::Table(table) => table.entries(),
        }
    }
}

/// Up to 256 consecutive entries of one source.
#[derive(Clone, Debug)]
enum Chunk<'a> {
    Memory { places: Arc<Places<'a>>, start: usize },
    Table { keys: Arc<Keys>, table: Arc<Table>, source: u32 },
}

/// An entry whose value is not read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'r> {
    pub(super) key: &'r [u8],
    pub(super) sequence: u64,
    pub(super) stored: ScanStored<'r>,
    /// The table of the entry, and the number of its source.
    pub(super) table: Option<(&'r Table, u32)>,
}

/// All entries of a range of hashes, in order of the hashes.
#[derive(Debug)]
pub(crate) struct Range<'a> {
    pub(super) items: Vec<Item>,
    /// Number of items already visited.
    pub(super) passed: usize,
    /// The hash whose items are sorted by key already, newest first.
    pub(super) by_key: Option<u32>,
    chunks: Vec<Chunk<'a>>,
    /// Holes of all sources up to the end of this range.
    pub(super) holes: Vec<Hole>,
}

impl Range<'_> {
    /// The entry of an item. `None` = its block has a correct checksum but no valid layout.
    #[inline(always)]
    pub(super) fn row(&self, item: Item) -> Option<Row<'_>> {
        let place = item as u32;
        let index = place as usize % CHUNK_ENTRIES;
        match self.chunks.get((place >> CHUNK_BITS) as usize)? {
            Chunk::Table { keys, table, source } => {
                let sequence = table.sequence(keys, index)?;
                let (key, stored) = keys.layout.entry(&keys.bytes, index)?;
                Some(Row { key, sequence, stored, table: Some((table, *source)) })
            }
            Chunk::Memory { places, start } => {
                let (sequence, entry) = places.entry(start + index)?;
                let stored = match entry.kind {
                    Kind::Put => ScanStored::Inline(entry.value),
                    Kind::PutWithBlobs => ScanStored::WithBlobs(entry.value),
                    Kind::Delete | Kind::Attach => ScanStored::Deleted,
                };
                Some(Row { key: entry.key, sequence, stored, table: None })
            }
        }
    }

    /// Bytes of memory that the range takes.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = |chunk: &Chunk<'_>| {
            if let Chunk::Table { keys, .. } = chunk { keys.bytes.len() } else { 0 }
        };
        self.chunks.iter().map(bytes).sum::<usize>() + self.items.len() * size_of::<Item>()
    }
}

/// Divides all entries into ranges.
#[derive(Debug)]
pub(crate) struct Ranges<'a> {
    cursors: Vec<Cursor<'a>>,
    from: u64,
    width: u64,
    holes: Vec<Hole>,
    scratch: Vec<Item>,
}

#[derive(Debug)]
struct Cursor<'a> {
    next: Next<'a>,
    /// The current chunk, and the position in it.
    chunk: Option<Chunk<'a>>,
    at: usize,
}

/// The source of the next chunk.
#[derive(Debug)]
enum Next<'a> {
    Memory { places: Arc<Places<'a>>, start: usize },
    Table { scan: TableScan, source: u32 },
}

impl<'a> Ranges<'a> {
    /// Entries with hashes from `from` on.
    pub(crate) fn new(sources: Vec<Source<'a>>, from: u32) -> Self {
        let entries: u64 = sources.iter().map(Source::entries).sum();
        let width =
            (u128::from(HASHES) * u128::from(RANGE_ENTRIES) / u128::from(entries.max(1))) as u64;
        let mut holes = Vec::new();
        let mut cursors = Vec::new();
        for (index, source) in sources.into_iter().enumerate() {
            let next = match source {
                Source::Memory(places) => {
                    let start = places.all.partition_point(|(hash, _)| *hash < from);
                    Next::Memory { places: Arc::new(places), start }
                }
                Source::Table(table) => {
                    Next::Table { scan: TableScan::new(table, from), source: index as u32 }
                }
            };
            let mut cursor = Cursor { next, chunk: None, at: 0 };
            cursor.load(&mut holes);
            cursor.skip_to(from, &mut holes);
            cursors.push(cursor);
        }
        Self { cursors, from: u64::from(from), width: width.max(1), holes, scratch: Vec::new() }
    }

    /// The holes of all ranges so far.
    pub(crate) fn holes(&self) -> &[Hole] {
        &self.holes
    }

    /// All remaining entries with hashes below `end`.
    pub(crate) fn up_to(&mut self, end: u64) -> Range<'a> {
        let mut items = Vec::with_capacity(RANGE_ENTRIES as usize * 5 / 4);
        let mut chunks = Vec::with_capacity(self.cursors.len() * 2);
        for cursor in &mut self.cursors {
            cursor.gather(end, &mut items, &mut chunks, &mut self.holes);
        }
        self.from = end;
        hash_sort::sort(&mut items, &mut self.scratch);
        Range { items, passed: 0, by_key: None, chunks, holes: self.holes.clone() }
    }
}

impl<'a> Iterator for Ranges<'a> {
    type Item = Range<'a>;

    fn next(&mut self) -> Option<Range<'a>> {
        while self.cursors.iter().any(|cursor| cursor.chunk.is_some()) {
            let range = self.up_to(self.from.saturating_add(self.width));
            if !range.items.is_empty() {
                return Some(range);
            }
        }
        None
    }
}

impl<'a> Cursor<'a> {
    /// Takes all entries with hashes below `end`.
    fn gather(
        &mut self,
        end: u64,
        items: &mut Vec<Item>,
        chunks: &mut Vec<Chunk<'a>>,
        holes: &mut Vec<Hole>,
    ) {
        while let Some(chunk) = &self.chunk {
            let place = (chunks.len() as u32) << CHUNK_BITS;
            let before = items.len();
            let from = self.at;
            let mut add = |hash: u32, index: usize| {
                let is_in = u64::from(hash) < end;
                if is_in {
                    items.push(item(hash, place | index as u32));
                }
                is_in
            };
            let (count, length) = match chunk {
                Chunk::Table { keys, .. } => {
                    let hashes = keys.layout.hashes(&keys.bytes).iter().enumerate().skip(from);
                    (
                        hashes
                            .take_while(|(index, hash)| add(u32::from_le_bytes(**hash), *index))
                            .count(),
                        keys.layout.count.into(),
                    )
                }
                Chunk::Memory { places, start } => {
                    let piece = places.all.iter().skip(*start).take(CHUNK_ENTRIES).enumerate();
                    let length = (places.all.len() - start).min(CHUNK_ENTRIES);
                    (
                        piece
                            .skip(from)
                            .take_while(|(index, (hash, _))| add(*hash, *index))
                            .count(),
                        length,
                    )
                }
            };
            if items.len() > before {
                chunks.push(chunk.clone());
            }
            self.at += count;
            if self.at < length {
                return;
            }
            self.load(holes);
        }
    }

    /// Moves on to the next chunk.
    fn load(&mut self, holes: &mut Vec<Hole>) {
        self.at = 0;
        self.chunk = match &mut self.next {
            Next::Memory { places, start } => {
                let chunk = Chunk::Memory { places: Arc::clone(places), start: *start };
                let more = *start < places.all.len();
                *start += CHUNK_ENTRIES;
                more.then_some(chunk)
            }
            Next::Table { scan, source } => scan.next(holes).map(|keys| Chunk::Table {
                keys: Arc::new(keys),
                table: Arc::clone(scan.table()),
                source: *source,
            }),
        };
    }

    /// Skips entries with hashes below `from`.
    fn skip_to(&mut self, from: u32, holes: &mut Vec<Hole>) {
        while let Some(Chunk::Table { keys, .. }) = &self.chunk {
            self.at = keys.layout.lower_bound(&keys.bytes, from);
            if self.at < keys.layout.count.into() {
                return;
            }
            self.load(holes);
        }
    }
}
