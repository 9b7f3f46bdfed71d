//! The log of one writer: a start frame, then one frame for each commit, at last a seal. While its writer stores files
//! (`files.rs`) the log says so.
//!
//! ```text
//! start body:  "LOCK" = the writer holds the file's lock while it lives, "NAME" = it looks for its name after appends;
//!              u64 id of the cache
//! seen body:   count x (u32 writer, u64 end) logs that its commits may rest on, synced, and how far they go
//! commit body: u64 time in ms | u16 count | count x (u16 id, text name, text version) | entries until the end
//! hold body:   nothing; tag 1 = files are written from now on that only later commits will name, 0 = no more
//! seal body:   nothing
//! ```
//! A commit frame's tag is the order of the commit; a start frame's tag is the format.

mod reader;
mod writer;

/// How others know whether the writer of a log still lives.
const LOCK: &[u8; 4] = b"LOCK";
const NAME: &[u8; 4] = b"NAME";

pub(crate) use reader::{LogCommit, Stop, scan};
pub(crate) use writer::{LogWriter, prelude};
