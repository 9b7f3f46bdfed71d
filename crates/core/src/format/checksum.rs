//! The checksum of every byte on disk: xxh3, which detects accidents. In an authenticated cache it is keyed BLAKE3,
//! which also detects bytes that were written without the secret. It has 64 bits and covers the bytes and their place,
//! so that the same bytes in another place are refused.
//!
//! | of | xxh3, XOR the mixed place | keyed BLAKE3 of the same bytes, then |
//! |---|---|---|
//! | block, directory, footer, page of rows | bytes | u64 kind, u64 place, u64 0 |
//! | body of a frame | body and padding | u64 kind, u64 offset, u64 number of the file, all fields of the head |
//! | head of a frame, 32 bits | 28 bytes | u64 kind, u64 offset, u64 number of the file |
//!
//! The choice is made once for each block or frame, never for each key.
//!
//! Each log and table of an authenticated cache has a MAC key of its own. It is derived from the cache's key, the id of
//! the cache and the name of the file. So a part of another file is refused, also one of another cache with the same
//! secret. Manifests and usage records have the id of the cache in their checksummed bytes.

use super::file_names::FileName;
use super::hash::mix;
use crate::format::mac_key::MacKey;
use std::fmt;
use std::hash::Hasher;
use twox_hash::XxHash3_64;

/// How the checksums of one cache are computed.
#[derive(Clone, Copy)]
pub(crate) enum Checksum {
    Open,
    Keyed([u8; 32]),
}

/// The kinds of parts that a MAC distinguishes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Block = 1,
    Directory = 2,
    Footer = 3,
    Body = 4,
    Head = 5,
    Rows = 6,
}

/// The place of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramePlace {
    /// Number of the writer or the manifest.
    pub(crate) file_number: u64,
    pub(crate) offset: u64,
}

impl FramePlace {
    fn salt(self) -> u64 {
        (self.file_number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ self.offset
    }
}

impl Checksum {
    pub(crate) fn new(key: Option<&MacKey>) -> Self {
        key.map_or(Self::Open, |key| Self::Keyed(*key.for_checksums()))
    }

    /// The checksum for the parts of one file of a cache: a table, or a log under the name with which it was created.
    pub(crate) fn of_file(self, cache_id: u64, name: FileName) -> Self {
        match self {
            Self::Open => self,
            Self::Keyed(key) => {
                let mut hasher = blake3::Hasher::new_keyed(&key);
                hasher.update(&cache_id.to_le_bytes());
                hasher.update(name.to_string().as_bytes());
                Self::Keyed(*hasher.finalize().as_bytes())
            }
        }
    }

    /// The checksum of a part of a table. The place of a block or a page of rows is its offset, that of other parts 0.
    /// The place is not the seed, because xxh3 would derive a secret from it each time, which costs half a block.
    #[inline]
    pub(crate) fn of_part(&self, kind: Kind, place: u64, bytes: &[u8]) -> u64 {
        match self {
            Self::Open => XxHash3_64::oneshot(bytes) ^ mix(place),
            Self::Keyed(key) => keyed(key, &[bytes], kind, [place, 0], &[]),
        }
    }

    /// The checksum of a frame's body and padding. In an authenticated cache it also covers `fields`, those of the
    /// head: the head's own checksum detects accidents, but is too short against forgery.
    pub(crate) fn of_body(&self, place: FramePlace, fields: &[u8], parts: &[&[u8]]) -> u64 {
        match (self, parts) {
            (Self::Open, [one]) => XxHash3_64::oneshot(one) ^ mix(place.salt()),
            (Self::Open, parts) => {
                let mut hasher = XxHash3_64::new();
                parts.iter().for_each(|part| hasher.write(part));
                hasher.finish() ^ mix(place.salt())
            }
            (Self::Keyed(key), parts) => {
                keyed(key, parts, Kind::Body, [place.offset, place.file_number], fields)
            }
        }
    }

    /// The checksum of a frame's head.
    pub(crate) fn of_head(&self, place: FramePlace, head: &[u8]) -> u32 {
        let whole = match self {
            Self::Open => XxHash3_64::oneshot(head) ^ mix(place.salt()),
            Self::Keyed(key) => {
                keyed(key, &[head], Kind::Head, [place.offset, place.file_number], &[])
            }
        };
        whole as u32
    }
}

/// Computes a MAC. The suffix has a fixed length for each kind and the kind at a fixed distance from the end, so that
/// different inputs never coincide. It is a suffix, so that BLAKE3 hashes many bytes at once.
fn keyed(key: &[u8; 32], parts: &[&[u8]], kind: Kind, place: [u64; 2], fields: &[u8]) -> u64 {
    let mut hasher = blake3::Hasher::new_keyed(key);
    for part in parts {
        hasher.update(part);
    }
    hasher.update(fields);
    let [first, second] = place;
    let mut end = [0; 24];
    for (target, word) in end.as_chunks_mut::<8>().0.iter_mut().zip([kind as u64, first, second]) {
        *target = word.to_le_bytes();
    }
    hasher.update(&end);
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// Never prints the key.
impl fmt::Debug for Checksum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Open => "Open",
            Self::Keyed(_) => "Keyed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: FramePlace = FramePlace { file_number: 7, offset: 64 };

    fn with_secret(secret: &[u8]) -> Checksum {
        Checksum::new(Some(&MacKey::new(secret).unwrap()))
    }

    #[test]
    fn a_checksum_of_parts_equals_that_of_the_whole() {
        let bytes: Vec<u8> = (0..5_000u32).map(|index| (index * 7) as u8).collect();
        for checksum in [Checksum::Open, with_secret(&[1; 32])] {
            for cut in [0, 1, 16, 240, 256, 1_024, 4_999, 5_000] {
                let (head, tail) = bytes.split_at(cut);
                let whole = checksum.of_body(PLACE, b"fields", &[&bytes]);
                assert_eq!(
                    checksum.of_body(PLACE, b"fields", &[head, tail]),
                    whole,
                    "cut at {cut}"
                );
            }
        }
    }

    #[test]
    fn a_mac_differs_for_every_secret_file_kind_place_and_field() {
        let one = with_secret(&[1; 32]);
        let bytes = b"the same bytes";
        let elsewhere = FramePlace { file_number: 8, ..PLACE };
        let further = FramePlace { offset: 96, ..PLACE };
        let mut all = vec![
            Checksum::Open.of_part(Kind::Block, 0, bytes),
            with_secret(&[2; 32]).of_part(Kind::Block, 0, bytes),
            one.of_part(Kind::Block, 0, bytes),
            one.of_part(Kind::Block, 1, bytes),
            one.of_part(Kind::Directory, 0, bytes),
            one.of_part(Kind::Footer, 0, bytes),
            one.of_part(Kind::Rows, 0, bytes),
            one.of_body(PLACE, b"", &[bytes]),
            one.of_body(PLACE, b"field", &[bytes]),
            one.of_body(PLACE, b"fielD", &[bytes]),
            one.of_body(elsewhere, b"", &[bytes]),
            one.of_body(further, b"", &[bytes]),
            one.of_file(1, FileName::Log(1)).of_body(PLACE, b"", &[bytes]),
            one.of_file(2, FileName::Log(1)).of_body(PLACE, b"", &[bytes]),
            one.of_file(1, FileName::Log(11)).of_body(PLACE, b"", &[bytes]),
            u64::from(one.of_head(PLACE, bytes)),
            u64::from(one.of_head(elsewhere, bytes)),
        ];
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
