//! Archives of files (`tar`), and the rules that every path must follow before anything is written to it (`path`).
//! Input may come from anywhere: an unsafe archive or path is an error and never a file outside of the target.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod path;
pub mod tar;
