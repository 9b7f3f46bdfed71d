//! Grows the memory of the module in large steps.
//!
//! Each growth of WebAssembly memory gives JavaScript another `ArrayBuffer`, whose whole size V8 counts as newly
//! allocated external memory. The allocator requests a few pages at a time. A process that read 80 MB had a thousand
//! growths, and V8 collected garbage for two thirds of its time. A step is a quarter of the current size, which makes
//! some 30 growths to 64 MiB.

use std::arch::wasm32::memory_size;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes of a page of WebAssembly memory.
const PAGE_BYTES: usize = 64 << 10;

/// The bounds of a step in bytes.
const STEP_BYTES_MIN: usize = 1 << 20;
const STEP_BYTES_MAX: usize = 16 << 20;

/// The number of pages after the last growth.
static PAGES: AtomicUsize = AtomicUsize::new(0);

/// Grows memory by one step if it has grown since the last call. The caller calls it before it needs memory.
pub(crate) fn grow_ahead() {
    let pages = memory_size::<0>();
    if pages <= PAGES.load(Ordering::Relaxed) {
        return;
    }
    let step_bytes = (pages * PAGE_BYTES / 4).clamp(STEP_BYTES_MIN, STEP_BYTES_MAX);
    // Freed memory stays with the allocator. If no memory is left, the next allocation reports it.
    let mut step: Vec<u8> = Vec::new();
    let _full = step.try_reserve_exact(step_bytes);
    drop(black_box(step));
    PAGES.store(memory_size::<0>(), Ordering::Relaxed);
}
