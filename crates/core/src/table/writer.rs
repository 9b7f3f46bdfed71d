//! Fills the blocks of a table with entries in order of (upper half of the hash, key). A table does not count before a
//! manifest or a commit names it.

use super::TableMeta;
use super::directory::Footer;
use super::file::{Ending, TableFile};
use super::key_block::{ENTRIES_MAX, INLINE_BYTES_MAX, KeyBlockBuilder, NAMES_BLOBS, Stored};
use super::stretch::{RowOf, Stretch};
use crate::format::blob_refs::BlobRefs;
use crate::format::digest::BlobRef;
use std::collections::BTreeSet;
use std::io;

/// A key block is closed at this size, or at its most entries.
const KEY_BLOCK_BYTES: usize = 4 << 10;

/// Smaller values share blocks of [`SHARED_BYTES`]; others have a block of their own.
pub(crate) const OWN_BLOCK_BYTES: usize = 4 << 10;
/// A lookup decompresses the whole block of its value, and longer blocks save little space.
const SHARED_BYTES: usize = 8 << 10;

/// A merge begins another table if this one has so many bytes of keys and values. They are known before blocks are
/// packed, and are the same for the same entries.
const FULL_BYTES: u64 = 2 << 30;

/// The blocks of a table, divided into stretches.
#[derive(Debug)]
pub(crate) struct TableFill<'v> {
    keys: KeyBlockBuilder,
    first_hashes: Vec<u8>,
    value_blocks: u32,
    /// Small values for the next shared block, and the number reserved for it.
    shared: Vec<u8>,
    shared_block: u32,
    /// The blocks so far. The caller replaces it if it is full.
    pub(crate) stretch: Stretch<'v>,
    blobs: BTreeSet<BlobRef>,
    first_hash: u32,
    last_hash: u32,
    footer: Footer,
}

/// Bytes of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueBytes<'b, 'v> {
    /// Valid during the call only.
    Passing(&'b [u8]),
    /// Valid until the table is finished.
    Staying(&'v [u8]),
    /// The block of another table that has only this value. It is not compressed again.
    Block(StoredBlock<'b>),
}

/// A verified block as its table stores it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredBlock<'b> {
    pub(crate) stored: &'b [u8],
    pub(crate) raw_bytes: usize,
}

impl<'b, 'v: 'b> ValueBytes<'b, 'v> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Passing(bytes) | Self::Staying(bytes) => bytes.len(),
            Self::Block(block) => block.raw_bytes,
        }
    }

    /// The value; `None` = it is in a stored block.
    fn raw(self) -> Option<&'b [u8]> {
        match self {
            Self::Passing(bytes) => Some(bytes),
            Self::Staying(bytes) => Some(bytes),
            Self::Block(_) => None,
        }
    }
}

impl<'v> TableFill<'v> {
    pub(crate) fn new() -> Self {
        let footer = Footer {
            key_blocks: 0,
            value_blocks: 0,
            blobs: 0,
            entries: 0,
            deletes: 0,
            sequence_min: u64::MAX,
            sequence_max: 0,
            directory_offset: 0,
            key_bytes: 0,
            value_bytes: 0,
            directory_checksum: 0,
        };
        Self {
            keys: KeyBlockBuilder::default(),
            first_hashes: Vec::new(),
            value_blocks: 0,
            shared: Vec::new(),
            shared_block: 0,
            stretch: Stretch::default(),
            blobs: BTreeSet::new(),
            first_hash: u32::MAX,
            last_hash: 0,
            footer,
        }
    }

    /// Adds an entry; `None` is a delete. Entries are added in order of (hash, key), each key once.
    #[inline]
    pub(crate) fn add<'b>(
        &mut self,
        hash: u32,
        key: &[u8],
        sequence: u64,
        value: Option<ValueBytes<'b, 'v>>,
    ) where
        'v: 'b,
    {
        self.make_room();
        let stored = match value {
            None => Stored::Deleted,
            Some(value) => match value.raw() {
                Some(bytes) if bytes.len() <= INLINE_BYTES_MAX => Stored::Inline(bytes),
                _ => self.place(value),
            },
        };
        self.add_stored(hash, key, sequence, stored, value.map(|value| value.len()));
    }

    /// Adds an entry whose value names blobs.
    #[cold]
    pub(crate) fn add_with_blobs(&mut self, hash: u32, key: &[u8], sequence: u64, value: &[u8]) {
        self.make_room();
        self.blobs.extend(BlobRefs::parse(value).into_iter().flat_map(|refs| refs.blobs()));
        let placed = match self.place(ValueBytes::Passing(value)) {
            Stored::Placed { block, offset, bytes } => {
                Stored::Placed { block: block | NAMES_BLOBS, offset, bytes }
            }
            stored => stored,
        };
        self.add_stored(hash, key, sequence, placed, Some(value.len()));
    }

    #[inline]
    fn make_room(&mut self) {
        if self.keys.len() >= ENTRIES_MAX || self.keys.body_bytes() >= KEY_BLOCK_BYTES {
            self.close_key_block();
        }
    }

    #[inline]
    fn add_stored(
        &mut self,
        hash: u32,
        key: &[u8],
        sequence: u64,
        stored: Stored<'_>,
        value_bytes: Option<usize>,
    ) {
        self.keys.add(hash, key, sequence, stored);
        self.first_hash = self.first_hash.min(hash);
        self.last_hash = hash;
        self.footer.entries += 1;
        self.footer.deletes += u64::from(value_bytes.is_none());
        self.footer.sequence_min = self.footer.sequence_min.min(sequence);
        self.footer.sequence_max = self.footer.sequence_max.max(sequence);
        self.footer.key_bytes += key.len() as u64;
        self.footer.value_bytes += value_bytes.unwrap_or(0) as u64;
    }

    /// Whether the table has enough entries.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.footer.key_bytes + self.footer.value_bytes >= FULL_BYTES
    }

    /// The last stretch, and what follows it.
    pub(crate) fn finish(mut self) -> (Stretch<'v>, Ending) {
        assert!(self.footer.entries > 0, "an empty table is not written");
        self.close_key_block();
        self.close_shared();
        let Self { first_hashes, blobs, footer, first_hash, last_hash, .. } = self;
        (self.stretch, Ending { first_hashes, blobs, footer, first_hash, last_hash })
    }

    fn place(&mut self, value: ValueBytes<'_, 'v>) -> Stored<'static> {
        let Some(bytes) = value.raw().filter(|bytes| bytes.len() < OWN_BLOCK_BYTES) else {
            let block = self.next_value_block();
            let row = RowOf::Values(block);
            match value {
                ValueBytes::Passing(bytes) => self.stretch.add_raw(row, bytes),
                ValueBytes::Staying(bytes) => self.stretch.add_staying(row, bytes),
                ValueBytes::Block(StoredBlock { stored, raw_bytes }) => {
                    self.stretch.add_stored(row, raw_bytes, stored)
                }
            }
            return Stored::Placed { block, offset: 0, bytes: value.len() as u32 };
        };
        if self.shared.len() + bytes.len() > SHARED_BYTES {
            self.close_shared();
        }
        if self.shared.is_empty() {
            self.shared_block = self.next_value_block();
        }
        let offset = self.shared.len() as u32;
        self.shared.extend_from_slice(bytes);
        Stored::Placed { block: self.shared_block, offset, bytes: bytes.len() as u32 }
    }

    fn next_value_block(&mut self) -> u32 {
        self.value_blocks += 1;
        self.value_blocks - 1
    }

    fn close_shared(&mut self) {
        if !self.shared.is_empty() {
            self.stretch.add_raw(RowOf::Values(self.shared_block), &self.shared);
            self.shared.clear();
        }
    }

    fn close_key_block(&mut self) {
        if self.keys.len() > 0 {
            self.first_hashes.extend_from_slice(&self.keys.first_hash.to_le_bytes());
            self.stretch.add_with(RowOf::Keys, |out| self.keys.finish(out));
        }
    }
}

/// Writes a table while it is filled.
#[derive(Debug)]
pub(crate) struct TableWriter<'v> {
    fill: TableFill<'v>,
    file: TableFile,
}

impl<'v> TableWriter<'v> {
    pub(crate) fn new(file: TableFile) -> Self {
        Self { fill: TableFill::new(), file }
    }

    /// Adds entries with `fill`, and writes the stretch if it is full then.
    #[inline]
    pub(crate) fn add(&mut self, fill: impl FnOnce(&mut TableFill<'v>)) -> io::Result<()> {
        fill(&mut self.fill);
        if self.fill.stretch.is_full() { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        self.fill.stretch.pack();
        self.file.place(&self.fill.stretch)?;
        self.fill.stretch.clear();
        Ok(())
    }

    pub(crate) fn is_full(&self) -> bool {
        self.fill.is_full()
    }

    /// Writes the rest, syncs the file and returns its description.
    pub(crate) fn finish(self, sequence_base: u64, times: (u64, u64)) -> io::Result<TableMeta> {
        let (mut stretch, ending) = self.fill.finish();
        stretch.pack();
        self.file.finish(&stretch, ending, sequence_base, times)
    }
}
