//! The platform of Varve's engine on an operating system: files ([`DiskVfs`]), threads ([`DiskPool`]), and one store
//! per process and directory ([`open_shared`]). Besides that, it stores and restores trees of files ([`store_tree`],
//! [`Restore`]).
//!
//! Differences between systems are in `platform`. Only `map.rs`, `guard` and `platform/windows` contain `unsafe` code.

mod direct;
mod file;
#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod map;
mod platform;
mod pool;
mod registry;
mod tree;
mod vfs;

pub use pool::DiskPool;
pub use registry::{is_small, open_shared};
pub use tree::{Known, Mode, Outcome, Placed, Restore, StoredFile, remove_tree, store_tree};
pub use vfs::DiskVfs;
