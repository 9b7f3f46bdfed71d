//! What both doors to JavaScript share, so that the addon and the WebAssembly module answer alike by construction.
//!
//! - [`Session`]: one open cache as one thread of the host holds it. Keys and small values go through a scratch buffer
//!   that the door owns; longer answers are held and taken with a second call.
//! - `packed.rs`: answers with many entries, as one run of bytes.
//! - `export.rs` and `import.rs`: entries as JSON and back, in pieces; `objects.rs` cuts a stream into them.
//! - [`Failure`]: an error on its way to JavaScript, with a stable code; [`answer`] makes JSON of a report or
//!   of a failure.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod export;
mod failure;
mod import;
mod json;
mod objects;
mod packed;
mod session;
mod transfer;

pub use export::{Export, ExportOptions, ExportProgress};
pub use failure::{Failure, Result, answer};
pub use import::{Import, ImportProgress};
pub use session::{Reads, Session, durability_of};
