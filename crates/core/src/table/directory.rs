//! Where the blocks of a table are, and the footer that says where the directories are.
//!
//! ```text
//! key directory:   n x (u64 first hash | u64 checksum | u64 offset | u32 stored bytes | u32 raw bytes)
//! value directory: m x (                 u64 checksum | u64 offset | u32 stored bytes | u32 raw bytes)
//! footer, 96 bytes:
//! 0  "varvetbl"          8  u32 format         12 u32 key blocks     16 u32 value blocks    20 u32 zero
//! 24 u64 entries         32 u64 deletes        40 u64 order min      48 u64 order max
//! 56 u64 offset of the key directory           64 u64 key bytes      72 u64 value bytes
//! 80 u64 checksum of both directories          88 u64 checksum of the 88 bytes before
//! ```
//! A block is compressed if, and only if, it is stored in fewer bytes than it has.

use crate::format::FORMAT;
use crate::format::VALUE_BYTES_MAX;
use crate::format::bytes::Reader;
use crate::format::hash::checksum;

pub(crate) const FOOTER_BYTES: usize = 96;
pub(crate) const KEY_ROW_BYTES: usize = 32;
pub(crate) const VALUE_ROW_BYTES: usize = 24;
const MAGIC: &[u8; 8] = b"varvetbl";

/// Longest block before compression that is believed.
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

    /// LZ4 cannot shrink more than 255-fold, so a row that says so is not believed.
    fn read(bytes: &mut Reader<'_>) -> Option<Self> {
        let row =
            Self { checksum: bytes.u64()?, offset: bytes.u64()?, stored_bytes: bytes.u32()?, raw_bytes: bytes.u32()? };
        let bound = u64::from(row.stored_bytes) * 255 + 64;
        let believable = row.stored_bytes <= row.raw_bytes && row.raw_bytes <= RAW_BYTES_MAX;
        (believable && u64::from(row.raw_bytes) <= bound).then_some(row)
    }
}

/// Totals and places, from the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) key_blocks: u32,
    pub(crate) value_blocks: u32,
    pub(crate) entries: u64,
    pub(crate) deletes: u64,
    pub(crate) order_min: u64,
    pub(crate) order_max: u64,
    pub(crate) directory_offset: u64,
    pub(crate) key_bytes: u64,
    pub(crate) value_bytes: u64,
    pub(crate) directory_checksum: u64,
}

impl Footer {
    /// The footer's bytes; the last eight are the root checksum.
    pub(crate) fn write(&self) -> (Vec<u8>, u64) {
        let mut out = Vec::with_capacity(FOOTER_BYTES);
        out.extend_from_slice(MAGIC);
        for number in [FORMAT, self.key_blocks, self.value_blocks, 0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [
            self.entries,
            self.deletes,
            self.order_min,
            self.order_max,
            self.directory_offset,
            self.key_bytes,
            self.value_bytes,
            self.directory_checksum,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let root = checksum(0, &out);
        out.extend_from_slice(&root.to_le_bytes());
        (out, root)
    }

    pub(crate) fn read(bytes: &[u8], root: u64) -> Option<Self> {
        let (head, tail) = bytes.split_last_chunk::<8>()?;
        if u64::from_le_bytes(*tail) != root || checksum(0, head) != root {
            return None;
        }
        let mut reader = Reader::new(head);
        let known = reader.take(8)? == MAGIC && reader.u32()? == FORMAT;
        let (key_blocks, value_blocks, _) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let footer = Self {
            key_blocks,
            value_blocks,
            entries: reader.u64()?,
            deletes: reader.u64()?,
            order_min: reader.u64()?,
            order_max: reader.u64()?,
            directory_offset: reader.u64()?,
            key_bytes: reader.u64()?,
            value_bytes: reader.u64()?,
            directory_checksum: reader.u64()?,
        };
        known.then_some(footer)
    }

    pub(crate) fn directory_bytes(&self) -> u64 {
        u64::from(self.key_blocks) * KEY_ROW_BYTES as u64 + u64::from(self.value_blocks) * VALUE_ROW_BYTES as u64
    }
}

/// Both directories of a table, in memory, verified.
#[derive(Debug)]
pub(crate) struct Directory {
    bytes: Vec<u8>,
    pub(crate) key_blocks: usize,
    pub(crate) value_blocks: usize,
}

impl Directory {
    /// `bytes` are the directories as the footer describes them.
    pub(crate) fn new(bytes: Vec<u8>, footer: &Footer) -> Option<Self> {
        let sound = bytes.len() as u64 == footer.directory_bytes() && checksum(0, &bytes) == footer.directory_checksum;
        sound.then_some(Self {
            bytes,
            key_blocks: footer.key_blocks as usize,
            value_blocks: footer.value_blocks as usize,
        })
    }

    /// First hash of a key block; past the last block, the end of all hashes.
    #[inline]
    pub(crate) fn first_hash(&self, index: usize) -> u64 {
        let row = (index < self.key_blocks).then(|| self.bytes.get(index * KEY_ROW_BYTES..)).flatten();
        row.and_then(|row| row.first_chunk()).map_or(u64::MAX, |hash| u64::from_le_bytes(*hash))
    }

    pub(crate) fn key_row(&self, index: usize) -> Option<BlockRow> {
        if index >= self.key_blocks {
            return None;
        }
        BlockRow::read(&mut Reader::new(self.bytes.get(index * KEY_ROW_BYTES + 8..)?))
    }

    pub(crate) fn value_row(&self, index: usize) -> Option<BlockRow> {
        if index >= self.value_blocks {
            return None;
        }
        let start = self.key_blocks * KEY_ROW_BYTES + index * VALUE_ROW_BYTES;
        BlockRow::read(&mut Reader::new(self.bytes.get(start..)?))
    }

    /// The only key block that can hold `hash`: the last one that does not begin after it. Equal hashes never straddle
    /// two blocks. Guessed by interpolation, then walked.
    #[inline]
    pub(crate) fn key_block_of(&self, hash: u64) -> Option<usize> {
        let (first, last) = (self.first_hash(0), self.first_hash(self.key_blocks.checked_sub(1)?));
        if hash < first {
            return None;
        }
        let span = (last - first).max(1);
        let guess = u128::from(hash - first) * (self.key_blocks as u128 - 1) / u128::from(span);
        let mut index = (guess as usize).min(self.key_blocks - 1);
        let mut steps = 0;
        while self.first_hash(index) > hash && steps < 8 {
            index -= 1;
            steps += 1;
        }
        while index + 1 < self.key_blocks && self.first_hash(index + 1) <= hash && steps < 8 {
            index += 1;
            steps += 1;
        }
        let found =
            self.first_hash(index) <= hash && (index + 1 >= self.key_blocks || self.first_hash(index + 1) > hash);
        Some(if found { index } else { self.bisect(hash) })
    }

    /// For hashes that are not spread evenly, as an attacker could choose them.
    fn bisect(&self, hash: u64) -> usize {
        let (mut low, mut high) = (0, self.key_blocks);
        while low < high {
            let middle = low.midpoint(high);
            if self.first_hash(middle) <= hash { low = middle + 1 } else { high = middle }
        }
        low.saturating_sub(1)
    }
}
