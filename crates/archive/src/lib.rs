//! Archives of files (`tar`) and the rules that a path has to follow before anything is written to it (`path`). Both
//! take bytes from anywhere: an archive or a path that is not safe is an error, never a file outside of the target.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod path;
pub mod tar;
