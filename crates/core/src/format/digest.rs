//! The name of a blob: the BLAKE3 digest of its content.

use serde::{Serialize, Serializer};
use std::fmt;

/// A BLAKE3 digest, 32 bytes; written as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

/// A blob that an entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[expect(missing_docs, reason = "the names describe the fields")]
pub struct BlobRef {
    pub digest: Digest,
    /// Length of the content.
    pub bytes: u64,
}

impl Digest {
    /// The digest of these bytes.
    pub fn of(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }

    /// Parses 64 hex digits, lower case.
    pub fn parse(hex: &str) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(bytes))
    }

    /// The path of the blob, relative to the cache directory.
    pub fn place(&self) -> String {
        format!("files/{:02x}/{self}", self.shard())
    }

    /// The number of its directory.
    pub(crate) fn shard(&self) -> u8 {
        let Self([first, ..]) = self;
        *first
    }
}

impl BlobRef {
    /// The reference to a blob with this content.
    pub fn of(content: &[u8]) -> Self {
        Self { digest: Digest::of(content), bytes: content.len() as u64 }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_parses_as_written_and_nothing_else_parses() {
        let digest = Digest::of(b"hello");
        let hex = digest.to_string();
        assert_eq!(hex, "ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f");
        assert_eq!(Digest::parse(&hex), Some(digest));
        for foreign in
            ["", &hex[1..], &hex.to_uppercase(), &format!("{hex}0"), &hex.replace('e', "g")]
        {
            assert_eq!(Digest::parse(foreign), None, "{foreign}");
        }
    }
}
