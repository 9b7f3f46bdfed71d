//! The rows have the places of a table's blocks, the directory has the checksums of the rows, and the footer has the
//! place of the directory, directly after the rows.
//!
//! ```text
//! rows:      n x row of a key block, m x row of a value block:
//!                (u64 checksum | u64 offset | u32 stored bytes | u32 raw bytes)
//! directory: n x u32 upper half of the first hash of a key block
//!            u64 checksum of each page of rows: 128 of key blocks, and then 128 of value blocks, the last ones fewer
//!            f x blob that entries name, sorted: 32 bytes digest, u64 bytes
//! footer, 96 bytes:
//! 0  "varvetbl"          8  u32 format         12 u32 key blocks     16 u32 value blocks    20 u32 files
//! 24 u64 entries         32 u64 deletes        40 u64 sequence min   48 u64 sequence max
//! 56 u64 offset of the directory               64 u64 key bytes      72 u64 value bytes
//! 80 u64 checksum of the directory             88 u64 checksum of the 88 bytes before
//! ```
//! A block is compressed if, and only if, it is stored in fewer bytes than it has.

use crate::format::FORMAT;
use crate::format::VALUE_BYTES_MAX;
use crate::format::blob_refs::{BLOB_REF_BYTES, read_blob_refs};
use crate::format::bytes::Reader;
use crate::format::checksum::{Checksum, Kind};
use crate::format::digest::BlobRef;
use crate::format::file_start::TABLE_START;
use crate::format::lz4;
use crate::format::search;
use crate::table::key_block::ENTRIES_MAX;

pub(crate) const FOOTER_BYTES: usize = 96;
const HASH_BYTES: usize = 4;
const ROW_BYTES: usize = 24;
const SUM_BYTES: usize = 8;

/// Most rows of a page, and their bytes.
pub(super) const PAGE_ROWS: usize = 128;
pub(super) const PAGE_BYTES_MAX: usize = PAGE_ROWS * ROW_BYTES;
/// Every key block but the last has at least this: the hashes of its most entries, or longer keys and values.
const KEY_BLOCK_BYTES_MIN: u64 = (ENTRIES_MAX * HASH_BYTES) as u64;

/// Longest valid block before compression.
const RAW_BYTES_MAX: u32 = (VALUE_BYTES_MAX + (1 << 20)) as u32;

/// One block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockRow {
    pub(crate) checksum: u64,
    pub(crate) offset: u64,
    pub(crate) stored_bytes: u32,
    pub(crate) raw_bytes: u32,
}

impl BlockRow {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.checksum.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.stored_bytes.to_le_bytes());
        out.extend_from_slice(&self.raw_bytes.to_le_bytes());
    }

    /// Whether the block is compressed.
    pub(crate) fn is_packed(self) -> bool {
        self.stored_bytes != self.raw_bytes
    }

    /// Reads a row; refuses sizes that compression cannot produce.
    fn read(bytes: &mut Reader<'_>) -> Option<Self> {
        let row = Self {
            checksum: bytes.u64()?,
            offset: bytes.u64()?,
            stored_bytes: bytes.u32()?,
            raw_bytes: bytes.u32()?,
        };
        let believable = row.stored_bytes <= row.raw_bytes && row.raw_bytes <= RAW_BYTES_MAX;
        (believable && u64::from(row.raw_bytes) <= lz4::raw_bytes_max(row.stored_bytes.into()))
            .then_some(row)
    }
}

/// Totals and places, at the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) key_blocks: u32,
    pub(crate) value_blocks: u32,
    pub(crate) blobs: u32,
    pub(crate) entries: u64,
    pub(crate) deletes: u64,
    pub(crate) sequence_min: u64,
    pub(crate) sequence_max: u64,
    pub(crate) directory_offset: u64,
    pub(crate) key_bytes: u64,
    pub(crate) value_bytes: u64,
    pub(crate) directory_checksum: u64,
}

impl Footer {
    /// The footer's bytes; the last eight are the root checksum.
    pub(crate) fn write(&self, checksum: &Checksum) -> (Vec<u8>, u64) {
        let mut out = Vec::with_capacity(FOOTER_BYTES);
        out.extend_from_slice(TABLE_START);
        for number in [FORMAT, self.key_blocks, self.value_blocks, self.blobs] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [
            self.entries,
            self.deletes,
            self.sequence_min,
            self.sequence_max,
            self.directory_offset,
            self.key_bytes,
            self.value_bytes,
            self.directory_checksum,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let root = checksum.of_part(Kind::Footer, 0, &out);
        out.extend_from_slice(&root.to_le_bytes());
        (out, root)
    }

    pub(crate) fn read(bytes: &[u8], root: u64, checksum: &Checksum) -> Option<Self> {
        let (head, tail) = bytes.split_last_chunk::<8>()?;
        if u64::from_le_bytes(*tail) != root || checksum.of_part(Kind::Footer, 0, head) != root {
            return None;
        }
        Self::parse(head)
    }

    /// Parses the 88 bytes before the root checksum.
    pub(crate) fn parse(head: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(head);
        let known = reader.take(8)? == TABLE_START && reader.u32()? == FORMAT;
        let (key_blocks, value_blocks, blobs) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let footer = Self {
            key_blocks,
            value_blocks,
            blobs,
            entries: reader.amount()?,
            deletes: reader.amount()?,
            sequence_min: reader.u64()?,
            sequence_max: reader.u64()?,
            directory_offset: reader.amount()?,
            key_bytes: reader.amount()?,
            value_bytes: reader.amount()?,
            directory_checksum: reader.u64()?,
        };
        known.then_some(footer)
    }

    pub(crate) fn directory_bytes(&self) -> u64 {
        let pages = [self.key_blocks, self.value_blocks]
            .map(|rows| u64::from(rows).div_ceil(PAGE_ROWS as u64));
        u64::from(self.key_blocks) * HASH_BYTES as u64
            + pages.iter().sum::<u64>() * SUM_BYTES as u64
            + u64::from(self.blobs) * BLOB_REF_BYTES as u64
    }

    /// Where the rows begin and the blocks end. `None` = a writer makes fewer blocks of so many bytes. Otherwise a
    /// forged footer of a sparse file could describe a directory of gigabytes.
    pub(crate) fn rows_offset(&self) -> Option<u64> {
        let rows = u64::from(self.key_blocks) + u64::from(self.value_blocks);
        let offset = self.directory_offset.checked_sub(rows * ROW_BYTES as u64)?;
        let key_bytes = u64::from(self.key_blocks).saturating_sub(1) * KEY_BLOCK_BYTES_MIN;
        (offset >= key_bytes + u64::from(self.value_blocks)).then_some(offset)
    }
}

/// The kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocks {
    Keys,
    Values,
}

/// Place of some rows in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct PagePlace {
    pub(super) offset: u64,
    pub(super) bytes: usize,
    checksum: u64,
}

/// Appends rows page by page to `rows`, which begins at `offset` of the file, and the checksum of each page to `sums`.
pub(super) fn write_rows(
    pages: &[BlockRow],
    (offset, checksum): (u64, &Checksum),
    rows: &mut Vec<u8>,
    sums: &mut Vec<u8>,
) {
    for page in pages.chunks(PAGE_ROWS) {
        let start = rows.len();
        page.iter().for_each(|row| row.write(rows));
        let bytes = rows.get(start..).unwrap_or_default();
        sums.extend_from_slice(
            &checksum.of_part(Kind::Rows, offset + start as u64, bytes).to_le_bytes(),
        );
    }
}

/// Replaces the checksums of blocks in their rows by those of `sum_of`, and those of the pages in the directory:
/// see `reseal.rs`.
#[cfg(any(test, feature = "sim"))]
pub(crate) fn reseal_rows(
    rows: &mut [u8],
    directory: &mut [u8],
    footer: &Footer,
    checksum: &Checksum,
    sum_of: impl Fn(u64, u32) -> Option<u64>,
) {
    for row in rows.as_chunks_mut::<ROW_BYTES>().0 {
        let mut reader = Reader::new(row);
        let place = (reader.u64(), reader.u64(), reader.u32());
        if let (_, Some(offset), Some(stored_bytes)) = place
            && let Some(sum) = sum_of(offset, stored_bytes)
            && let Some(target) = row.first_chunk_mut()
        {
            *target = sum.to_le_bytes();
        }
    }
    let (keys, values) = rows.split_at(rows.len().min(footer.key_blocks as usize * ROW_BYTES));
    let pages = keys.chunks(PAGE_ROWS * ROW_BYTES).chain(values.chunks(PAGE_ROWS * ROW_BYTES));
    let sums = directory.get_mut(footer.key_blocks as usize * HASH_BYTES..).unwrap_or_default();
    let mut offset = footer.rows_offset().unwrap_or_default();
    for (page, sum) in pages.zip(sums.as_chunks_mut::<SUM_BYTES>().0) {
        *sum = checksum.of_part(Kind::Rows, offset, page).to_le_bytes();
        offset += page.len() as u64;
    }
}

/// A verified directory in memory.
#[derive(Debug)]
pub(crate) struct Directory {
    first_hashes: Vec<u32>,
    /// Checksums of the pages of rows, those of key blocks first.
    sums: Vec<u64>,
    blobs: Vec<u8>,
    rows_offset: u64,
    pub(crate) key_blocks: usize,
    pub(crate) value_blocks: usize,
}

impl Directory {
    /// Verifies the bytes of a directory against its footer.
    pub(crate) fn new(bytes: &[u8], footer: &Footer, checksum: &Checksum) -> Option<Self> {
        let checks = checksum.of_part(Kind::Directory, 0, bytes) == footer.directory_checksum;
        if bytes.len() as u64 != footer.directory_bytes() || !checks {
            return None;
        }
        let (key_blocks, value_blocks) = (footer.key_blocks as usize, footer.value_blocks as usize);
        let pages = key_blocks.div_ceil(PAGE_ROWS) + value_blocks.div_ceil(PAGE_ROWS);
        let (hashes, rest) = bytes.split_at_checked(key_blocks * HASH_BYTES)?;
        let (sums, blobs) = rest.split_at_checked(pages * SUM_BYTES)?;
        Some(Self {
            first_hashes: hashes
                .as_chunks()
                .0
                .iter()
                .map(|hash| u32::from_le_bytes(*hash))
                .collect(),
            sums: sums.as_chunks().0.iter().map(|sum| u64::from_le_bytes(*sum)).collect(),
            blobs: blobs.to_vec(),
            rows_offset: footer.rows_offset()?,
            key_blocks,
            value_blocks,
        })
    }

    /// The page of rows with this number among those of a kind.
    pub(super) fn page(&self, blocks: Blocks, number: usize) -> Option<PagePlace> {
        let (before, rows) = match blocks {
            Blocks::Keys => (0, self.key_blocks),
            Blocks::Values => (self.key_blocks, self.value_blocks),
        };
        let checksum = *self.sums.get(before.div_ceil(PAGE_ROWS) + number)?;
        let first = number * PAGE_ROWS;
        let bytes = rows.checked_sub(first)?.min(PAGE_ROWS) * ROW_BYTES;
        Some(PagePlace {
            offset: self.rows_offset + ((before + first) * ROW_BYTES) as u64,
            bytes,
            checksum,
        })
    }

    /// Verifies the bytes of a page. All its blocks are before the rows.
    pub(super) fn rows(
        &self,
        page: PagePlace,
        bytes: &[u8],
        checksum: &Checksum,
    ) -> Option<Vec<BlockRow>> {
        let checks = checksum.of_part(Kind::Rows, page.offset, bytes) == page.checksum;
        if !checks {
            return None;
        }
        let inside = |row: BlockRow| {
            let end = row.offset.checked_add(row.stored_bytes.into())?;
            (end <= self.rows_offset).then_some(row)
        };
        bytes
            .as_chunks::<ROW_BYTES>()
            .0
            .iter()
            .map(|row| inside(BlockRow::read(&mut Reader::new(row))?))
            .collect()
    }

    /// First hash of a key block; `None` past the last one.
    #[inline]
    pub(crate) fn first_hash(&self, index: usize) -> Option<u32> {
        self.first_hashes.get(index).copied()
    }

    /// First hashes of a key block and the next one.
    #[inline]
    pub(crate) fn bounds(&self, index: usize) -> (u32, u32) {
        (self.first_hash(index).unwrap_or(0), self.first_hash(index + 1).unwrap_or(u32::MAX))
    }

    /// Every blob that an entry of the table names, once.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = BlobRef> {
        read_blob_refs(&self.blobs)
    }

    /// The first key block that may have `hash`: the one before the first that begins with it.
    pub(crate) fn first_block_of(&self, hash: u32) -> usize {
        self.first_hashes.partition_point(|first| *first < hash).saturating_sub(1)
    }

    /// The last key block that may have `hash`: the last one that does not begin after it. If it begins with this hash,
    /// blocks before it may have the hash, too. The position is guessed from the hash.
    #[inline]
    pub(crate) fn key_block_of(&self, hash: u32) -> Option<usize> {
        let hashes = self.first_hashes.as_slice();
        let guess = (u64::from(hash) * hashes.len() as u64) >> 32;
        // Not after it means below the next hash.
        let next = hash.checked_add(1);
        let begun = next.map_or(hashes.len(), |next| {
            search::count_below(hashes, |first| first, next, guess as usize)
        });
        begun.checked_sub(1)
    }
}
