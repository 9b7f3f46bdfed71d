//! All entries of a namespace in order of (upper half of the hash, key), each key once with its newest entry: what
//! compaction writes and what a listing shows.
//!
//! Sources are sorted already. Merging them key by key would compare each key with one of every source; instead the
//! hashes are cut into ranges of some thousand entries: `Ranges` gathers those of all sources and sorts them by their
//! hashes, without looking at a key, and `Entries` finds the newest of each key.

mod gather;
mod resolve;

pub(crate) use gather::{HASHES, Range, Ranges, Source};
pub(crate) use resolve::{Entries, Visit, garbage};
