//! Writes a table from entries in order of (upper half of the hash, key). It does not count before a manifest or a
//! commit names it.

use super::TableMeta;
use super::directory::{BlockRow, Footer, write_rows};
use super::key_block::{ENTRIES_MAX, INLINE_BYTES_MAX, KeyBlockBuilder, NAMES_BLOBS, Stored};
use crate::format::blob_refs::{BlobRefs, write_blob_ref};
use crate::format::checksum::{Checksum, Kind};
use crate::format::digest::BlobRef;
use crate::format::file_names::TableName;
use crate::format::lz4;
use crate::platform::file_writer::{FileWriter, Outbox};
use crate::platform::vfs::File;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// A key block is closed at this size, or at its most entries.
const KEY_BLOCK_BYTES: usize = 4 << 10;

/// Smaller values share blocks of [`SHARED_BYTES`]; others have a block of their own.
pub(crate) const OWN_BLOCK_BYTES: usize = 4 << 10;
/// A lookup decompresses the whole block of its value, and longer blocks save little space.
const SHARED_BYTES: usize = 8 << 10;

/// A table being written.
#[derive(Debug)]
pub(crate) struct TableWriter<'v> {
    name: TableName,
    checksum: Checksum,
    out: FileWriter<'v>,
    keys: KeyBlockBuilder,
    first_hashes: Vec<u8>,
    key_rows: Vec<BlockRow>,
    value_rows: Vec<BlockRow>,
    /// Small values for the next shared block, and the row reserved for it.
    shared: Vec<u8>,
    shared_row: usize,
    scratch: Vec<u8>,
    /// Blobs that its entries name.
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

impl<'v> TableWriter<'v> {
    pub(crate) fn new(name: TableName, file: Arc<dyn File>, checksum: Checksum) -> Self {
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
            name,
            checksum,
            out: FileWriter::new(file),
            keys: KeyBlockBuilder::default(),
            first_hashes: Vec::new(),
            key_rows: Vec::new(),
            value_rows: Vec::new(),
            shared: Vec::new(),
            shared_row: 0,
            scratch: Vec::new(),
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
    ) -> io::Result<()>
    where
        'v: 'b,
    {
        self.make_room()?;
        let stored = match value {
            None => Stored::Deleted,
            Some(value) => match value.raw() {
                Some(bytes) if bytes.len() <= INLINE_BYTES_MAX => Stored::Inline(bytes),
                _ => self.place(value)?,
            },
        };
        self.add_stored(hash, key, sequence, stored, value.map(|value| value.len()));
        Ok(())
    }

    /// Adds an entry whose value names blobs.
    #[cold]
    pub(crate) fn add_with_blobs(&mut self, hash: u32, key: &[u8], sequence: u64, value: &[u8]) -> io::Result<()> {
        self.make_room()?;
        self.blobs.extend(BlobRefs::parse(value).into_iter().flat_map(|refs| refs.blobs()));
        let placed = match self.place(ValueBytes::Passing(value))? {
            Stored::Placed { block, offset, bytes } => Stored::Placed { block: block | NAMES_BLOBS, offset, bytes },
            stored => stored,
        };
        self.add_stored(hash, key, sequence, placed, Some(value.len()));
        Ok(())
    }

    #[inline]
    fn make_room(&mut self) -> io::Result<()> {
        let is_full = self.keys.len() >= ENTRIES_MAX || self.keys.body_bytes() >= KEY_BLOCK_BYTES;
        if is_full { self.close_key_block() } else { Ok(()) }
    }

    #[inline]
    fn add_stored(&mut self, hash: u32, key: &[u8], sequence: u64, stored: Stored<'_>, value_bytes: Option<usize>) {
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

    /// The queue in which full buffers wait for another thread from now on; values must be `Passing`.
    pub(crate) fn use_outbox(&mut self) -> Arc<Outbox> {
        self.out.use_outbox()
    }

    /// Approximate bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.out.position() + self.shared.len() as u64
    }

    /// Writes the rest, syncs the file and returns its description.
    pub(crate) fn finish(mut self, sequence_base: u64, oldest_ms: u64, newest_ms: u64) -> io::Result<TableMeta> {
        assert!(self.footer.entries > 0, "an empty table is not written");
        self.close_key_block()?;
        self.close_shared()?;
        let mut directory = std::mem::take(&mut self.first_hashes);
        let (mut rows, place) = (Vec::new(), (self.out.position(), &self.checksum));
        write_rows(&self.key_rows, place, &mut rows, &mut directory);
        write_rows(&self.value_rows, place, &mut rows, &mut directory);
        self.out.write(&rows)?;
        let directory_offset = self.out.position();
        self.blobs.iter().for_each(|file| write_blob_ref(file, &mut directory));
        self.out.write(&directory)?;
        let footer = Footer {
            key_blocks: self.key_rows.len() as u32,
            value_blocks: self.value_rows.len() as u32,
            blobs: self.blobs.len() as u32,
            directory_offset,
            directory_checksum: self.checksum.of_part(Kind::Directory, 0, &directory),
            ..self.footer
        };
        let (bytes, root) = footer.write(&self.checksum);
        self.out.write(&bytes)?;
        let bytes = self.out.position();
        self.out.finish()?;
        Ok(TableMeta {
            name: self.name,
            bytes,
            root,
            entries: footer.entries,
            deletes: footer.deletes,
            sequence_base,
            sequence_min: sequence_base + footer.sequence_min,
            sequence_max: sequence_base + footer.sequence_max,
            key_bytes: footer.key_bytes,
            value_bytes: footer.value_bytes,
            blob_bytes: self.blobs.iter().map(|file| file.bytes).sum(),
            oldest_ms,
            newest_ms,
            first_hash: self.first_hash,
            last_hash: self.last_hash,
        })
    }

    fn place(&mut self, value: ValueBytes<'_, 'v>) -> io::Result<Stored<'static>> {
        let Some(bytes) = value.raw().filter(|bytes| bytes.len() < OWN_BLOCK_BYTES) else {
            let row = self.write_block(value)?;
            self.value_rows.push(row);
            let block = self.value_rows.len() as u32 - 1;
            return Ok(Stored::Placed { block, offset: 0, bytes: value.len() as u32 });
        };
        if self.shared.len() + bytes.len() > SHARED_BYTES {
            self.close_shared()?;
        }
        if self.shared.is_empty() {
            self.shared_row = self.value_rows.len();
            self.value_rows.push(BlockRow { checksum: 0, offset: 0, stored_bytes: 0, raw_bytes: 0 });
        }
        let offset = self.shared.len() as u32;
        self.shared.extend_from_slice(bytes);
        Ok(Stored::Placed { block: self.shared_row as u32, offset, bytes: bytes.len() as u32 })
    }

    fn close_shared(&mut self) -> io::Result<()> {
        if self.shared.is_empty() {
            return Ok(());
        }
        let shared = std::mem::take(&mut self.shared);
        let row = self.write_block(ValueBytes::Passing(&shared))?;
        if let Some(kept) = self.value_rows.get_mut(self.shared_row) {
            *kept = row;
        }
        self.shared = shared;
        self.shared.clear();
        Ok(())
    }

    fn close_key_block(&mut self) -> io::Result<()> {
        if self.keys.len() == 0 {
            return Ok(());
        }
        self.first_hashes.extend_from_slice(&self.keys.first_hash.to_le_bytes());
        let offset = self.out.position();
        let row_of = |block: &[u8]| row_of(&self.checksum, offset, block, block.len());
        let row = self.out.write_with(|out| self.keys.finish(out), row_of)?;
        self.key_rows.push(row);
        Ok(())
    }

    /// Writes a block, compressed if that pays.
    fn write_block(&mut self, value: ValueBytes<'_, 'v>) -> io::Result<BlockRow> {
        let offset = self.out.position();
        let packed = value.raw().and_then(|raw| lz4::pack(raw, &mut self.scratch));
        let stored = match (packed, value) {
            (Some(packed), _) => packed,
            (None, ValueBytes::Passing(bytes) | ValueBytes::Block(StoredBlock { stored: bytes, .. })) => bytes,
            (None, ValueBytes::Staying(bytes)) => {
                self.out.lend(bytes)?;
                return Ok(row_of(&self.checksum, offset, bytes, bytes.len()));
            }
        };
        self.out.write(stored)?;
        Ok(row_of(&self.checksum, offset, stored, value.len()))
    }
}

/// The row of a block whose `stored` bytes begin at `offset`.
fn row_of(checksum: &Checksum, offset: u64, stored: &[u8], raw_bytes: usize) -> BlockRow {
    BlockRow {
        checksum: checksum.of_part(Kind::Block, offset, stored),
        offset,
        stored_bytes: stored.len() as u32,
        raw_bytes: raw_bytes as u32,
    }
}
