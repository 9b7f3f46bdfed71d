//! What both bindings to JavaScript share, so that the addon and the WebAssembly module give the same answers.
//!
//! - [`JsHandle`]: one open cache as one thread of the host uses it. Keys and small values go through a scratch buffer
//!   that the binding provides; longer answers are held until a second call takes them.
//! - [`Commit`]: a commit, to be run on the calling thread or on another one.
//! - `reads.rs`, `packed.rs`: lookups of many keys, and answers with many entries as one run of bytes.
//! - `folders.rs`: sums over entries by folder, for keys that are paths.
//! - `export.rs`, `import.rs`: entries as JSON and back, in pieces; `transfer.rs` numbers them, `objects.rs` splits a
//!   stream into objects.
//! - `files.rs`: manifests of files as JSON, and archives; `restored.rs`: what is remembered of a restore.
//! - [`guarded`]: a panic becomes a failure with code `INTERNAL`, and the process lives. Only the addon can catch
//!   panics. [`Guard`]: after one, every later call of a store fails with it.
//! - [`Failure`]: an error on its way to JavaScript, with a stable code; [`answer`] makes JSON of a report or of a
//!   failure.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod commit;
mod export;
mod failure;
mod files;
mod folders;
mod guard;
mod handle;
mod import;
mod json;
mod objects;
mod packed;
mod reads;
mod restored;
mod top;
mod transfer;

pub use commit::{Alone, Begun, Commit, Committed, commit_alone, durability, durability_of};
pub use export::{Export, ExportOptions, ExportProgress};
pub use failure::{Failure, Result, answer};
pub use files::{
    ArchiveRequest, FileItem, ImportReport, StoredItem, VerifiedItem, check_contents,
    export_archive, import_archive, records_of, request, stored_files, verify_files,
};
pub use guard::{Guard, guarded};
pub use handle::JsHandle;
pub use import::{Import, ImportProgress};
pub use reads::{PackedKeys, PagePlace, Reads};
pub use restored::{Restored, RestoredFile};
pub use top::{TopItem, top};
