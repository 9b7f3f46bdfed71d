//! Consecutive blocks of a table that have no place in its file yet. One thread fills stretches in order. Then any
//! thread packs each of them, which takes most of the time, and `TableFile` places them in order.

use crate::format::lz4;
use std::ops::Range;

/// A stretch is full at this size. As in turbo-persistence (next.js PR 90542), it makes the cost of a system call
/// negligible and fits into the L2 cache.
const STRETCH_BYTES: usize = 256 << 10;

/// The most memory, for copied and for packed blocks each, that a stretch keeps for other blocks.
const KEPT_BYTES: usize = 1 << 20;

/// The parts that follow the blocks in the file of a table, and an empty one before them.
const ENDING_PARTS: usize = 4;

/// Blocks in the order of the table.
#[derive(Debug, Default)]
pub(crate) struct Stretch<'v> {
    /// Blocks that were copied.
    raw: Vec<u8>,
    /// Packed blocks, up to `packed_bytes`. The rest was cleared once and is not cleared again.
    packed: Vec<u8>,
    packed_bytes: usize,
    blocks: Vec<Block<'v>>,
    bytes: usize,
}

#[derive(Debug)]
struct Block<'v> {
    row: RowOf,
    raw_bytes: usize,
    bytes: Bytes<'v>,
}

/// The row that a block gets in the directory.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowOf {
    /// The next one of a key block.
    Keys,
    /// That of a value block with this number.
    Values(u32),
}

#[derive(Clone, Debug)]
enum Bytes<'v> {
    /// In `raw`, to be packed if that pays.
    Raw(Range<usize>),
    /// The same in memory of the caller.
    Staying(&'v [u8]),
    /// In `raw`, as the file will have them.
    Stored(Range<usize>),
    /// In `packed`.
    Packed(Range<usize>),
}

impl<'v> Stretch<'v> {
    /// Bytes of the blocks so far.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= STRETCH_BYTES
    }

    /// Adds a block that `fill` appends to the bytes, and that is not packed.
    pub(super) fn add_with(&mut self, row: RowOf, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.raw.len();
        fill(&mut self.raw);
        let range = start..self.raw.len();
        self.add(row, range.len(), range.len(), Bytes::Stored(range));
    }

    /// Adds a block to be packed.
    pub(super) fn add_raw(&mut self, row: RowOf, bytes: &[u8]) {
        let range = self.copy(bytes);
        self.add(row, bytes.len(), bytes.len(), Bytes::Raw(range));
    }

    /// Adds a block to be packed without a copy.
    pub(super) fn add_staying(&mut self, row: RowOf, bytes: &'v [u8]) {
        self.add(row, bytes.len(), bytes.len(), Bytes::Staying(bytes));
    }

    /// Adds a block as another table stores it.
    pub(super) fn add_stored(&mut self, row: RowOf, raw_bytes: usize, stored: &[u8]) {
        let range = self.copy(stored);
        self.add(row, raw_bytes, stored.len(), Bytes::Stored(range));
    }

    fn copy(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.raw.len();
        self.raw.extend_from_slice(bytes);
        start..self.raw.len()
    }

    fn add(&mut self, row: RowOf, raw_bytes: usize, kept_bytes: usize, bytes: Bytes<'v>) {
        self.blocks.push(Block { row, raw_bytes, bytes });
        self.bytes += kept_bytes;
    }

    /// Compresses the blocks for which that pays.
    pub(crate) fn pack(&mut self) {
        for block in &mut self.blocks {
            let raw = match &block.bytes {
                Bytes::Raw(range) => self.raw.get(range.clone()).unwrap_or_default(),
                Bytes::Staying(bytes) => bytes,
                Bytes::Stored(_) | Bytes::Packed(_) => continue,
            };
            let start = self.packed_bytes;
            if let Some(bytes) = lz4::pack_at(raw, &mut self.packed, start) {
                self.packed_bytes += bytes;
                block.bytes = Bytes::Packed(start..self.packed_bytes);
            }
        }
    }

    /// The row, the bytes and the stored bytes of each block.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (RowOf, usize, &[u8])> {
        self.blocks.iter().map(|block| (block.row, block.raw_bytes, self.stored(&block.bytes)))
    }

    fn stored<'s>(&'s self, bytes: &Bytes<'s>) -> &'s [u8] {
        match bytes {
            Bytes::Raw(range) | Bytes::Stored(range) => self.raw.get(range.clone()),
            Bytes::Packed(range) => self.packed.get(range.clone()),
            Bytes::Staying(bytes) => Some(*bytes),
        }
        .unwrap_or_default()
    }

    /// The stored bytes of all blocks, in as few parts as possible, and room for those of the end of a table.
    pub(super) fn parts(&self) -> Vec<&[u8]> {
        let mut parts = Vec::with_capacity(self.blocks.len() + ENDING_PARTS);
        let mut joined = Bytes::Raw(0..0);
        for block in &self.blocks {
            match (&mut joined, &block.bytes) {
                (Bytes::Packed(last), Bytes::Packed(next))
                | (
                    Bytes::Raw(last) | Bytes::Stored(last),
                    Bytes::Raw(next) | Bytes::Stored(next),
                ) if last.end == next.start => {
                    last.end = next.end;
                }
                (_, next) => {
                    parts.push(self.stored(&joined));
                    joined = next.clone();
                }
            }
        }
        parts.push(self.stored(&joined));
        parts
    }

    /// Discards all blocks and keeps the memory, unless one large value needed it.
    pub(crate) fn clear(&mut self) {
        self.raw.clear();
        self.blocks.clear();
        (self.packed_bytes, self.bytes) = (0, 0);
        self.raw.shrink_to(KEPT_BYTES);
        if self.packed.len() > KEPT_BYTES {
            self.packed = Vec::new();
        }
    }
}
