//! Names in one of the 256 directories of blobs.

use crate::format::digest::Digest;
use std::fmt;

/// A file's kind by its name. Other names parse as `None`, and their files are never touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlobName {
    Content(Digest),
    /// About to be removed by the collection of that random number.
    Gone {
        digest: Digest,
        by: u64,
    },
    Bad(Digest),
    Temporary {
        writer: u32,
        index: u32,
    },
}

impl BlobName {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let Some((stem, kind)) = name.split_once('.') else {
            return Digest::parse(name).map(Self::Content);
        };
        match kind {
            "bad" => Digest::parse(stem).map(Self::Bad),
            "tmp" => {
                let (writer, index) = stem.split_once('-')?;
                let parsed =
                    Self::Temporary { writer: writer.parse().ok()?, index: index.parse().ok()? };
                (parsed.to_string() == name).then_some(parsed)
            }
            _ => {
                let by = u64::from_str_radix(kind.strip_suffix(".gone")?, 16).ok()?;
                let parsed = Self::Gone { digest: Digest::parse(stem)?, by };
                (parsed.to_string() == name).then_some(parsed)
            }
        }
    }
}

impl fmt::Display for BlobName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content(digest) => write!(out, "{digest}"),
            Self::Gone { digest, by } => write!(out, "{digest}.{by:016x}.gone"),
            Self::Bad(digest) => write!(out, "{digest}.bad"),
            Self::Temporary { writer, index } => write!(out, "{writer}-{index}.tmp"),
        }
    }
}

/// The number of a directory, by its name.
pub(super) fn index_of(folder: &str) -> Option<u8> {
    let index = u8::from_str_radix(folder, 16).ok()?;
    (format!("{index:02x}") == folder).then_some(index)
}

/// The path of a file, relative to the cache directory.
pub(crate) fn path_of(name: BlobName, shard: u8) -> String {
    format!("files/{shard:02x}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_directory_is_named_by_two_hex_digits() {
        assert_eq!(["00", "0a", "ff"].map(index_of), [Some(0), Some(10), Some(255)]);
        for foreign in ["", "0", "FF", "+1", "100", "0g", "ff.bad"] {
            assert_eq!(index_of(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn every_blob_name_parses_as_written_and_foreign_names_do_not() {
        let digest = Digest::of(b"content");
        for name in [
            BlobName::Content(digest),
            BlobName::Gone { digest, by: 12 },
            BlobName::Bad(digest),
            BlobName::Temporary { writer: 3, index: 12 },
        ] {
            assert_eq!(BlobName::parse(&name.to_string()), Some(name));
        }
        for foreign in
            ["", ".gone", "notes.txt", "3-.tmp", "03-1.tmp", "+3-1.tmp", "x.0000000000000001.gone"]
        {
            assert_eq!(BlobName::parse(foreign), None, "{foreign}");
        }
    }
}
