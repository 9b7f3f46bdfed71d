//! All entries of a namespace in order of (upper half of the hash, key), each key once with its newest entry.
//! Compactions write them and listings visit them.
//!
//! The sources are sorted already, but merging them key by key would compare each key with one of every source. Instead
//! the hashes are divided into ranges of some thousand entries. `Ranges` gathers the entries of all sources and sorts
//! them by hash without reading a key; `Entries` finds the newest entry of each key.

mod gather;
mod resolve;

pub(crate) use gather::{HASHES, Range, Ranges, Source};
pub(crate) use resolve::{Entries, Visit, garbage};
