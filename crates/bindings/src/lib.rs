//! The code that both bindings to JavaScript share, so that the addon and the WebAssembly module return the same
//! results.
//!
//! - [`Session`]: one open cache of one thread of the host. Keys and small values go through a scratch buffer that the
//!   binding owns. A longer result is kept, and fetched with a second call.
//! - `packed.rs`: results with many entries, packed into bytes.
//! - `export.rs` and `import.rs`: entries as JSON and back, in pieces; `objects.rs` splits a stream into JSON objects.
//! - `files.rs`: manifests of files as JSON, and archives; `restored.rs`: the recorded state of restored files.
//! - [`Failure`]: an error for JavaScript with a stable code; [`answer`] writes a report or a failure as JSON.
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
