//! The engine of Varve: a persistent task cache that many processes, native and WebAssembly, write at the same time
//! without waiting for each other. `FORMAT.md` beside this crate gives the bytes of every file.
//!
//! # A tour
//!
//! - `store`: one open cache, shared by all threads of a process. A thread has a [`Handle`], which buffers what is put.
//! - `commit`: what is buffered becomes one record of this process's log, then visible in the memtable.
//! - `read`: a key is looked up in the memtable, then in the tables from the newest to the oldest.
//! - `compact`: logs and tables are merged into new tables; a new manifest names them, and files that it does not name
//!   are removed.
//! - `seal`: writes what is visible as a layer, an immutable cache that others are opened over.
//! - `maintain`: verifies every byte, and repairs.
//! - `writer`: how a process gets a log: it claims a number, creates the cache, or resets an unrecoverable one.
//! - `state`: one state of the cache as this process sees it: memtable, tables, logs of other writers.
//! - `manifest`, `log`, `table`, `blobs`, `usage`: the five kinds of files.
//! - `format`: what several of them share: frames, checksums, digests, file names, sequence numbers.
//! - `platform`: what core needs of the machine: files ([`vfs`]), threads ([`Pool`]) and the clock. Core uses nothing
//!   else of it.
//! - `testing`: a simulated file system that crashes on request, and the contract that every file system passes.
//!
//! Upper rooms use lower ones, never the reverse (`scripts/tidy/rules.mjs`). Bytes from disk are untrusted everywhere:
//! a length is limited before it is used, and damage is a miss and a report, never a panic.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod batch;
pub mod blobs;
mod commit;
mod compact;
mod error;
mod format;
mod log;
mod maintain;
mod manifest;
mod options;
pub mod platform;
mod read;
mod report;
mod seal;
mod state;
mod store;
mod table;
#[cfg(any(test, feature = "sim"))]
pub mod testing;
mod usage;
mod writer;

pub use blobs::Pin;
pub use error::{ArchiveProblem, Error, PathProblem, Result, Shown};
pub use format::digest::{BlobRef, Digest};
pub use format::mac_key::{MacKey, SECRET_BYTES_MIN, folder_of};
pub use format::order;
pub use format::{FILE_BYTES_MAX, KEY_BYTES_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX};
pub use options::{Durability, LayerSource, Options, Watch};
pub use platform::clock::Clock;
pub use platform::pool::{Pool, SerialPool};
pub use platform::{failpoints, vfs};
pub use read::walk::{Walk, WalkEntry, WalkNamespace};
pub use report::{
    CommitReport, CompactReport, Damage, DamagedKeys, LayerReport, NamespaceStats, RepairReport,
    SealReport, Stats, Status, TopEntry, TopOrder, VerifyReport,
};
pub use store::Store;
pub use store::blob_writer::BlobWriter;
pub use store::handle::{Handle, PendingCommit};
pub use store::lookups::{Copied, Lookups};
pub use store::pending_reads::PendingReads;
