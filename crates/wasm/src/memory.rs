//! Memory that grows in large steps.
//!
//! Each growth of WebAssembly memory gives JavaScript another `ArrayBuffer`, whose whole size V8 counts as newly
//! allocated external memory. The allocator asks for a few pages at a time, so a process that read 80 MB had a
//! thousand growths, and V8 collected garbage for two thirds of its time. A step is a quarter of what there is:
//! some 30 growths to 64 MiB.

use std::arch::wasm32::memory_size;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a page of WebAssembly memory.
const PAGE_BYTES: usize = 64 << 10;

/// Bytes of a step, at least and at most.
const STEP_BYTES_MIN: usize = 1 << 20;
const STEP_BYTES_MAX: usize = 16 << 20;

/// Pages when memory was grown last.
static PAGES: AtomicUsize = AtomicUsize::new(0);

/// If memory has grown since the last call, grows it by a step more. To be called before memory is needed.
pub(crate) fn grow_ahead() {
    let pages = memory_size::<0>();
    if pages <= PAGES.load(Ordering::Relaxed) {
        return;
    }
    let step_bytes = (pages * PAGE_BYTES / 4).clamp(STEP_BYTES_MIN, STEP_BYTES_MAX);
    // What is freed stays with the allocator. If there is no more memory, what follows says so.
    let mut step: Vec<u8> = Vec::new();
    let _full = step.try_reserve_exact(step_bytes);
    drop(black_box(step));
    PAGES.store(memory_size::<0>(), Ordering::Relaxed);
}
