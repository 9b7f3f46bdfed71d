//! Regression tests for crashes. `npm run test:safety -- power-loss` tries all crash states of many histories.

use crate::history::{Expected, commit, compact, dump, open, open_with_blobs};
use crate::hooked::{hooked_with, open_seeded};
use std::io::ErrorKind;
use varve_core::testing::sim::{Call, Effect, Fault, LostPages, Model, SimVfs};
use varve_core::vfs::Vfs;
use varve_core::{Durability, Handle};

fn put(handle: &mut Handle, key: &[u8], value: &[u8], durability: Durability) {
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, key, value).expect("put");
    commit(handle, durability).expect("commit");
}

/// The power fails while damage is quarantined, and only the temporary manifest survives. The number of its writer is
/// free again, so the next reset needs to create a file of the same name, which failed.
#[test]
fn a_temporary_manifest_left_by_a_power_failure_does_not_block_the_next_commit() {
    let vfs = SimVfs::new();
    put(&mut open(&vfs).expect("open"), b"key", b"value", Durability::Durable);
    vfs.flip("0.log", 80, 0);
    vfs.create_new("manifest.1.tmp").expect("create");
    put(&mut open(&vfs).expect("open"), b"key", b"new", Durability::Durable);
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    assert_eq!(dump(&handle, id), Expected::from([(b"key".to_vec(), b"new".to_vec())]));
}

/// A commit that was not durable yet replaced the version of a namespace and so hid a value in a blob. Another process
/// removed the blob. After a power failure the old version was back without its blob.
#[test]
fn a_blob_stays_until_the_namespace_version_that_hides_it_is_durable() {
    let vfs = SimVfs::new();
    let old = [7; 200];
    let mut writer = open_with_blobs(&vfs, 64).expect("open");
    put(&mut writer, b"key", &old, Durability::Durable);
    let newer = writer.namespace("n", "2").expect("namespace");
    writer.put(newer, b"key", b"new").expect("put");
    commit(&mut writer, Durability::Relaxed).expect("commit");
    compact(&open_with_blobs(&vfs, 64).expect("open"), true).expect("compact by another process");
    for state in vfs.crash_states(Model::Posix, vfs.operation_count(), 1, 9) {
        let mut handle = open(&state.vfs).expect("open");
        let version = handle.store().version_of("n").expect("version").expect("one");
        let id = handle.namespace("n", &version).expect("namespace");
        let found = handle.get(id, b"key", <[u8]>::to_vec).expect("get");
        let expected = if version == "1" { old.to_vec() } else { b"new".to_vec() };
        assert_eq!(found, Some(expected), "{}", state.description());
    }
}

/// A sync failed and the system dropped the bytes it should have written. The next sync succeeded without those bytes,
/// `flush` reported success, and a power failure lost the commit.
#[test]
fn a_commit_whose_sync_failed_is_durable_after_the_next_flush_commit_or_close() {
    let next: [fn(&mut Handle); 3] = [
        |handle| handle.store().flush().expect("flush"),
        |handle| put(handle, b"next", b"value", Durability::Durable),
        |handle| handle.store().close().expect("close"),
    ];
    for next in next {
        let vfs = SimVfs::new();
        let mut handle = open(&vfs).expect("open");
        put(&mut handle, b"key", b"value", Durability::Relaxed);
        let effect = Effect::Lose { pages: LostPages::Cached, error: ErrorKind::Other };
        vfs.fail(Fault { call: Some(Call::Sync), after: 0, forever: false, effect });
        handle.store().flush().expect_err("the sync fails");
        next(&mut handle);
        for state in vfs.crash_states(Model::Posix, vfs.operation_count(), 1, 9) {
            let mut handle = open(&state.vfs).expect("open");
            let id = handle.namespace("n", "1").expect("namespace");
            assert!(
                handle.get(id, b"key", |_| ()).expect("get").is_some(),
                "{}",
                state.description()
            );
        }
    }
}

/// A log had seen another one that had no commit yet, and that a power failure took. The next process began a log of
/// that number, so the first log counted as that of another copy of the cache, and everything was a miss.
#[test]
fn a_log_without_commits_may_be_lost_in_a_power_failure_and_its_number_used_again() {
    let vfs = SimVfs::new();
    let mut first = open(&vfs).expect("open");
    put(&mut first, b"before", b"value", Durability::Durable);
    compact(&first, true).expect("compact");
    first.store().close().expect("close");
    let (other, mut is_begun) = (vfs.clone(), false);
    let begins_beside = move |call: &str, name: &str| {
        is_begun |= call == "create_new" && name.ends_with(".log");
        if is_begun && call == "list" {
            is_begun = false;
            let mut killed = open_seeded(&other, 2);
            let effect = Effect::Error(ErrorKind::StorageFull);
            other.fail(Fault { call: Some(Call::Append), after: 1, forever: true, effect });
            let id = killed.namespace("n", "1").expect("namespace");
            killed.put(id, b"killed", b"value").expect("put");
            commit(&mut killed, Durability::Relaxed)
                .expect_err("only the start of the log is written");
            other.clear_faults();
        }
    };
    put(
        &mut hooked_with(&vfs, Box::new(begins_beside), 3),
        b"beside",
        b"value",
        Durability::Relaxed,
    );
    for state in vfs.crash_states(Model::Posix, vfs.operation_count(), 1, 9) {
        let open = |random| open_seeded(&state.vfs, random);
        let found = all(&mut open(4));
        assert!(found.contains_key(b"before".as_slice()), "{}", state.description());
        put(&mut open(5), b"next", b"value", Durability::Relaxed);
        put(&mut open(6), b"last", b"value", Durability::Relaxed);
        let left = all(&mut open(7));
        let lost: Vec<_> = found.keys().filter(|key| !left.contains_key(*key)).collect();
        assert!(
            lost.is_empty() && left.len() == found.len() + 2,
            "{lost:?} lost: {}",
            state.description()
        );
    }
}

/// Another process began a log on a manifest that its publisher had not synced yet. A power failure took the manifest
/// and left the log, which then counted as that of another copy of the cache, and everything was a miss.
#[test]
fn a_log_begun_while_a_manifest_is_published_damages_nothing_after_a_power_failure() {
    let vfs = SimVfs::new();
    let mut first = open(&vfs).expect("open");
    put(&mut first, b"before", b"value", Durability::Durable);
    first.store().close().expect("close");
    let (other, mut is_linked) = (vfs.clone(), false);
    let commits_beside = move |call: &str, name: &str| {
        is_linked |= call == "link" && name.starts_with("manifest-");
        if is_linked && call == "sync_folder" {
            is_linked = false;
            put(&mut open_seeded(&other, 2), b"beside", b"value", Durability::Relaxed);
        }
    };
    compact(&hooked_with(&vfs, Box::new(commits_beside), 3), true).expect("compact");
    assert!(all(&mut open(&vfs).expect("open")).contains_key(b"beside".as_slice()));
    for state in vfs.crash_states(Model::Posix, 0, 1, 9) {
        let found = all(&mut open(&state.vfs).expect("open"));
        assert_eq!(
            open(&state.vfs).expect("open").store().status().damage,
            [],
            "{}",
            state.description()
        );
        if found.contains_key(b"beside".as_slice()) {
            assert!(found.contains_key(b"before".as_slice()), "{}", state.description());
        }
    }
}

fn all(handle: &mut Handle) -> Expected {
    let id = handle.namespace("n", "1").expect("namespace");
    dump(handle, id)
}
