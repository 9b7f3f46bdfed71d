//! The Node-API addon: the engine of Varve on an operating system, behind `packages/varve/src/engine/engine.ts`.
//!
//! - `raw.rs`: hand-written callbacks for every synchronous call, 20-30 ns each; the only unsafe code.
//! - `hot.rs`: what they do for single entries, `cold.rs`: for everything else that is done when the call returns.
//! - `slow.rs`: open, commit, flush, compact, stats, verify, close: on a thread of libuv's pool, one promise each.
//! - `files.rs`: trees of files and archives, in and out; the same way.
//! - `control.rs`: watches and stops such a call.
//! - `place.rs`: which threads of this process use which folder; the last one to leave closes the store.
//! - `guard.rs`: a panic becomes an error with code `INTERNAL`, and the process lives.
//!
//! Nothing here reaches for JavaScript memory from another thread, and nothing needs a `close`: a worker thread that is
//! terminated takes its session along, the store goes with its last session.

mod cold;
mod context;
mod control;
mod files;
mod guard;
mod hot;
mod place;
mod raw;
mod slow;
