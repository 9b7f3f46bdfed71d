//! Numbers that no cache reaches, planted in names, manifests and logs. A miss is the worst outcome: the next commit
//! works, and new processes find it.

use crate::history::{commit, compact, open};
use varve_core::Durability;
use varve_core::testing::reseal::reseal;
use varve_core::testing::sim::SimVfs;

const COMMITS: u32 = 3;

fn used() -> SimVfs {
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    put(&vfs, &mut handle, "one");
    compact(&handle, true).expect("compact");
    put(&vfs, &mut handle, "two");
    handle.store().close().expect("close");
    vfs
}

/// Commits a key, and overwrites another one.
fn put(vfs: &SimVfs, handle: &mut varve_core::Handle, key: &str) {
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, key.as_bytes(), key.as_bytes()).expect("put");
    handle.put(id, b"one", key.as_bytes()).expect("put");
    commit(handle, Durability::Durable)
        .unwrap_or_else(|error| panic!("{key}: {error}, {:?}", vfs.names()));
    check(vfs, key);
}

/// Looks up what was committed last as a new process does.
fn check(vfs: &SimVfs, key: &str) {
    let mut reader = open(vfs).expect("open");
    let id = reader.namespace("n", "1").expect("namespace");
    for written in [key.as_bytes(), b"one"] {
        let found = reader.get(id, written, <[u8]>::to_vec).expect("get");
        assert_eq!(found.as_deref(), Some(key.as_bytes()), "{key}: {:?}", vfs.names());
    }
}

/// Processes that commit, compact and close after something was planted.
fn go_on(vfs: &SimVfs, planted: &str) {
    for number in 0..COMMITS {
        let mut handle = open(vfs).expect("open");
        let key = format!("after {number}, {planted}");
        put(vfs, &mut handle, &key);
        compact(&handle, number % 2 == 0).expect("compact");
        check(vfs, &key);
        put(vfs, &mut handle, &format!("again {number}, {planted}"));
        handle.store().close().expect("close");
    }
}

#[test]
fn a_file_whose_name_has_the_highest_number_stops_no_commit() {
    for name in [
        "16777215.log",
        "16777214.log",
        "16777215-1.table",
        "0-16777215.taken",
        "1-4294967295.table",
    ] {
        for vfs in [SimVfs::new(), used()] {
            vfs.set_contents(name, Vec::new());
            go_on(&vfs, name);
        }
    }
}

#[test]
fn a_manifest_whose_name_has_the_highest_number_stops_no_commit() {
    for number in [u64::MAX, u64::MAX >> 1, (u64::MAX >> 1) - 1] {
        for vfs in [SimVfs::new(), used()] {
            let name = format!("manifest-{number}");
            vfs.set_contents(&name, Vec::new());
            go_on(&vfs, &name);
        }
    }
}

/// Puts the highest numbers in place of each field of a file, with a valid checksum.
fn forge(name_starts: &str, high: &[u8]) {
    let sound = used();
    let name = sound.names().into_iter().find(|name| name.contains(name_starts)).expect("a file");
    let bytes = sound.contents(&name);
    for at in (0..=bytes.len() - high.len()).step_by(2) {
        let vfs = sound.fork();
        let mut forged = bytes.clone();
        forged[at..at + high.len()].copy_from_slice(high);
        vfs.set_contents(&name, forged);
        reseal(&vfs);
        // A newer format is refused.
        if open(&vfs).is_ok() {
            go_on(&vfs, &format!("{name}, {at}: {high:?}"));
        }
    }
}

#[test]
fn a_manifest_with_the_highest_numbers_stops_no_commit() {
    [&[0xFF; 8][..], &[0xFF, 0xFF, 0xFF, 0], &[0xFF; 4]]
        .iter()
        .for_each(|high| forge("manifest-", high));
}

#[test]
fn a_log_with_the_highest_numbers_stops_no_commit() {
    [&[0xFF; 8][..], &[0xFF; 4]].iter().for_each(|high| forge(".log", high));
}

#[test]
fn a_table_with_the_highest_numbers_stops_no_commit() {
    forge(".table", &[0xFF; 8]);
}
