//! Becoming a writer: a log of its own, in a cache that is created first if there is none and reset if it cannot be
//! trusted any more.

pub(crate) mod claim;
pub(crate) mod create;
pub(crate) mod quarantine;
pub(crate) mod reset;
