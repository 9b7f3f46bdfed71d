//! What both doors to JavaScript share, so that the addon and the WebAssembly module answer alike by construction.
//!
//! - [`Session`]: one open cache as one thread of the host holds it. Keys and small values go through a scratch buffer
//!   that the door owns; longer answers are held and taken with a second call.
//! - `packed.rs`: answers with many entries, as one run of bytes.
//! - `export.rs` and `import.rs`: entries as JSON and back, in pieces; `objects.rs` cuts a stream into them.
//! - `files.rs`: manifests of files as JSON, archives; `restored.rs`: what is remembered of a restore.
//! - [`Failure`]: an error on its way to JavaScript, with a stable code; [`answer`] makes JSON of a report or
//!   of a failure.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod export;
mod failure;
mod files;
mod import;
mod json;
mod objects;
mod packed;
mod restored;
mod session;
mod top;
mod transfer;

pub use export::{Export, ExportOptions, ExportProgress};
pub use failure::{Failure, Result, answer};
pub use files::{
    ArchiveRequest, FileItem, ImportReport, StoredItem, VerifiedItem, export_archive, import_archive, records_of,
    request, stored_files, verify_files,
};
pub use import::{Import, ImportProgress};
pub use restored::{Restored, RestoredFile};
pub use session::{Alone, Reads, Session, commit_alone, durability_of};
pub use top::{TopItem, top};
