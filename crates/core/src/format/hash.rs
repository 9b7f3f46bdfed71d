//! xxh3, 64 bits: the place of keys and the checksum of bytes.

use std::hash::Hasher;
use twox_hash::XxHash3_64;

/// Hash of a key.
#[inline]
pub(crate) fn key_hash(key: &[u8]) -> u64 {
    XxHash3_64::oneshot(key)
}

/// The upper half of a key's hash: where the key stands in every table. Tables hold it, so merging hashes no key again.
#[inline]
pub(crate) fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Checksum of `bytes` at a place: the same bytes somewhere else have another one. The place is not the seed, for which
/// xxh3 would derive a secret anew each time, at the cost of half a block.
#[inline]
pub(crate) fn checksum(place: u64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes) ^ mix(place)
}

/// As [`checksum`] of the parts joined together.
pub(crate) fn checksum_parts(place: u64, parts: &[&[u8]]) -> u64 {
    if let [one] = parts {
        return checksum(place, one);
    }
    let mut hasher = XxHash3_64::new();
    for part in parts {
        hasher.write(part);
    }
    hasher.finish() ^ mix(place)
}

/// Spreads a place over all bits; 0 stays 0.
#[inline]
fn mix(place: u64) -> u64 {
    let spread = (place ^ (place >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    spread ^ (spread >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..5_000u32).map(|index| (index * 7) as u8).collect();
        for cut in [0, 1, 16, 240, 256, 1_024, 4_999, 5_000] {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(checksum_parts(9, &[head, tail]), checksum(9, &bytes), "cut at {cut}");
        }
    }
}
