//! The bytes on disk, from the smallest part up. Little-endian on every machine; every length is checked before it is
//! used; every byte is covered by a checksum. `FORMAT.md` shows each layout with an example.

pub(crate) mod bytes;
pub(crate) mod checksum;
pub(crate) mod digest;
pub(crate) mod entry;
pub(crate) mod filed;
pub(crate) mod frame;
pub(crate) mod hash;
pub(crate) mod lz4;
pub(crate) mod names;
pub(crate) mod order;
pub(crate) mod search;

/// Format of the files of this version, also in the folder's name (`v1`).
pub(crate) const FORMAT: u32 = 1;

/// Longest key in bytes.
pub const KEY_BYTES_MAX: usize = 65_535;

/// Longest value in bytes.
pub const VALUE_BYTES_MAX: usize = 64 << 20;

/// Longest name or version of a namespace in bytes.
pub const NAME_BYTES_MAX: usize = 1_024;
