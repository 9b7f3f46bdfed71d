//! A table: immutable entries, sorted by the upper half of their key's hash, then by key.
//!
//! ```text
//! | key blocks and value blocks, as they fill up | rows | directory | footer |
//! ```
//! - A **key block** has about 250 entries: hashes, sequence numbers, keys, and for each value its bytes (up to 16) or
//!   its place.
//! - A **value block** has several small values or one larger value; it is compressed with LZ4 if that pays.
//! - A **row** has the place and the checksum of a block.
//! - The **directory** has the checksums of the rows, and the first hash of each key block. Hashes are uniform, so the
//!   block of a hash is guessed from the hash and found within a step or two.

pub(crate) mod block_cache;
mod buffers;
mod directory;
mod file;
mod key_block;
mod pages;
mod reader;
mod scan;
mod stretch;
mod verify;
mod writer;

pub(crate) use directory::Directory;
#[cfg(any(test, feature = "sim"))]
pub(crate) use directory::{FOOTER_BYTES, Footer, reseal_rows};
pub(crate) use file::{Ending, TableFile};
pub(crate) use key_block::{NAMES_BLOBS, Stored as ScanStored};
pub(crate) use reader::{Found, Keys, Origin, Table, Value};
pub(crate) use scan::{Hole, TableScan};
pub(crate) use stretch::Stretch;
pub(crate) use writer::{OWN_BLOCK_BYTES, StoredBlock, TableFill, TableWriter, ValueBytes};

use crate::format::bytes::Reader;
use crate::format::file_names::TableName;

/// The description of a table in the manifest or in the commit that attaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableMeta {
    pub(crate) name: TableName,
    /// Length of the file, and checksum of its footer.
    pub(crate) bytes: u64,
    pub(crate) root: u64,
    pub(crate) entries: u64,
    pub(crate) deletes: u64,
    /// Added to the sequence number of each entry: that of the commit that attached the table, 0 for others.
    pub(crate) sequence_base: u64,
    /// Sequence numbers of the oldest and the newest entry, including the base.
    pub(crate) sequence_min: u64,
    pub(crate) sequence_max: u64,
    pub(crate) key_bytes: u64,
    pub(crate) value_bytes: u64,
    /// Bytes of the blobs that its entries name.
    pub(crate) blob_bytes: u64,
    /// Times of the commits from which it was written.
    pub(crate) oldest_ms: u64,
    pub(crate) newest_ms: u64,
    /// Upper halves of the hashes of its first and its last key.
    pub(crate) first_hash: u32,
    pub(crate) last_hash: u32,
}

impl TableMeta {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.name.writer.to_le_bytes());
        out.extend_from_slice(&self.name.index.to_le_bytes());
        for number in [
            self.bytes,
            self.root,
            self.entries,
            self.deletes,
            self.sequence_base,
            self.sequence_min,
            self.sequence_max,
            self.key_bytes,
            self.value_bytes,
            self.blob_bytes,
            self.oldest_ms,
            self.newest_ms,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.first_hash.to_le_bytes());
        out.extend_from_slice(&self.last_hash.to_le_bytes());
    }

    pub(crate) fn read(bytes: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            name: TableName { writer: bytes.u32()?, index: bytes.u32()? },
            bytes: bytes.amount()?,
            root: bytes.u64()?,
            entries: bytes.amount()?,
            deletes: bytes.amount()?,
            sequence_base: bytes.u64()?,
            sequence_min: bytes.u64()?,
            sequence_max: bytes.u64()?,
            key_bytes: bytes.amount()?,
            value_bytes: bytes.amount()?,
            blob_bytes: bytes.amount()?,
            // Clocks may show any time.
            oldest_ms: bytes.u64()?,
            newest_ms: bytes.u64()?,
            first_hash: bytes.u32()?,
            last_hash: bytes.u32()?,
        })
    }

    /// Whether the table may have a key of this hash. The tables of one merge divide the hashes among them, so a lookup
    /// reads only the directory of one of them.
    #[inline]
    pub(crate) fn spans(&self, hash: u32) -> bool {
        self.first_hash <= hash && hash <= self.last_hash
    }
}
