//! The Node-API addon: the engine of Varve on an operating system, behind `packages/varve/src/engine/engine.ts`.
//!
//! A module uses the modules below it:
//!
//! - `module.rs`, `open.rs`: what the addon exports. Opening a store gives an object: functions for what runs
//!   for each entry, and methods.
//! - `calls`: both. Most answer when they return; large commits, flush, compact, stats, verify and close run
//!   on a thread of libuv's pool and answer with a promise.
//! - `store`: one open cache as the callbacks of one JavaScript thread use it, with the watches of its long calls.
//! - `node_api`: Node-API by hand, 20-30 ns a call; the only unsafe code.
//!
//! A panic becomes an error with code `INTERNAL` (`varve_bindings::guarded`), and the process lives.
//!
//! Only the thread that runs JavaScript reads JavaScript memory. No `close` is required: a worker thread that is
//! terminated drops its handle, and the last one drops the store (`varve_disk::SharedStore`).

mod calls;
mod module;
mod node_api;
mod open;
mod store;
