//! Commits, checkpoints, compaction and opening.

use crate::bounds::check;
use crate::count::{Counts, counted};
use crate::files::CountingVfs;
use crate::store::{Data, commit, compact, open};
use varve_core::{Durability, Handle};

/// One durable commit into an empty directory, including the puts. It writes a table.
fn write(workload: &str, count: usize, value_bytes: usize) {
    let data = Data::new(count, 8, value_bytes);
    let (mut handle, namespace) = open(&CountingVfs::default());
    let (counts, ()) =
        counted(|| commit(&mut handle, namespace, data.entries(), Durability::Durable));
    let each = |total: u64| total as f64 / count as f64;
    let (tables, others) = (counts.tables, counts.others);
    check(
        workload,
        &[
            ("allocations per entry", each(counts.allocations)),
            ("allocated bytes per entry", each(counts.allocated_bytes)),
            ("bytes per append to the table", tables.appended_bytes as f64 / tables.appends as f64),
            ("table bytes per entry", each(tables.appended_bytes)),
            ("appends to other files", others.appends as f64),
            ("bytes of other files", others.appended_bytes as f64),
            ("syncs of the table", tables.syncs as f64),
            ("syncs of other files", others.syncs as f64),
            ("syncs of the directory", counts.folder_syncs as f64),
            ("reads of the table", tables.reads as f64),
        ],
    );
}

#[test]
fn a_write_of_small_values_stays_within_its_bounds() {
    write("write/value_4", 100_000, 4);
}

#[test]
fn a_write_of_large_values_stays_within_its_bounds() {
    write("write/value_32Ki", 300, 32 << 10);
}

/// A full merge of eight tables. Only keys are merged, since values of 4 bytes are stored inline.
#[test]
fn a_full_compaction_stays_within_its_bounds() {
    const COMMITS: usize = 8;
    let count = 60_000 * COMMITS; // a commit of 20,000 such entries would stay in the log
    let data = Data::new(count, 8, 4);
    let folder = CountingVfs::default();
    let (mut handle, namespace) = open(&folder);
    for part in data.entries().parts(COMMITS) {
        commit(&mut handle, namespace, part, Durability::Relaxed);
    }
    drop(handle);
    let (handle, _) = open(&folder);
    let key_blocks = folder.key_blocks();
    let (counts, report) = counted(|| compact(&handle, true));
    assert_eq!(report.tables_merged, COMMITS as u64, "every commit wrote a table");
    let files = counts.files();
    let each = |total: u64| total as f64 / count as f64;
    check(
        "compaction/commits_8/full",
        &[
            ("allocations per entry", each(counts.allocations)),
            ("allocated bytes per entry", each(counts.allocated_bytes)),
            ("reads per block of keys", counts.tables.reads as f64 / key_blocks as f64),
            ("bytes read per entry", each(files.read_bytes)),
            ("bytes written per entry", each(files.appended_bytes)),
            (
                "bytes per append to tables",
                counts.tables.appended_bytes as f64 / counts.tables.appends as f64,
            ),
            ("syncs of files", files.syncs as f64),
            ("syncs of the directory", counts.folder_syncs as f64),
        ],
    );
}

const COMMITS: usize = 1_000;
const ENTRIES_OF_COMMIT: usize = 100;

/// Small commits to the log. The first one, which begins the log, is not counted.
fn sequential(durability: Durability) -> (CountingVfs, Handle, Counts) {
    let data = Data::new((COMMITS + 1) * ENTRIES_OF_COMMIT, 16, 128);
    let folder = CountingVfs::default();
    let (mut handle, namespace) = open(&folder);
    let mut parts = data.entries().parts(COMMITS + 1);
    commit(&mut handle, namespace, parts.next().expect("a first commit"), durability);
    let (counts, ()) =
        counted(|| parts.for_each(|part| commit(&mut handle, namespace, part, durability)));
    (folder, handle, counts)
}

fn check_sequential(workload: &str, counts: &Counts) {
    let files = counts.files();
    let each = |total: u64| total as f64 / COMMITS as f64;
    check(
        workload,
        &[
            ("allocations per commit", each(counts.allocations)),
            ("allocated bytes per commit", each(counts.allocated_bytes)),
            ("appends per commit", each(files.appends)),
            ("bytes written per commit", each(files.appended_bytes)),
            ("syncs of files per commit", each(files.syncs)),
            ("syncs of the directory", counts.folder_syncs as f64),
            ("reads", files.reads as f64),
        ],
    );
}

#[test]
fn relaxed_commits_stay_within_their_bounds() {
    let (.., counts) = sequential(Durability::Relaxed);
    check_sequential("sequential/relaxed", &counts);
}

#[test]
fn durable_commits_stay_within_their_bounds() {
    let (.., counts) = sequential(Durability::Durable);
    check_sequential("sequential/durable", &counts);
}

#[test]
fn a_checkpoint_of_the_own_log_stays_within_its_bounds() {
    let (_, handle, counts) = sequential(Durability::Relaxed);
    let log_bytes = counts.files().appended_bytes as f64;
    let (checkpoint, _) = counted(|| compact(&handle, false));
    check(
        "checkpoint/own",
        &[
            ("bytes read per byte of the log", checkpoint.files().read_bytes as f64 / log_bytes),
            (
                "bytes written per byte of the log",
                checkpoint.files().appended_bytes as f64 / log_bytes,
            ),
            ("allocations per commit", checkpoint.allocations as f64 / COMMITS as f64),
        ],
    );
}

/// The log is not sealed, so the process that checkpoints it cannot rule out further commits.
#[test]
fn a_checkpoint_of_the_log_of_a_dead_writer_stays_within_its_bounds() {
    let (folder, handle, counts) = sequential(Durability::Relaxed);
    drop(handle);
    let log_bytes = counts.files().appended_bytes as f64;
    let (opening, (handle, _)) = counted(|| open(&folder));
    let (checkpoint, _) = counted(|| compact(&handle, false));
    check(
        "checkpoint/of_a_dead_writer",
        &[
            (
                "opening: bytes read per byte of the log",
                opening.files().read_bytes as f64 / log_bytes,
            ),
            ("opening: allocations per commit", opening.allocations as f64 / COMMITS as f64),
            ("bytes read per byte of the log", checkpoint.files().read_bytes as f64 / log_bytes),
            (
                "bytes written per byte of the log",
                checkpoint.files().appended_bytes as f64 / log_bytes,
            ),
            ("allocations per commit", checkpoint.allocations as f64 / COMMITS as f64),
        ],
    );
}

/// Opens one table that a manifest names.
#[test]
fn opening_a_cache_stays_within_its_bounds() {
    let data = Data::new(100_000, 8, 4);
    let folder = CountingVfs::default();
    let (mut handle, namespace) = open(&folder);
    commit(&mut handle, namespace, data.entries(), Durability::Relaxed);
    compact(&handle, true);
    handle.store().close().expect("closes");
    drop(handle);
    let (counts, (handle, namespace)) = counted(|| open(&folder));
    let (first, _) = counted(|| handle.get(namespace, &data.keys[..8], <[u8]>::len));
    let files = counts.files();
    check(
        "open/entries_100000",
        &[
            ("bytes read", files.read_bytes as f64),
            ("reads", files.reads as f64),
            ("bytes written", files.appended_bytes as f64),
            ("allocations", counts.allocations as f64),
            ("first lookup: bytes read", first.files().read_bytes as f64),
            ("first lookup: reads", first.files().reads as f64),
        ],
    );
}
