//! Files of an open cache are removed, truncated, replaced or renamed: by `rm -rf`, `npm ci`, `rsync --inplace` or a
//! restore, or through locks that other machines cannot see. A new process finds the next commit of every live writer.

use crate::history::{commit, compact};
use crate::hooked::open_seeded;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{BlobWriter, Durability, Handle};

/// Changes the directory. The second argument is an older copy of the log.
type Event = (&'static str, fn(&SimVfs, &[u8]));

const EVENTS: &[Event] = &[
    ("all files are removed", |vfs, _| vfs.names().iter().for_each(|name| vfs.erase(name))),
    ("the log is removed", |vfs, _| vfs.erase(&log_of(vfs))),
    ("the manifest is removed", |vfs, _| vfs.erase(&manifest_of(vfs))),
    ("the log is truncated to half", |vfs, _| {
        vfs.truncate(&log_of(vfs), vfs.length(&log_of(vfs)) / 64 * 32)
    }),
    ("the log is truncated to zero", |vfs, _| vfs.truncate(&log_of(vfs), 0)),
    ("the log is an older copy, in place", |vfs, older| {
        vfs.set_contents(&log_of(vfs), older.to_vec())
    }),
    ("the log is an older copy, another file", |vfs, older| {
        let name = log_of(vfs);
        vfs.erase(&name);
        vfs.set_contents(&name, older.to_vec());
    }),
    ("the log is renamed", |vfs, _| vfs.rename(&log_of(vfs), "elsewhere").expect("rename")),
    ("a bit of the manifest flips", |vfs, _| vfs.flip(&manifest_of(vfs), 40, 0)),
    ("all files are replaced by those of a new cache", |vfs, _| {
        vfs.names().iter().for_each(|name| vfs.erase(name));
        put(&mut open_seeded(vfs, 99), "other", Durability::Durable);
    }),
];

fn put(handle: &mut Handle, key: &str, durability: Durability) {
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, key.as_bytes(), b"value").expect("put");
    commit(handle, durability).expect("commit");
}

/// Whether a new process finds the key.
fn has(vfs: &SimVfs, key: &str) -> bool {
    let mut reader = open_seeded(vfs, 1_000);
    let id = reader.namespace("n", "1").expect("namespace");
    reader.has(id, key.as_bytes()).expect("has")
}

fn find(vfs: &SimVfs, is_wanted: impl Fn(&str) -> bool) -> String {
    vfs.names().into_iter().find(|name| is_wanted(name)).expect("the file exists")
}

fn log_of(vfs: &SimVfs) -> String {
    find(vfs, |name| name.ends_with(".log"))
}

fn manifest_of(vfs: &SimVfs) -> String {
    find(vfs, |name| name.starts_with("manifest-"))
}

fn machines() -> [SimVfs; 4] {
    [
        SimVfs::new(),
        SimVfs::new().padded(),
        SimVfs::new().without_locks(),
        SimVfs::new().without_links(),
    ]
}

#[test]
fn a_new_process_finds_every_commit_made_after_files_of_an_open_cache_were_lost() {
    for (what, event) in EVENTS {
        for durability in [Durability::Relaxed, Durability::Durable] {
            for vfs in machines() {
                let mut writer = open_seeded(&vfs, 1);
                put(&mut writer, "first", durability);
                let older = vfs.contents(&log_of(&vfs));
                (0..8).for_each(|number| put(&mut writer, &format!("before {number}"), durability));
                event(&vfs, &older);
                for round in 0..6 {
                    put(&mut writer, &format!("writer {round}"), durability);
                    let mut other = open_seeded(&vfs, 10 + round);
                    put(&mut other, &format!("other {round}"), durability);
                    other.store().close().expect("close");
                    // The first of these commits that reads older damage resets the cache.
                    if round > 0 {
                        assert!(
                            has(&vfs, &format!("writer {round}")),
                            "{what}, {durability:?}, writer {round}"
                        );
                        assert!(
                            has(&vfs, &format!("other {round}")),
                            "{what}, {durability:?}, other {round}"
                        );
                    }
                }
                writer.store().close().expect("close");
                for round in 2..6 {
                    assert!(
                        has(&vfs, &format!("writer {round}")),
                        "{what}, {durability:?}, writer {round} at the end"
                    );
                    assert!(
                        has(&vfs, &format!("other {round}")),
                        "{what}, {durability:?}, other {round} at the end"
                    );
                }
            }
        }
    }
}

/// After a reset, the offset from which a log counted was the length of its file with padding zeros. The next commits
/// of its writer were below that offset and were lost.
#[test]
fn a_reset_by_another_process_loses_no_later_commit_of_a_live_durable_writer() {
    let vfs = SimVfs::new().padded();
    let mut writer = open_seeded(&vfs, 1);
    (0..3).for_each(|number| put(&mut writer, &format!("before {number}"), Durability::Durable));
    vfs.flip(&manifest_of(&vfs), 40, 0);
    let mut other = open_seeded(&vfs, 2);
    put(&mut other, "other", Durability::Durable);
    for number in 0..30 {
        put(&mut writer, &format!("after {number}"), Durability::Durable);
        assert!(has(&vfs, &format!("after {number}")), "after {number}");
    }
    assert!(has(&vfs, "other"));
}

/// Regression: any file that is longer than a padded log counted as that log, with zeros after it. So durable commits
/// went into a log of another copy of the cache, and new processes did not find them.
#[test]
fn a_durable_commit_is_found_after_a_longer_log_of_a_copy_was_put_over_the_padded_log() {
    let machine = SimVfs::new().padded();
    put(&mut open_seeded(&machine, 1), "shared", Durability::Durable);
    for bytes in [100, 3_000, 5_000, 60_000] {
        let (vfs, copy) = (machine.fork(), machine.fork());
        let mut writer = open_seeded(&vfs, 2);
        (0..3)
            .for_each(|number| put(&mut writer, &format!("before {number}"), Durability::Durable));
        let mut other = open_seeded(&copy, 3);
        put(&mut other, &"other".repeat(bytes / 5), Durability::Durable);
        other.store().close().expect("close");
        copy.names().iter().for_each(|name| vfs.set_contents(name, copy.contents(name)));
        for number in 0..4 {
            put(&mut writer, &format!("after {number}"), Durability::Durable);
            assert!(
                has(&vfs, &format!("after {number}")),
                "{bytes} bytes, after {number}: {:?}",
                vfs.names()
            );
        }
    }
}

/// The same for an earlier copy of the log itself, which is as long because of its zeros.
#[test]
fn a_durable_commit_is_found_after_an_earlier_copy_of_the_padded_log_was_put_over_it() {
    for count in [1, 3, 40] {
        let vfs = SimVfs::new().padded();
        let mut writer = open_seeded(&vfs, 1);
        put(&mut writer, "first", Durability::Durable);
        put(&mut writer, &"long".repeat(16_000), Durability::Durable);
        put(&mut writer, "last", Durability::Durable);
        let log = log_of(&vfs);
        let older = vfs.contents(&log);
        (0..count)
            .for_each(|number| put(&mut writer, &format!("before {number}"), Durability::Durable));
        vfs.set_contents(&log, older);
        for number in 0..3 {
            put(&mut writer, &format!("after {number}"), Durability::Durable);
            assert!(
                has(&vfs, &format!("after {number}")),
                "{count}, after {number}: {:?}",
                vfs.names()
            );
        }
    }
}

/// Locks may not be visible to other machines, so a compaction may claim the log of a live writer.
#[test]
fn commits_are_found_although_another_machine_claimed_the_log_of_a_live_writer() {
    let vfs = SimVfs::new();
    let mut writer = open_seeded(&vfs, 1);
    put(&mut writer, "first", Durability::Relaxed);
    for round in 0..5 {
        let name = log_of(&vfs);
        let (bytes, other) = (vfs.contents(&name), open_seeded(&vfs, 10 + round));
        // The same bytes in a file that is not locked.
        vfs.erase(&name);
        vfs.set_contents(&name, bytes);
        compact(&other, false).expect("compact");
        put(&mut writer, &format!("writer {round}"), Durability::Relaxed);
        assert!((0..=round).all(|round| has(&vfs, &format!("writer {round}"))), "{round}");
    }
}

/// Regression: the compaction extended what it had read before, and the claim of its number read the log from its
/// start. So it tried again until it failed with `BUSY`, each time. Now neither reads those bytes again, and the next
/// process that opens the cache finds the damage.
#[test]
fn a_compaction_ends_beside_an_open_log_that_is_damaged_where_it_was_read_before() {
    let vfs = SimVfs::new();
    let mut writer = open_seeded(&vfs, 1);
    (0..9).for_each(|number| put(&mut writer, &format!("key {number}"), Durability::Relaxed));
    let log = log_of(&vfs);
    let mut other = open_seeded(&vfs, 2);
    put(&mut other, "other", Durability::Relaxed);
    other.store().close().expect("close");
    let compactor = open_seeded(&vfs, 3);
    vfs.flip(&log, vfs.length(&log) / 2, 0);
    compact(&compactor, false).expect("compact");
    put(&mut open_seeded(&vfs, 4), "after", Durability::Relaxed);
    put(&mut writer, "writer", Durability::Relaxed);
    assert!(has(&vfs, "after") && has(&vfs, "writer"));
}

/// Regression: a process appended to its log although the log of another copy had been written over it, and so damaged
/// that. Everything was a miss.
#[test]
fn a_log_of_another_copy_that_was_written_over_an_open_one_is_not_damaged() {
    let calls: [fn(&mut Handle); 3] = [
        |handle| handle.store().close().expect("close"),
        |handle| put(handle, "after", Durability::Relaxed),
        |handle| drop(BlobWriter::new(handle.store()).expect("pin")),
    ];
    for (number, call) in calls.into_iter().enumerate() {
        let vfs = SimVfs::new();
        let mut first = open_seeded(&vfs, 1);
        put(&mut first, "first", Durability::Relaxed);
        first.store().close().expect("close");
        let copy = vfs.fork();
        let [mut writer, mut other] = [open_seeded(&vfs, 2), open_seeded(&copy, 3)];
        put(&mut writer, "writer", Durability::Relaxed);
        (0..3).for_each(|number| put(&mut other, &format!("other {number}"), Durability::Relaxed));
        let log = "1.log";
        vfs.set_contents(log, copy.contents(log));
        call(&mut writer);
        assert!(has(&vfs, "first") && has(&vfs, "other 2"), "call {number}: {:?}", vfs.names());
        assert_eq!(has(&vfs, "after"), number == 1);
    }
}

/// A page of zeros in the middle of synced commits looked like an append that had not reached the disk. The commits
/// after it were lost without a report, and older values came back.
#[test]
fn zeros_in_the_middle_of_durable_commits_are_reported_as_damage() {
    let vfs = SimVfs::new();
    let mut writer = open_seeded(&vfs, 1);
    (0..40).for_each(|number| put(&mut writer, &format!("key {number}"), Durability::Durable));
    let (name, sector) = (log_of(&vfs), 512);
    let bytes = vfs.contents(&name);
    // The last frames are skipped: zeros there are what a power failure leaves.
    for start in (sector..bytes.len() - 2 * sector).step_by(sector) {
        let damaged = vfs.fork();
        let mut zeroed = bytes.clone();
        zeroed[start..start + sector].fill(0);
        damaged.set_contents(&name, zeroed);
        assert_ne!(
            open_seeded(&damaged, 2).store().status().damage.len(),
            0,
            "sector at {start} of {}",
            bytes.len()
        );
    }
}

/// The logs that a closed cache left behind. If one is removed, truncated or partly lost, this is detected.
#[test]
fn damage_to_a_closed_cache_never_brings_an_older_state_back() {
    let vfs = SimVfs::new();
    for round in 0..2 {
        let mut writer = open_seeded(&vfs, round);
        put(&mut writer, "key", Durability::Relaxed);
        put(&mut writer, &format!("round {round}"), Durability::Relaxed);
        writer.store().close().expect("close");
    }
    let names = vfs.names();
    assert!(names.iter().any(|name| name.ends_with(".log")), "{names:?}");
    for name in &names {
        for length in (0..vfs.length(name)).step_by(8).map(Some).chain([None]) {
            let damaged = vfs.fork();
            match length {
                Some(length) => damaged.truncate(name, length),
                None => damaged.erase(name),
            }
            let mut reader = open_seeded(&damaged, 9);
            let id = reader.namespace("n", "1").expect("namespace");
            let found = ["key", "round 0", "round 1"]
                .map(|key| reader.has(id, key.as_bytes()).expect("has"));
            assert!(found == [false; 3] || found == [true; 3], "{name} at {length:?}: {found:?}");
        }
    }
}
