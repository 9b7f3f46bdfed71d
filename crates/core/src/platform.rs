//! The platform: files, threads, locks and a clock. Each is a trait or an argument, so that the same code runs on a
//! disk, in WebAssembly, in memory and in a simulation.

pub(crate) mod clock;
pub mod failpoints;
pub(crate) mod pool;
pub(crate) mod sync;
pub mod vfs;
