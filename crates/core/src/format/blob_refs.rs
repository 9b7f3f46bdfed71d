//! The stored value of an entry that names blobs.
//!
//! ```text
//! u32 count | count x (32 bytes digest, u64 bytes of the content) | u8 form | rest
//! ```
//! | form | the value is | rest |
//! |--:|---|---|
//! | 0 | the content of the one blob | nothing |
//! | 1 | the content of the one blob, decompressed from LZ4 | `u32` bytes of it |
//! | 2 | the rest; the blobs are needed as long as the entry is | the value |

use super::VALUE_BYTES_MAX;
use super::bytes::Reader;
use super::digest::{BlobRef, Digest};

/// Bytes of one reference.
pub(crate) const BLOB_REF_BYTES: usize = 40;

/// The value of an entry that names blobs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlobRefs<'a> {
    refs: &'a [u8],
    pub(crate) form: Form<'a>,
}

/// The place of the actual value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form<'a> {
    Content,
    Packed { raw_bytes: u32 },
    Beside(&'a [u8]),
}

impl<'a> BlobRefs<'a> {
    /// Appends a value that names `files`.
    pub(crate) fn write(blobs: &[BlobRef], form: Form<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(&(blobs.len() as u32).to_le_bytes());
        blobs.iter().for_each(|file| write_blob_ref(file, out));
        match form {
            Form::Content => out.push(0),
            Form::Packed { raw_bytes } => {
                out.push(1);
                out.extend_from_slice(&raw_bytes.to_le_bytes());
            }
            Form::Beside(value) => {
                out.push(2);
                out.extend_from_slice(value);
            }
        }
    }

    /// `None` = not a valid value.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let count = reader.u32()? as usize;
        let refs = reader.take(count.checked_mul(BLOB_REF_BYTES)?)?;
        let form = match reader.u8()? {
            0 => Form::Content,
            1 => Form::Packed {
                raw_bytes: reader.u32().filter(|bytes| *bytes as usize <= VALUE_BYTES_MAX)?,
            },
            2 => Form::Beside(reader.take(reader.remaining())?),
            _ => return None,
        };
        let is_one = matches!(form, Form::Beside(_)) || count == 1;
        (is_one && reader.is_empty()).then_some(Self { refs, form })
    }

    pub(crate) fn blobs(&self) -> impl Iterator<Item = BlobRef> + use<'a> {
        read_blob_refs(self.refs)
    }

    /// Length of the value.
    pub(crate) fn value_bytes(&self) -> u64 {
        match self.form {
            Form::Content => self.blobs().map(|file| file.bytes).sum(),
            Form::Packed { raw_bytes } => u64::from(raw_bytes),
            Form::Beside(value) => value.len() as u64,
        }
    }
}

pub(crate) fn write_blob_ref(file: &BlobRef, out: &mut Vec<u8>) {
    let Digest(digest) = &file.digest;
    out.extend_from_slice(digest);
    out.extend_from_slice(&file.bytes.to_le_bytes());
}

/// Consecutive references.
pub(crate) fn read_blob_refs(bytes: &[u8]) -> impl Iterator<Item = BlobRef> {
    let mut reader = Reader::new(bytes);
    std::iter::from_fn(move || {
        let digest = *reader.take(32)?.first_chunk::<32>()?;
        Some(BlobRef { digest: Digest(digest), bytes: reader.amount()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_blobs_parse_as_written_and_every_cut_is_refused() {
        let blobs = [BlobRef::of(b"one"), BlobRef::of(b"two")];
        for (blobs, form) in [
            (&blobs[..1], Form::Content),
            (&blobs[..1], Form::Packed { raw_bytes: 9 }),
            (&blobs[..], Form::Beside(b"")),
            (&blobs[..], Form::Beside(b"beside")),
        ] {
            let mut bytes = Vec::new();
            BlobRefs::write(blobs, form, &mut bytes);
            let read = BlobRefs::parse(&bytes).unwrap();
            assert_eq!((read.blobs().collect::<Vec<_>>(), read.form), (blobs.to_vec(), form));
            let rest = if let Form::Beside(value) = form { value.len() } else { 0 };
            for length in 0..bytes.len() - rest {
                assert!(BlobRefs::parse(&bytes[..length]).is_none(), "{length} of {form:?}");
            }
        }
        let mut two = Vec::new();
        BlobRefs::write(&blobs, Form::Content, &mut two);
        assert!(BlobRefs::parse(&two).is_none(), "the content of two files");
    }
}
