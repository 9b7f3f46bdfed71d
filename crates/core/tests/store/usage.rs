//! Usage records: a process that only reads writes one small file a day. A cache over its cap evicts the least recently
//! used entries, but none that the process itself has written or read, whatever the clock shows.

use crate::history::{compact, dump, open_with};
use std::ops::ControlFlow;
use varve_core::testing::sim::{Model, SimVfs};
use varve_core::{Handle, Options, TopOrder};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const TODAY: u64 = 20_000;

fn open_on(vfs: &SimVfs, day: u64, bytes_max: u64) -> (Handle, u32) {
    open_as(vfs, day, Options { bytes_max, ..Options::default() })
}

fn open_as(vfs: &SimVfs, day: u64, options: Options) -> (Handle, u32) {
    let mut handle = open_with(vfs, options).expect("open");
    handle.store().set_now(day * DAY_MS + 1);
    let id = handle.namespace("n", "1").expect("namespace");
    (handle, id)
}

fn commit_on(handle: &mut Handle, day: u64) {
    if let Some(pending) = handle.begin_commit() {
        pending.run(None, day * DAY_MS + 1).expect("commit");
    }
}

fn key(at: u32) -> Vec<u8> {
    format!("key {at}").into_bytes()
}

/// About a kilobyte that cannot be compressed.
fn value(at: u32) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(u64::from(at));
    (0..1_000).map(|_| random.u8(..)).collect()
}

/// A process that writes entries on one day.
fn write_on(vfs: &SimVfs, day: u64, keys: std::ops::Range<u32>, bytes_max: u64) {
    let (mut handle, id) = open_on(vfs, day, bytes_max);
    keys.for_each(|at| handle.put(id, &key(at), &value(at)).expect("put"));
    commit_on(&mut handle, day);
    compact(&handle, false).expect("compact");
    handle.store().close().expect("close");
}

/// A process that reads entries on one day.
fn read_on(vfs: &SimVfs, day: u64, keys: std::ops::Range<u32>) {
    let (handle, id) = open_on(vfs, day, u64::MAX);
    keys.for_each(|at| assert!(handle.has(id, &key(at)).expect("has"), "entry {at} is missing"));
    handle.store().close().expect("close");
}

fn present(vfs: &SimVfs, day: u64) -> Vec<u32> {
    let (handle, id) = open_on(vfs, day, u64::MAX);
    let found = dump(&handle, id);
    assert!(handle.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify").sound);
    (0..10_000).filter(|at| found.contains_key(&key(*at))).collect()
}

fn total_bytes(vfs: &SimVfs) -> u64 {
    bytes_of(&open_on(vfs, TODAY, u64::MAX).0)
}

/// The size of all tables and of the blobs that they name.
fn bytes_of(handle: &Handle) -> u64 {
    let stats = handle.store().stats().expect("stats");
    stats.table_bytes + stats.blob_bytes
}

fn records(vfs: &SimVfs) -> Vec<String> {
    varve_core::vfs::Vfs::folder(vfs, "used").expect("folder").list().expect("list")
}

#[test]
fn a_reader_writes_usage_once_a_day_and_never_on_the_day_of_the_commit() {
    let vfs = SimVfs::new();
    write_on(&vfs, TODAY, 0..300, u64::MAX);
    let before = vfs.operation_count();
    read_on(&vfs, TODAY, 0..300);
    assert_eq!(vfs.operation_count(), before, "reads on the day of the commit");
    for day in 1..4 {
        read_on(&vfs, TODAY + day, 0..200);
        assert_eq!(records(&vfs).len() as u64, day, "the first build of a day");
        let after = vfs.operation_count();
        read_on(&vfs, TODAY + day, 0..200);
        read_on(&vfs, TODAY + day, 50..100);
        assert_eq!(vfs.operation_count(), after, "later builds of a day");
    }
    read_on(&vfs, TODAY + 3, 0..300);
    assert_eq!(records(&vfs).len(), 4, "a build that reads more");
    // The clock shows yesterday, but these entries have a later use on record.
    let after = vfs.operation_count();
    read_on(&vfs, TODAY + 2, 0..300);
    assert_eq!(vfs.operation_count(), after);
}

#[test]
fn a_read_only_cache_and_a_process_without_a_clock_record_no_usage() {
    let vfs = SimVfs::new();
    write_on(&vfs, TODAY, 0..10, u64::MAX);
    let before = vfs.operation_count();
    for options in [Options { read_only: true, ..Options::default() }, Options::default()] {
        let read_only = options.read_only;
        let mut handle = open_with(&vfs, options).expect("open");
        if read_only {
            handle.store().set_now((TODAY + 1) * DAY_MS);
        }
        let id = handle.namespace("n", "1").expect("namespace");
        assert!(handle.has(id, &key(1)).expect("has"));
        handle.store().flush().expect("flush");
        handle.store().close().expect("close");
    }
    assert_eq!(vfs.operation_count(), before);
}

#[test]
fn a_usage_record_that_cannot_be_written_fails_no_call() {
    use varve_core::testing::sim::{Call, Effect, Fault};
    for call in [Call::CreateNew, Call::Append] {
        let vfs = SimVfs::new();
        write_on(&vfs, TODAY, 0..10, u64::MAX);
        let effect = Effect::Error(std::io::ErrorKind::StorageFull);
        vfs.fail(Fault { call: Some(call), after: 0, forever: true, effect });
        read_on(&vfs, TODAY + 1, 0..10);
    }
}

#[test]
fn eviction_keeps_recently_read_entries_and_removes_the_least_recently_used() {
    for restless in [false, true] {
        let vfs = SimVfs::new();
        write_on(&vfs, TODAY, 0..100, u64::MAX);
        write_on(&vfs, TODAY + 1, 100..200, u64::MAX);
        if restless {
            // Entries keep their days when their tables are merged into one.
            compact(&open_on(&vfs, TODAY + 1, u64::MAX).0, true).expect("compact");
        }
        read_on(&vfs, TODAY + 4, 0..50);
        write_on(&vfs, TODAY + 5, 200..220, 140 << 10);
        let present = present(&vfs, TODAY + 5);
        assert!(total_bytes(&vfs) <= 140 << 10, "{} bytes", total_bytes(&vfs));
        assert!((0..50).all(|at| present.contains(&at)), "read the day before: {present:?}");
        assert!((200..220).all(|at| present.contains(&at)), "just written: {present:?}");
        assert!(!(50..100).any(|at| present.contains(&at)), "unread for longest: {present:?}");
        let left = (100..200).filter(|at| present.contains(at)).count();
        assert!((20..70).contains(&left), "entries of one day are evicted in part: {left} left");
    }
}

#[test]
fn eviction_frees_at_most_a_third_of_the_cap_and_keeps_entries_just_written() {
    let vfs = SimVfs::new();
    let cap = 400 << 10;
    for step in 0..60 {
        write_on(&vfs, TODAY + step / 10, step as u32 * 50..step as u32 * 50 + 50, cap);
        let bytes = total_bytes(&vfs);
        assert!(bytes <= cap, "{bytes} after {step}");
        assert!(
            step < 10 || bytes >= cap * 2 / 3,
            "{bytes} after {step}: more was evicted than necessary"
        );
        let present = present(&vfs, TODAY + step / 10);
        let newest = step as u32 * 50..step as u32 * 50 + 50;
        assert!(
            newest.clone().all(|at| present.contains(&at)),
            "the entries just written are missing"
        );
    }
}

#[test]
fn entries_that_a_process_wrote_or_read_survive_its_evictions_at_any_clock() {
    for seed in 0..50 {
        let mut random = fastrand::Rng::with_seed(seed);
        let vfs = SimVfs::new();
        let cap = 300 << 10;
        let mut day = TODAY;
        for step in 0..6 {
            day = match random.u32(..3) {
                0 => day + random.u64(..3),
                1 => day.saturating_sub(3_650),
                _ => day + 3_650,
            };
            let from = step * 100;
            let (mut handle, id) = open_on(&vfs, day, cap);
            let old = dump(&handle, id).into_keys().take(40).collect::<Vec<_>>();
            old.iter().for_each(|key| assert!(handle.has(id, key).expect("has")));
            (from..from + 100).for_each(|at| handle.put(id, &key(at), &value(at)).expect("put"));
            commit_on(&mut handle, day);
            // The clock changes while the process runs.
            handle.store().set_now((day + random.u64(..3_650)) * DAY_MS);
            compact(&handle, random.bool()).expect("compact");
            compact(&handle, true).expect("compact");
            let found = dump(&handle, id);
            assert!(
                old.iter().all(|key| found.contains_key(key)),
                "seed {seed}, step {step}: an entry read by this process was evicted"
            );
            let own = (from..from + 100).all(|at| found.get(&key(at)) == Some(&value(at)));
            assert!(own, "seed {seed}, step {step}: an entry written by this process was evicted");
            handle.store().close().expect("close");
        }
    }
}

#[test]
fn an_evicted_entry_never_brings_an_older_value_back() {
    let vfs = SimVfs::new();
    let (mut slow, slow_id) = open_on(&vfs, TODAY, u64::MAX);
    slow.put(slow_id, &key(1), b"older").expect("put");
    commit_on(&mut slow, TODAY);
    let (mut other, id) = open_on(&vfs, TODAY, u64::MAX);
    (0..300).for_each(|at| other.put(id, &key(at), &value(at)).expect("put"));
    commit_on(&mut other, TODAY);
    other.store().close().expect("close");
    // A third process evicts while the log of the first one is still in use.
    let (third, id) = open_on(&vfs, TODAY + 1, 64 << 10);
    compact(&third, false).expect("compact");
    let found = third.get(id, &key(1), <[u8]>::to_vec).expect("get");
    assert!(found.is_none() || found == Some(value(1)), "{found:?}");
}

#[test]
fn top_lists_the_largest_the_oldest_and_the_never_used_entries() {
    let vfs = SimVfs::new();
    write_on(&vfs, TODAY, 0..10, u64::MAX);
    write_on(&vfs, TODAY + 2, 10..20, u64::MAX);
    read_on(&vfs, TODAY + 3, 0..5);
    let (handle, _) = open_on(&vfs, TODAY + 3, u64::MAX);
    let top = |order, limit| {
        let found = handle.store().top(order, Some("n"), limit).expect("top");
        let number = |key: &[u8]| {
            String::from_utf8_lossy(key).replace("key ", "").parse::<u32>().expect("number")
        };
        found
            .into_iter()
            .map(|entry| (number(&entry.key), entry.used_ms.map(|used| used / DAY_MS)))
            .collect::<Vec<_>>()
    };
    let mut never: Vec<u32> = top(TopOrder::NeverUsed, 100).into_iter().map(|(at, _)| at).collect();
    never.sort_unstable();
    assert_eq!(never, (5..20).collect::<Vec<_>>());
    let mut oldest: Vec<u32> = top(TopOrder::Oldest, 5).into_iter().map(|(at, _)| at).collect();
    oldest.sort_unstable();
    assert_eq!(oldest, (5..10).collect::<Vec<_>>());
    let all = top(TopOrder::Largest, 100);
    assert_eq!(all.len(), 20);
    assert!(all.iter().all(|(at, used)| (*used == Some(TODAY + 3)) == (*at < 5)), "{all:?}");
    let stats = handle.store().stats().expect("stats");
    assert_eq!((stats.namespaces[0].entries, stats.namespaces[0].never_used_entries), (20, 15));
}

#[test]
fn a_year_of_usage_records_stays_within_nine_files() {
    let vfs = SimVfs::new();
    write_on(&vfs, TODAY, 0..500, u64::MAX);
    for day in 1..365 {
        read_on(&vfs, TODAY + day, (day as u32 % 7) * 50..(day as u32 % 7) * 50 + 50);
        assert!(records(&vfs).len() <= 9, "{:?}", records(&vfs));
    }
    let (mut handle, id) = open_on(&vfs, TODAY + 365, u64::MAX);
    (0..490).for_each(|at| handle.delete(id, &key(at)).expect("delete"));
    commit_on(&mut handle, TODAY + 365);
    compact(&handle, true).expect("compact");
    handle.store().close().expect("close");
    assert_eq!(present(&vfs, TODAY + 365), (490..500).collect::<Vec<_>>());
}

/// The power fails after each operation that writes, merges and removes records, and during an eviction.
#[test]
fn a_power_failure_while_usage_is_recorded_loses_no_entry() {
    let vfs = SimVfs::new();
    write_on(&vfs, TODAY, 0..60, u64::MAX);
    write_on(&vfs, TODAY + 1, 60..80, u64::MAX);
    let from = vfs.operation_count();
    for day in 2..14 {
        read_on(&vfs, TODAY + day, (day as u32)..(day as u32 * 3));
    }
    compact(&open_on(&vfs, TODAY + 14, u64::MAX).0, true).expect("compact");
    let kept = vfs.operation_count();
    let (evicting, _) = open_on(&vfs, TODAY + 15, 40 << 10);
    compact(&evicting, false).expect("compact");
    drop(evicting);
    let mut states = 0;
    for state in vfs.crash_states(Model::Weak, from, 7, 4) {
        let (handle, id) = open_on(&state.vfs, TODAY + 16, u64::MAX);
        let found = dump(&handle, id);
        let sound = found
            .iter()
            .all(|(name, bytes)| (0..80).any(|at| *name == key(at) && *bytes == value(at)));
        assert!(sound, "{}", state.description());
        assert!(
            state.prefix > kept || found.len() == 80,
            "{}: {} entries",
            state.description(),
            found.len()
        );
        handle.store().top(TopOrder::NeverUsed, None, 10).expect("top");
        assert!(handle.has(id, &key(0)).is_ok());
        handle.store().close().expect("close");
        states += 1;
    }
    assert!(states > 300, "{states} states");
    println!("{states} crash states");
}

/// Processes write, overwrite, delete, read and crash, with some values in blobs. The cap applies after each
/// compaction; later commits are in logs.
#[test]
fn every_compaction_in_ten_thousand_steps_leaves_the_cache_within_its_cap() {
    const CAP: u64 = 100 << 10;
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let vfs = SimVfs::new();
    let open = || {
        open_as(
            &vfs,
            TODAY,
            Options { bytes_max: CAP, blob_bytes_min: 8_000, ..Options::default() },
        )
    };
    let ((mut handle, mut id), mut compactions, mut dropped) = (open(), 0, 0);
    for _ in 0..10_000 {
        let at = random.u32(..2_000);
        match random.u32(..100) {
            0..60 => {
                let length = [10, 300, 1_000, 9_000][random.usize(..4)];
                let value: Vec<u8> = value(at).into_iter().cycle().take(length).collect();
                handle.put(id, &key(at), &value).expect("put");
            }
            60..65 => handle.delete(id, &key(at)).expect("delete"),
            65..85 => drop(handle.has(id, &key(at)).expect("has")),
            85..97 => commit_on(&mut handle, TODAY),
            97 => (handle, id) = open(),
            _ => {
                let report = compact(&handle, random.bool()).expect("compact");
                let bytes = bytes_of(&handle);
                assert!(bytes <= CAP, "{bytes} after {report:?}");
                compactions += 1;
                dropped += report.entries_dropped;
            }
        }
    }
    assert!(
        compactions > 100 && dropped > 500,
        "{compactions} compactions, {dropped} entries dropped"
    );
}
