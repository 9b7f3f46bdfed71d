//! The bytes on disk, from the smallest part up. All numbers are little-endian; every length is checked before use; a
//! checksum covers every byte. `FORMAT.md` shows each layout with an example.

pub(crate) mod blob_refs;
pub(crate) mod bytes;
pub(crate) mod checksum;
pub(crate) mod digest;
pub(crate) mod entry;
pub(crate) mod file_names;
pub(crate) mod file_start;
pub(crate) mod frame;
pub(crate) mod hash;
pub(crate) mod hash_index;
pub(crate) mod hash_sort;
pub(crate) mod lz4;
pub(crate) mod mac_key;
pub(crate) mod namespace_ids;
pub mod order;
pub(crate) mod search;
pub(crate) mod sequence;

/// Version of the file format, also in the name of the directory (`v1`).
pub(crate) const FORMAT: u32 = 1;

/// Longest key in bytes.
pub const KEY_BYTES_MAX: usize = 65_535;

/// Longest value in bytes.
pub const VALUE_BYTES_MAX: usize = 64 << 20;

/// Most namespaces of a cache, besides those of Varve. Each has tables of its own, and a process opens all tables.
pub(crate) const NAMESPACES_MAX: usize = 10_000;

/// Longest file of a tree or an archive in bytes: a file is in memory as a whole while it is stored or restored, and
/// WebAssembly has room for one of this length.
pub const FILE_BYTES_MAX: u64 = (1 << 31) - 1;

/// Longest name or version of a namespace in bytes.
pub const NAME_BYTES_MAX: usize = 1_024;
