//! Reading: one key, many keys, all entries, and statistics. Nothing here changes the cache.

pub(crate) mod entries;
pub(crate) mod lookup;
pub(crate) mod missing_blob;
pub(crate) mod stats;
pub(crate) mod top;
pub(crate) mod walk;
