//! The platform of Varve's engine on an operating system: files ([`DiskVfs`]), threads ([`DiskPool`]) and one store per
//! process and directory ([`SharedStore`]). It also stores and restores trees of files ([`store_tree`], [`Restore`]), and checks
//! the inputs of results ([`check_inputs`]).
//!
//! What differs between systems is in `platform`; what needs `unsafe` is in `map.rs` and `guard`, nowhere else.

mod direct;
mod file;
#[cfg(unix)]
mod guard;
mod inputs;
#[cfg(unix)]
mod map;
mod platform;
mod pool;
mod registry;
mod tree;
mod vfs;

pub use inputs::check_inputs;
pub use pool::DiskPool;
pub use registry::{SharedStore, layer_at};
pub use tree::{Known, Mode, Outcome, Placed, Restore, StoredFile, remove_tree, store_tree};
pub use vfs::DiskVfs;
