//! Two WebAssembly modules, one for each feature: `engine`, on top of files that JavaScript provides, and `archives`.
//!
//! - `host.rs`: the functions that a host provides; `files.rs`: core's `Vfs` on top of them. A host file is a number.
//! - `store.rs`: the functions that JavaScript calls, with the same handle as the addon (`varve-bindings`) and a
//!   scratch buffer in the module's memory.
//! - `trees.rs`: files of tasks.
//! - `archives.rs`: archives, which are read and written through `stream.rs`.
//! - `memory.rs`: memory grows in large steps.
//! - `watch.rs`: progress and cancelling of a long call.
//! - `trap.rs`: a panic ends the instance. JavaScript receives its text first, and can create a fresh instance.
//!
//! The module has one thread and neither clock nor locks. Time is an argument, and the log of this writer is marked as
//! one without a lock (`NAME` in FORMAT.md).

#[cfg(feature = "archives")]
pub mod archives;
mod errno;
#[cfg(feature = "engine")]
mod files;
#[cfg(feature = "engine")]
pub mod host;
mod memory;
#[cfg(feature = "planted")]
mod plant;
#[cfg(feature = "engine")]
pub mod store;
#[cfg(feature = "archives")]
pub mod stream;
pub mod trap;
#[cfg(feature = "engine")]
pub mod trees;
pub mod watch;
