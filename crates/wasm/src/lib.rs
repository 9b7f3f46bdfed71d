//! The WebAssembly module: the engine of Varve over files that JavaScript provides.
//!
//! - `host.rs`: the functions a host provides, `files.rs`: core's `Vfs` over them. A host file is a number.
//! - `store.rs`: what JavaScript calls; the same handle as in the addon (`varve-bindings`), with a scratch buffer in
//!   the memory of the module.
//! - `trees.rs`: files of tasks and archives, in and out; their bytes come through `stream.rs`.
//! - `memory.rs`: memory grows in large steps.
//! - `watch.rs`: progress and cancelling of a long call.
//! - `trap.rs`: a panic ends the instance; its text reaches JavaScript first, and a fresh instance can follow.
//!
//! One thread, no clock, no lock: time is an argument, and a log of this writer is protected by its name (DESIGN.md 3).

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
