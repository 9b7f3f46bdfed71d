//! Files with a name of the format that Varve did not write. A server kept `logs/v1/7.log`; `varve gc --dir .` took
//! `logs` for a cache and removed it. Such files stay with their bytes, whatever is called, and are reported.

use crate::history::{commit, compact, open, open_with_blobs};
use std::ops::ControlFlow;
use std::sync::Arc;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{Durability, Handle};

const TEXTS: &[&str] = &[
    "precious\n",
    "1",
    "USED by a server, which writes a line for each request\n",
    "VLOG of a server, which writes a line for each request\n",
    "\0\0\0\0 a line that is written later",
];

/// Names of the format, for a cache that has fewer than 100 logs.
const NAMES: &[&str] = &[
    "0.log",
    "7.log",
    "900.log",
    "3-5.taken",
    "900-901.taken",
    "1-1.table",
    "900-1.table",
    "manifest-0",
    "manifest.5.tmp",
    "manifest.900.tmp",
    "7.log.bad",
    "1-1.table.bad",
    "manifest-1.bad",
    "used/20000-7",
];

fn blob() -> String {
    format!("files/ab/{}", "ab".repeat(32))
}

/// The texts, and one that is longer than the first pages of a file.
fn contents() -> Vec<Vec<u8>> {
    let long = "a line of a server\n".repeat(1_000);
    TEXTS.iter().map(|text| text.as_bytes().to_vec()).chain([long.into_bytes()]).collect()
}

/// Every call that removes files; its result does not matter.
fn call_all(handle: &mut Handle) {
    let id = handle.namespace("n", "1").expect("namespace");
    for number in 0..3u8 {
        let _ = handle.put(id, &[number], &[number; 300]);
        let _ = commit(handle, Durability::Durable);
        let _ = compact(handle, number % 2 == 0);
    }
    let _ = handle.store().repair(false, &|_, _| ControlFlow::Continue(()));
    let target: Arc<dyn Vfs> = Arc::new(SimVfs::new());
    let _ = handle.store().seal(&target, &[], &|_, _| ControlFlow::Continue(()));
    let _ = handle.store().close();
}

#[test]
fn calls_on_a_directory_with_files_of_another_program_leave_them_and_refuse_to_create_a_cache() {
    let blob = blob();
    for content in contents() {
        for name in NAMES.iter().take(8).copied().chain([blob.as_str()]) {
            let vfs = SimVfs::new();
            vfs.set_contents(name, content.clone());
            let mut handle = open(&vfs).expect("open");
            let id = handle.namespace("n", "1").expect("namespace");
            handle.put(id, b"key", b"value").expect("put");
            let error = commit(&mut handle, Durability::Durable).expect_err(name);
            assert_eq!(error.code(), "NOT_A_CACHE", "{name}: {error}");
            assert!(error.to_string().contains(name), "{name}: {error}");
            call_all(&mut handle);
            assert_eq!(vfs.names(), [name], "nothing is written beside {name}");
            assert_eq!(vfs.contents(name), content, "{name}");
        }
    }
}

#[test]
fn files_of_another_program_in_a_cache_stay_and_are_reported_while_the_next_commits_work() {
    for content in contents() {
        for name in NAMES {
            let vfs = SimVfs::new();
            let mut first = open_with_blobs(&vfs, 100).expect("open");
            call_all(&mut first);
            if vfs.names().iter().any(|used| used == name) {
                continue;
            }
            vfs.set_contents(name, content.clone());
            for round in 0..3 {
                let mut handle = open_with_blobs(&vfs, 100).expect("open");
                call_all(&mut handle);
                let mut reader = open(&vfs).expect("open");
                let id = reader.namespace("n", "1").expect("namespace");
                let found = reader.get(id, &[2], <[u8]>::to_vec).expect("get");
                assert_eq!(found, Some(vec![2; 300]), "{name}, round {round}: {:?}", vfs.names());
            }
            assert_eq!(vfs.contents(name), content, "{name}");
            let report = compact(&open(&vfs).expect("open"), true).expect("compact");
            let is_reported = report.foreign_files.iter().any(|file| file == name);
            let is_kept = name.ends_with(".bad") || name.starts_with("used/");
            assert_eq!(is_reported, !is_kept, "{name}: {:?}", report.foreign_files);
        }
    }
}

#[test]
fn a_seal_into_a_directory_with_files_of_another_program_fails_and_leaves_them() {
    let blob = blob();
    let mut handle = open(&SimVfs::new()).expect("open");
    call_all(&mut handle);
    let handle = open(&SimVfs::new()).expect("open");
    for name in ["1-1.table", "manifest.1.tmp", "7.log", "manifest-1", &blob] {
        let vfs = SimVfs::new();
        vfs.set_contents(name, b"precious\n".to_vec());
        let target: Arc<dyn Vfs> = Arc::new(vfs.clone());
        let sealed = handle.store().seal(&target, &[], &|_, _| ControlFlow::Continue(()));
        assert_eq!(sealed.expect_err(name).code(), "INVALID_ARGUMENT");
        assert_eq!(
            (vfs.names(), vfs.contents(name)),
            (vec![name.to_owned()], b"precious\n".to_vec())
        );
    }
}
