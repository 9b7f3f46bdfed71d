//! The engine of Varve: a persistent task cache that many processes, native and WebAssembly, write at the same time
//! without waiting for each other. `FORMAT.md` beside this crate gives the bytes of every file.
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod aside;
mod batch;
mod begin;
mod block_cache;
mod claim;
mod clock;
mod commit;
mod compact;
mod context;
mod damage;
mod doubts;
mod entries;
mod error;
mod file_writer;
pub mod files;
#[cfg(any(test, feature = "sim"))]
pub mod forge;
mod format;
mod handle;
mod intake;
mod key;
mod key_map;
mod list_logs;
mod log;
mod lookup;
mod manifest;
mod missing;
mod names;
mod options;
pub mod planted;
mod pool;
mod radix;
mod reader;
mod reads;
mod record_uses;
mod renew;
mod repair;
mod report;
mod reset;
mod state;
mod stats;
mod store;
mod sync;
mod table;
mod top;
mod used;
mod verify;
pub mod vfs;
mod walk;

pub use clock::Clock;
pub use error::{ArchiveProblem, Error, PathProblem, Result};
pub use files::Hold;
pub use format::digest::{Digest, FileRef};
pub use format::{KEY_BYTES_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX};
pub use handle::{Handle, PendingCommit};
pub use intake::Intake;
pub use key::{Key, SECRET_BYTES_MIN, folder_of};
pub use options::{Durability, Options, Watch};
pub use pool::{Pool, SerialPool};
pub use reads::PendingReads;
pub use report::{
    CommitReport, CompactReport, Damage, DamagedKeys, NamespaceStats, RepairReport, Stats, Status, TopEntry, TopOrder,
    VerifyReport,
};
pub use store::Store;
pub use walk::{Walk, WalkEntry, WalkNamespace};
