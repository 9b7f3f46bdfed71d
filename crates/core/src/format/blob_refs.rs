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
use super::digest::{Digest, FileRef};

/// Bytes of one reference.
pub(crate) const FILE_REF_BYTES: usize = 40;

/// The value of an entry that names blobs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filed<'a> {
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

impl<'a> Filed<'a> {
    /// Appends a value that names `files`.
    pub(crate) fn write(files: &[FileRef], form: Form<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(&(files.len() as u32).to_le_bytes());
        files.iter().for_each(|file| write_file_ref(file, out));
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
        let refs = reader.take(count.checked_mul(FILE_REF_BYTES)?)?;
        let form = match reader.u8()? {
            0 => Form::Content,
            1 => Form::Packed { raw_bytes: reader.u32().filter(|bytes| *bytes as usize <= VALUE_BYTES_MAX)? },
            2 => Form::Beside(reader.take(reader.remaining())?),
            _ => return None,
        };
        let is_one = matches!(form, Form::Beside(_)) || count == 1;
        (is_one && reader.is_empty()).then_some(Self { refs, form })
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = FileRef> + use<'a> {
        read_file_refs(self.refs)
    }

    /// Length of the value.
    pub(crate) fn value_bytes(&self) -> u64 {
        match self.form {
            Form::Content => self.files().map(|file| file.bytes).sum(),
            Form::Packed { raw_bytes } => u64::from(raw_bytes),
            Form::Beside(value) => value.len() as u64,
        }
    }
}

pub(crate) fn write_file_ref(file: &FileRef, out: &mut Vec<u8>) {
    let Digest(digest) = &file.digest;
    out.extend_from_slice(digest);
    out.extend_from_slice(&file.bytes.to_le_bytes());
}

/// Consecutive references.
pub(crate) fn read_file_refs(bytes: &[u8]) -> impl Iterator<Item = FileRef> {
    let mut reader = Reader::new(bytes);
    std::iter::from_fn(move || {
        let digest = *reader.take(32)?.first_chunk::<32>()?;
        Some(FileRef { digest: Digest(digest), bytes: reader.amount()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_blobs_parse_as_written_and_every_cut_is_refused() {
        let files = [FileRef::of(b"one"), FileRef::of(b"two")];
        for (files, form) in [
            (&files[..1], Form::Content),
            (&files[..1], Form::Packed { raw_bytes: 9 }),
            (&files[..], Form::Beside(b"")),
            (&files[..], Form::Beside(b"beside")),
        ] {
            let mut bytes = Vec::new();
            Filed::write(files, form, &mut bytes);
            let read = Filed::parse(&bytes).unwrap();
            assert_eq!((read.files().collect::<Vec<_>>(), read.form), (files.to_vec(), form));
            let rest = if let Form::Beside(value) = form { value.len() } else { 0 };
            for length in 0..bytes.len() - rest {
                assert!(Filed::parse(&bytes[..length]).is_none(), "{length} of {form:?}");
            }
        }
        let mut two = Vec::new();
        Filed::write(&files, Form::Content, &mut two);
        assert!(Filed::parse(&two).is_none(), "the content of two files");
    }
}
