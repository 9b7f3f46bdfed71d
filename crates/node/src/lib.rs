//! The Node-API addon: the engine of Varve on an operating system, behind `packages/varve/src/engine/engine.ts`.
//!
//! A module uses the modules below it:
//!
//! - `open`: what the addon exports. Opening a store gives an object of the class `NodeStore`.
//! - `inputs`: checking the inputs of results.
//! - `calls`: the methods of this class, by what they are about. Most answer when they return; large commits, flush,
//!   compact, stats, verify and close run on a thread of libuv's pool and answer with a promise.
//! - `hot`: what runs for each entry, by hand on Node-API, because a derived method takes eight times as long.
//! - `store`: one open cache as the calls of one JavaScript thread use it.
//! - `answers`: errors with a code, and jobs for other threads; `progress`: how far they are; `memory`: bytes that JavaScript
//!   and the addon share.
//!
//! napi-derive makes the exports, the class and their types for TypeScript (`generated/native.d.ts`).
//!
//! A panic becomes an error with code `INTERNAL` (`varve_bindings::guarded`), and the process lives. napi catches those
//! of its own conversions.
//!
//! Only the thread that runs JavaScript reads JavaScript memory. No `close` is required: a worker thread that is
//! terminated drops its handle, and the last one drops the store (`varve_disk::SharedStore`).
#![expect(unreachable_pub, reason = "napi-derive exports only what is public")]

mod answers;
mod calls;
mod hot;
mod inputs;
mod memory;
mod open;
mod progress;
mod store;
