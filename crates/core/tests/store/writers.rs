//! Many writers use one directory at the same time, some without locks, while others checkpoint and compact. No
//! acknowledged commit is lost, and the directory stays small.

use crate::history::{Expected, commit, compact, dump, open, random_value};
use crate::hooked::{Hook, hooked, hooked_with, open_seeded, put, with_a_commit_in};
use crate::model::same_content;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{Durability, Handle};

/// The most files that a directory may hold once every process has closed.
const FILES_MAX: usize = 16;

fn named(vfs: &SimVfs) -> (Handle, u32) {
    let mut handle = open(vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    (handle, id)
}

#[test]
fn writers_that_take_turns_lose_no_commit() {
    let seed = fastrand::u64(..u64::MAX / 2);
    println!("seed {seed}");
    for seed in seed..seed + 300 {
        take_turns(seed);
    }
}

/// Two commits may have equal ticks if neither writer has read the other's commit. Every reader then decides by the
/// number of the writer, in whatever order it reads the two.
#[test]
fn all_readers_agree_on_the_newer_of_two_simultaneous_commits() {
    let vfs = SimVfs::new();
    let (mut first, id) = named(&vfs);
    let (mut second, _) = named(&vfs);
    for (handle, value) in [(&mut first, b"1"), (&mut second, b"2")] {
        handle.put(id, b"own", value).expect("put");
        commit(handle, Durability::Relaxed).expect("commit");
    }
    for round in 0..10u8 {
        for handle in [&first, &second] {
            handle.store().refresh().expect("refresh");
        }
        // Both begin from the same state. The one with the higher number commits first and is read first.
        for (handle, value) in [(&mut second, [round, 2]), (&mut first, [round, 1])] {
            handle.put(id, b"shared", &value).expect("put");
            commit(handle, Durability::Relaxed).expect("commit");
        }
        let (late, _) = named(&vfs);
        second.store().refresh().expect("refresh");
        first.store().refresh().expect("refresh");
        for (name, handle) in [("first", &first), ("second", &second), ("late", &late)] {
            let found = handle.get(id, b"shared", <[u8]>::to_vec).expect("get");
            assert_eq!(found, Some(vec![round, 2]), "{name}, round {round}");
        }
    }
}

/// Killed native builds left one log each. A build without locks never checkpointed them, and 42 files piled up.
#[test]
fn a_process_without_locks_checkpoints_logs_of_killed_writers_and_live_writers_lose_nothing() {
    let vfs = SimVfs::new();
    let (mut living, id) = named(&vfs);
    for number in 0..40u32 {
        living.put(id, format!("living {number}").as_bytes(), b"value").expect("put");
        commit(&mut living, Durability::Relaxed).expect("commit");
        let (mut killed, _) = named(&vfs);
        killed.put(id, format!("killed {number}").as_bytes(), b"value").expect("put");
        commit(&mut killed, Durability::Relaxed).expect("commit");
        drop(killed);
        if number % 10 == 9 {
            let (lockless, _) = named(&vfs.lockless());
            compact(&lockless, true).expect("compact");
            assert!(vfs.list().expect("list").len() <= FILES_MAX);
        }
    }
    let (fresh, id) = named(&vfs);
    assert_eq!(dump(&fresh, id).len(), 80);
}

/// Each writer has its own keys. Every acknowledged commit must be found at the end, whichever process compacts and
/// when.
fn take_turns(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let vfs = if random.bool() { SimVfs::new().without_locks() } else { SimVfs::new() };
    // Some cannot test the locks of other processes.
    let places: Vec<_> =
        (0..4).map(|_| if random.bool() { vfs.lockless() } else { vfs.clone() }).collect();
    let mut writers: Vec<_> = places.iter().map(named).collect();
    let mut content = Expected::new();
    for step in 0..random.usize(10..80) {
        let which = random.usize(..4);
        let (handle, id) = &mut writers[which];
        match random.u32(..12) {
            0..8 => {
                let (key, value) = (
                    format!("{which} {}", random.u32(..6)).into_bytes(),
                    random_value(&mut random),
                );
                handle.put(*id, &key, &value).expect("put");
                content.insert(key, value);
                commit(handle, Durability::Relaxed)
                    .unwrap_or_else(|error| panic!("seed {seed} step {step}: {error}"));
            }
            8..10 => {
                compact(handle, random.bool())
                    .unwrap_or_else(|error| panic!("seed {seed} step {step}: {error}"));
            }
            10 => drop(handle.store().refresh().expect("refresh")),
            _ => {
                if random.bool() {
                    handle.store().close().expect("close");
                }
                writers[which] = named(&places[which]);
            }
        }
        let (mut fresh, id) = named(&vfs);
        let _ = fresh.namespace("n", "1");
        let found = dump(&fresh, id);
        assert!(found == content, "seed {seed} step {step}");
    }
    drop(writers);
    let (handle, id) = named(&vfs);
    compact(&handle, true).expect("compact");
    same_content(&dump(&handle, id), &content);
}

#[test]
fn concurrent_writers_lose_no_commit_while_others_compact() {
    for round in 0..20 {
        let vfs = if round % 2 == 0 { SimVfs::new().without_locks() } else { SimVfs::new() };
        std::thread::scope(|threads| {
            for writer in 0..4u32 {
                let vfs = vfs.clone();
                threads.spawn(move || {
                    let (mut handle, id) = named(&vfs);
                    for number in 0..60u32 {
                        let key = format!("{writer} {number}");
                        handle.put(id, key.as_bytes(), key.as_bytes()).expect("put");
                        commit(&mut handle, Durability::Relaxed).expect("commit");
                    }
                    handle.store().close().expect("close");
                });
            }
            for _ in 0..2 {
                let vfs = vfs.clone();
                threads.spawn(move || {
                    let (handle, _) = named(&vfs);
                    for number in 0..25 {
                        // Losing every race is a valid outcome; losing data is not.
                        if let Err(error) = compact(&handle, number % 5 == 0) {
                            assert_eq!(error.code(), "BUSY", "{error}");
                        }
                    }
                });
            }
        });
        let (handle, id) = named(&vfs);
        let content: Expected = (0..4u32)
            .flat_map(|writer| {
                (0..60u32).map(move |number| format!("{writer} {number}").into_bytes())
            })
            .map(|key| (key.clone(), key))
            .collect();
        same_content(&dump(&handle, id), &content);
        compact(&handle, true).expect("compact");
        same_content(&dump(&handle, id), &content);
    }
}

#[test]
fn a_thousand_commits_and_a_thousand_processes_leave_few_files() {
    for (processes, commits, value_bytes) in
        [(1, 1_000, 100), (1, 10_000, 100), (1_000, 1, 100), (1_000, 1, 0)]
    {
        let vfs = SimVfs::new();
        for process in 0..processes {
            let (mut handle, id) = named(&vfs);
            for number in 0..commits {
                handle
                    .put(id, format!("{process} {number}").as_bytes(), &[7; 100][..value_bytes])
                    .expect("put");
                commit(&mut handle, Durability::Relaxed).expect("commit");
            }
            handle.store().close().expect("close");
        }
        let files = vfs.list().expect("list");
        assert!(files.len() <= FILES_MAX, "{processes} x {commits} x {value_bytes}: {files:?}");
        let (handle, id) = named(&vfs);
        assert_eq!(dump(&handle, id).len(), processes * commits);
    }
}

/// A commit ended its own log each time once the logs of other live processes, which only their writers may checkpoint,
/// were large enough together.
#[test]
fn large_logs_of_other_processes_do_not_end_the_log_of_this_one() {
    let vfs = SimVfs::new();
    let value = vec![7; 900 << 10];
    let mut others: Vec<(Handle, u32)> = (0..2).map(|_| named(&vfs)).collect();
    for (other, id) in &mut others {
        for number in 0..60u32 {
            other.put(*id, &number.to_le_bytes(), &value).expect("put");
            commit(other, Durability::Relaxed).expect("commit");
        }
    }
    let (mut handle, id) = named(&vfs);
    let mut writers = Vec::new();
    for number in 0..3u32 {
        handle.put(id, &number.to_le_bytes(), b"small").expect("put");
        commit(&mut handle, Durability::Relaxed).expect("commit");
        writers.push(handle.store().status().writer.expect("a log is open for the next commit"));
    }
    assert!(writers.iter().all(|writer| *writer == writers[0]), "{writers:?}");
}

/// A virus scanner has a file open, so that it cannot be renamed or removed. Compaction failed, and closing with it. It
/// skips that file, and the next compaction removes it.
#[test]
fn compaction_skips_files_that_another_program_has_open() {
    let vfs = SimVfs::new().windows();
    for round in 0..3u8 {
        let mut handle = open(&vfs).expect("open");
        let id = handle.namespace("n", "1").expect("namespace");
        handle.put(id, b"key", &[round]).expect("put");
        commit(&mut handle, Durability::Durable).expect("commit");
        handle.store().flush().expect("flush");
    }
    for name in vfs.names() {
        vfs.watch(Some(&name));
        let handle = open(&vfs).expect("open");
        compact(&handle, true).expect("compact");
        handle.store().close().expect("close");
    }
    vfs.watch(None);
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    assert_eq!(handle.get(id, b"key", <[u8]>::to_vec).expect("get"), Some(vec![2]));
    compact(&handle, true).expect("compact");
    assert_eq!(vfs.names().iter().filter(|name| name.ends_with(".log")).count(), 0, "{vfs:?}");
}

/// How often the compaction lists the directory before the slow writer goes on.
const LISTS_UNBEGUN: u32 = 12;

/// A writer had created its log but not begun it. A compaction with a lower number checkpointed a log with a higher
/// one, that another one had claimed, and did not list the log between the two: its commits were lost.
#[test]
fn a_commit_in_a_log_that_a_compaction_finds_without_a_start_stays() {
    let (vfs, _first, _) = with_a_commit_in(SimVfs::new().without_locks());
    let (other, mut slow_log, mut lists) = (vfs.clone(), None, 0);
    let hook: Hook = Box::new(move |call, name| {
        if call == "list" && slow_log.is_none() && other.names().contains(&"1.log".to_owned()) {
            let elsewhere = other.fork();
            put(&mut open_seeded(&elsewhere, 4), b"slow");
            slow_log = Some(elsewhere.contents("2.log"));
            other.create_new("2.log").expect("create");
            let mut third = open_seeded(&other, 5);
            put(&mut third, b"third");
            other.rename("3.log", "3-4.taken").expect("claim");
        } else if let Some(log) = &slow_log {
            lists += u32::from(call == "list");
            if lists == LISTS_UNBEGUN || name == "manifest-2" && lists < LISTS_UNBEGUN {
                lists = LISTS_UNBEGUN;
                other.set_contents("2.log", log.clone());
            }
        }
    });
    compact(&hooked_with(&vfs, hook, 3), true).expect("compact");
    let mut reader = open(&vfs).expect("open");
    let id = reader.namespace("n", "1").expect("namespace");
    for key in [b"key".as_slice(), b"third", b"slow"] {
        let damage = reader.store().status().damage;
        assert!(reader.has(id, key).expect("has"), "{key:?}: {:?}, {damage:?}", vfs.names());
    }
}

/// Commits a value and returns whether a compaction is due.
fn is_due(handle: &mut Handle, id: u32, value: &[u8]) -> bool {
    handle.put(id, b"key", value).expect("put");
    let pending = handle.begin_commit().expect("a commit");
    pending.run(Some(Durability::Relaxed), 1_000).expect("commit").maintenance_due
}

/// Once the logs of other processes had 32 MiB, each commit of a process compacted, and later each time that all of
/// them had 32 MiB more: with eight processes, eight times as often as one alone.
#[test]
fn a_process_compacts_for_what_it_has_committed_and_not_for_the_logs_of_others() {
    let (vfs, long) = (SimVfs::new(), vec![7; 900 << 10]);
    let (mut other, id) = named(&vfs);
    assert!((0..40).any(|_| is_due(&mut other, id, &long)));
    let (mut handle, id) = named(&vfs);
    assert!(!is_due(&mut handle, id, b"short"));
    assert!((0..40).any(|_| is_due(&mut handle, id, &long)), "for its own log");
    compact(&handle, false).expect("compact");
    assert!(!is_due(&mut handle, id, b"short"), "again");
}

/// Each new manifest made every process read the logs of all others again. With eight processes that commit without
/// pause, each commit under a new manifest took seconds.
#[test]
fn a_log_that_stays_is_not_read_again_under_a_newer_manifest() {
    let (vfs, reads) = (SimVfs::new(), Arc::new(AtomicUsize::new(0)));
    let (mut other, id) = named(&vfs);
    (0..30).for_each(|_| assert!(!is_due(&mut other, id, &[7; 900 << 10])));
    let (log, count) = (
        vfs.names().into_iter().find(|name| name.ends_with(".log")).expect("a log"),
        Arc::clone(&reads),
    );
    let counts = move |call: &str, name: &str| {
        count.fetch_add(usize::from(call == "read" && name == log), Ordering::Relaxed);
    };
    let mut handle = hooked(&vfs, Box::new(counts));
    let all = reads.swap(0, Ordering::Relaxed);
    for round in 0..3 {
        let (mut third, id) = named(&vfs);
        is_due(&mut third, id, b"third");
        compact(&third, false).expect("compact");
        is_due(&mut other, id, b"other");
        put(&mut handle, &[round]);
        handle.store().refresh().expect("refresh");
        let again = reads.swap(0, Ordering::Relaxed);
        assert!(
            again < all / 2,
            "{again} reads of its head, its end and what is new, {all} of the whole log"
        );
    }
}

/// A load begins again if a manifest was published meanwhile. Processes that published faster than all logs are read
/// kept another one from ending.
#[test]
fn a_load_that_begins_again_does_not_read_again_what_it_has_read() {
    let vfs = SimVfs::new();
    let (mut other, id) = named(&vfs);
    (0..30).for_each(|_| assert!(!is_due(&mut other, id, &[7; 900 << 10])));
    let reads_of_open = |publications: u64| {
        let (directory, reads, count) =
            (vfs.clone(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (left, log) = (Arc::clone(&count), other.store().status().writer.expect("a log"));
        count.store(publications as usize, Ordering::Relaxed);
        let counted = Arc::clone(&reads);
        let publishes = move |call: &str, name: &str| {
            let is_of_log = call == "read" && name == format!("{log}.log");
            let is_last_read = is_of_log && counted.fetch_add(1, Ordering::Relaxed) % 20 == 19;
            if is_last_read && left.load(Ordering::Relaxed) > 0 {
                let third = left.fetch_sub(1, Ordering::Relaxed) as u64;
                let mut third = open_seeded(&directory, 10 + third);
                put(&mut third, b"third");
                compact(&third, false).expect("compact");
            }
        };
        drop(hooked_with(&vfs, Box::new(publishes), 9));
        assert_eq!(count.load(Ordering::Relaxed), 0, "publications left");
        reads.load(Ordering::Relaxed)
    };
    let (alone, beside) = (reads_of_open(0), reads_of_open(3));
    assert!(beside < alone * 2, "{beside} reads beside three publications, {alone} without any");
}
