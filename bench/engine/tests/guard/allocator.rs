//! The system's allocator with counters.
#![expect(unsafe_code, reason = "GlobalAlloc has no safe form")]

use crate::count::count;
use std::alloc::{GlobalAlloc, Layout, System};

struct CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn count_allocation(bytes: usize) {
    count(|counts| {
        counts.allocations += 1;
        counts.allocated_bytes += bytes as u64;
    });
}

// SAFETY: every call goes to `System` unchanged; counting writes to a `Cell` of this thread that has no destructor, and
// neither allocates nor panics.
unsafe impl GlobalAlloc for CountingAllocator {
    // SAFETY: the caller keeps the contract of `System`.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller keeps the contract of `System`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_allocation(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    // SAFETY: the caller keeps the contract of `System`; `pointer` came from it.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        count_allocation(new_bytes);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_bytes) }
    }

    // SAFETY: the caller keeps the contract of `System`; `pointer` came from it.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
