//! The WebAssembly module: the engine of Varve on top of files that JavaScript provides.
//!
//! - `host.rs`: the functions that a host provides; `files.rs`: core's `Vfs` on top of them. A host file is a number.
//! - `store.rs`: the functions that JavaScript calls, with the same handle as the addon (`varve-bindings`) and a
//!   scratch buffer in the module's memory.
//! - `trees.rs`: files of tasks, and archives; their bytes are read and written through `stream.rs`.
//! - `memory.rs`: memory grows in large steps.
//! - `watch.rs`: progress and cancelling of a long call.
//! - `trap.rs`: a panic ends the instance. JavaScript receives its text first, and can create a fresh instance.
//!
//! The module has one thread and neither clock nor locks. Time is an argument, and the log of this writer is marked as
//! one without a lock (`NAME` in FORMAT.md).

mod files;
pub mod host;
mod memory;
#[cfg(feature = "planted")]
mod plant;
pub mod store;
pub mod stream;
pub mod trap;
pub mod trees;
pub mod watch;
