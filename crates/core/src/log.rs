//! The log of one writer: a start frame, then one frame for each commit, at last a seal.
//!
//! ```text
//! start body:  u32 lock (1 = the writer holds the file's lock while it lives, 0 = it looks for its name after appends)
//! commit body: u64 time in ms | u16 count | count x (u16 id, text name, text version) | entries until the end
//! seal body:   nothing
//! ```
//! A commit frame's tag is the order of the commit; a start frame's tag is the format.

mod reader;
mod writer;

pub(crate) use reader::{LogCommit, Stop, scan};
pub(crate) use writer::{LogWriter, prelude};
