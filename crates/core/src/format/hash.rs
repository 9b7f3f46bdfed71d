//! The xxh3 hash of keys, 64 bits. Checksums are in `checksum.rs`.

use twox_hash::XxHash3_64;

/// Hash of a key.
#[inline]
pub(crate) fn key_hash(key: &[u8]) -> u64 {
    XxHash3_64::oneshot(key)
}

/// The upper half of a key's hash, by which tables are sorted. Tables store it, so a merge hashes no key again.
#[inline]
pub(crate) fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Spreads a place over all bits; 0 stays 0.
#[inline]
pub(crate) fn mix(place: u64) -> u64 {
    let spread = (place ^ (place >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    spread ^ (spread >> 32)
}
