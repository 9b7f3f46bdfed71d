//! The address ranges that the guard watches, in a table without locks, since a signal handler must not take any.
#![expect(
    unsafe_code,
    reason = "the table grows by leaked parts, behind a pointer that the handler can follow"
)]

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

const FREE: usize = 0;
const RESERVED: usize = 1;

/// One range. `start` is `FREE`, or `RESERVED` while `end` is written, or the address, which is never 0 or 1 for a map.
#[derive(Debug)]
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
}

impl Slot {
    const fn new() -> Self {
        Self { start: AtomicUsize::new(FREE), end: AtomicUsize::new(0) }
    }

    fn take(&self, start: usize, end: usize) -> bool {
        let free =
            self.start.compare_exchange(FREE, RESERVED, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if free {
            self.end.store(end, Ordering::SeqCst);
            self.start.store(start, Ordering::SeqCst);
        }
        free
    }

    /// Reads `start` twice, since the slot may be reused for another range in between.
    fn contains(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::SeqCst);
        let end = self.end.load(Ordering::SeqCst);
        start > RESERVED
            && (start..end).contains(&address)
            && self.start.load(Ordering::SeqCst) == start
    }
}

/// A range that is watched, until it is freed.
#[derive(Debug)]
pub(super) struct Range {
    table: &'static Table,
    slot: &'static Slot,
}

impl Range {
    pub(super) fn free(&self) {
        self.slot.start.store(FREE, Ordering::SeqCst);
        self.table.full.store(false, Ordering::SeqCst);
    }
}

/// A table of slots. It grows by adding another table and never shrinks.
pub(super) struct Table {
    slots: [Slot; 256],
    /// No slot was free when the table was last searched, and none was freed since. A race may leave it set although a
    /// slot is free, until the next one is freed.
    full: AtomicBool,
    next: AtomicPtr<Table>,
}

pub(super) static TABLE: Table = Table::new();

impl fmt::Debug for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Table").finish_non_exhaustive()
    }
}

impl Table {
    const fn new() -> Self {
        let (full, next) = (AtomicBool::new(false), AtomicPtr::new(ptr::null_mut()));
        Self { slots: [const { Slot::new() }; 256], full, next }
    }

    fn next(&self) -> Option<&'static Self> {
        // SAFETY: null, or a table that `grow` leaked.
        unsafe { self.next.load(Ordering::SeqCst).as_ref() }
    }

    /// Full tables are skipped: a cache of thousands of tables maps each of them.
    pub(super) fn take(&'static self, start: usize, end: usize) -> Range {
        let mut table = self;
        loop {
            if !table.full.load(Ordering::SeqCst) {
                if let Some(slot) = table.slots.iter().find(|slot| slot.take(start, end)) {
                    return Range { table, slot };
                }
                table.full.store(true, Ordering::SeqCst);
            }
            table = table.next().unwrap_or_else(|| table.grow());
        }
    }

    fn grow(&self) -> &'static Self {
        let new = Box::into_raw(Box::new(Self::new()));
        let table = match self.next.compare_exchange(
            ptr::null_mut(),
            new,
            Ordering::SeqCst,
            Ordering::SeqCst,
        ) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: `new` just came from `Box::into_raw`, and no other thread has seen it.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        };
        // SAFETY: not null, and leaked from now on.
        unsafe { &*table }
    }

    pub(super) fn contains(&'static self, address: usize) -> bool {
        let mut table = Some(self);
        while let Some(some) = table {
            if some.slots.iter().any(|slot| slot.contains(address)) {
                return true;
            }
            table = some.next();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Small enough for Miri, and large enough for the table to grow while other threads search it.
    const RANGES: usize = 300;

    #[test]
    fn ranges_are_found_while_they_are_watched_and_not_after() {
        static OWN: Table = Table::new();
        let table = &OWN;
        let start_of = |thread: usize, index: usize| (1 + thread * RANGES + index) << 12;
        thread::scope(|scope| {
            for thread in 0..2 {
                scope.spawn(move || {
                    let ranges: Vec<_> = (0..RANGES)
                        .map(|index| {
                            table.take(start_of(thread, index), start_of(thread, index) + 4096)
                        })
                        .collect();
                    for index in (0..RANGES).step_by(37) {
                        assert!(table.contains(start_of(thread, index)));
                        assert!(table.contains(start_of(thread, index) + 4095));
                    }
                    ranges.iter().for_each(Range::free);
                    assert!(
                        (0..RANGES)
                            .step_by(37)
                            .all(|index| !table.contains(start_of(thread, index)))
                    );
                });
            }
        });
        assert!(table.next().is_some(), "two threads need more slots than one table has");
    }
}
