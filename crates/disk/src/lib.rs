//! The doors of Varve's engine on an operating system: files ([`DiskVfs`]), threads ([`DiskPool`]) and one store per
//! process and folder ([`open_shared`]).
//!
//! What differs between systems is in `platform`; what needs `unsafe` is in `map.rs` and `guard.rs`, nowhere else.

mod direct;
mod file;
#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod map;
mod platform;
mod pool;
mod registry;
mod vfs;

pub use pool::DiskPool;
pub use registry::{is_small, open_shared};
pub use vfs::DiskVfs;
