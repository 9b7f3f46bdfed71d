//! Counters, separate for each thread: tests run in parallel, and with a `SerialPool` the engine does all its work on
//! the calling thread.

use std::cell::Cell;

/// Calls and bytes since the thread began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) allocations: u64,
    /// An allocation that moves or grows counts with all its new bytes.
    pub(crate) allocated_bytes: u64,
    pub(crate) tables: FileCounts,
    /// Logs and manifests.
    pub(crate) others: FileCounts,
    pub(crate) folder_syncs: u64,
}

/// The counts of one kind of file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileCounts {
    pub(crate) appends: u64,
    pub(crate) appended_bytes: u64,
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    pub(crate) syncs: u64,
}

#[derive(Clone, Copy)]
struct Counter {
    counts: Counts,
    /// The depth of `uncounted`, whose work is not the engine's.
    paused: u32,
}

thread_local! {
    // Has no destructor and is initialized at compile time, because the allocator may use it at any moment.
    static COUNTER: Cell<Counter> = const { Cell::new(Counter { counts: Counts::ZERO, paused: 0 }) };
}

/// Counts a change, unless counting is paused.
pub(crate) fn count(change: impl FnOnce(&mut Counts)) {
    let mut counter = COUNTER.get();
    if counter.paused == 0 {
        change(&mut counter.counts);
        COUNTER.set(counter);
    }
}

/// Runs `work` without counting.
pub(crate) fn uncounted<R>(work: impl FnOnce() -> R) -> R {
    let step = |by: i32| {
        COUNTER
            .set(Counter { paused: COUNTER.get().paused.wrapping_add_signed(by), ..COUNTER.get() })
    };
    step(1);
    let answer = work();
    step(-1);
    answer
}

/// Runs `work` and returns its counts.
pub(crate) fn counted<R>(work: impl FnOnce() -> R) -> (Counts, R) {
    let before = COUNTER.get().counts;
    let answer = work();
    (COUNTER.get().counts.since(&before), answer)
}

impl Counts {
    const ZERO: Self = Self {
        allocations: 0,
        allocated_bytes: 0,
        tables: FileCounts::ZERO,
        others: FileCounts::ZERO,
        folder_syncs: 0,
    };

    fn since(&self, before: &Self) -> Self {
        Self {
            allocations: self.allocations - before.allocations,
            allocated_bytes: self.allocated_bytes - before.allocated_bytes,
            tables: self.tables.since(&before.tables),
            others: self.others.since(&before.others),
            folder_syncs: self.folder_syncs - before.folder_syncs,
        }
    }

    /// Tables and all other files.
    pub(crate) fn files(&self) -> FileCounts {
        let (tables, others) = (self.tables, self.others);
        FileCounts {
            appends: tables.appends + others.appends,
            appended_bytes: tables.appended_bytes + others.appended_bytes,
            reads: tables.reads + others.reads,
            read_bytes: tables.read_bytes + others.read_bytes,
            syncs: tables.syncs + others.syncs,
        }
    }
}

impl FileCounts {
    const ZERO: Self = Self { appends: 0, appended_bytes: 0, reads: 0, read_bytes: 0, syncs: 0 };

    fn since(&self, before: &Self) -> Self {
        Self {
            appends: self.appends - before.appends,
            appended_bytes: self.appended_bytes - before.appended_bytes,
            reads: self.reads - before.reads,
            read_bytes: self.read_bytes - before.read_bytes,
            syncs: self.syncs - before.syncs,
        }
    }
}
