//! An entry has the same bytes in a log, in a batch and in the memtable, so that a commit converts nothing.
//!
//! ```text
//! u16 kind in the lowest 2 bits, id of the namespace above | u16 key bytes | u32 value bytes | key | value
//! ```

use super::bytes::{Reader, put_bytes};
use super::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// Bytes before the key.
pub(crate) const ENTRY_HEAD_BYTES: usize = 8;

/// Most namespaces of one commit.
pub(crate) const NAMESPACES_MAX: usize = 1 << 14;

/// The operation of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Put,
    Delete,
    /// The value describes a table whose entries belong to this commit.
    Attach,
    /// The value names blobs: see `format/blob_refs.rs`.
    PutWithBlobs,
}

/// One entry, borrowed from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) kind: Kind,
    /// Id of the namespace within the commit.
    pub(crate) namespace: u16,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Appends the entry. The API has checked the lengths.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        debug_assert!(
            self.key.len() <= KEY_BYTES_MAX && self.value.len() <= VALUE_BYTES_MAX,
            "checked at the API"
        );
        let tag = self.namespace << 2 | self.kind as u16;
        out.reserve(self.bytes());
        let head = u64::from(tag) | (self.key.len() as u64) << 16 | (self.value.len() as u64) << 32;
        out.extend_from_slice(&head.to_le_bytes());
        put_bytes(out, self.key);
        put_bytes(out, self.value);
    }

    /// Reads one entry from untrusted bytes.
    #[inline(always)]
    pub(crate) fn read(bytes: &mut Reader<'a>) -> Option<Self> {
        let tag = bytes.u16()?;
        let key_bytes = bytes.u16()?;
        let value_bytes = bytes.u32()?;
        let kind = match tag & 3 {
            0 => Kind::Put,
            1 => Kind::Delete,
            2 => Kind::Attach,
            _ => Kind::PutWithBlobs,
        };
        let key = bytes.take(usize::from(key_bytes))?;
        let value = bytes.take(usize::try_from(value_bytes).ok()?)?;
        Some(Self { kind, namespace: tag >> 2, key, value })
    }

    /// Bytes of the encoded entry.
    pub(crate) fn bytes(&self) -> usize {
        ENTRY_HEAD_BYTES + self.key.len() + self.value.len()
    }
}
