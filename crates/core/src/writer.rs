//! How a process becomes a writer: it claims a log, creates the cache if necessary, and resets an unrecoverable one.

pub(crate) mod claim;
pub(crate) mod create;
pub(crate) mod exhausted;
pub(crate) mod foreign;
pub(crate) mod quarantine;
pub(crate) mod reset;
