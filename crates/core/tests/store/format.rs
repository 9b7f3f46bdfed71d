//! What the format promises to whoever opens a folder: a newer format is told, not guessed at, and every file counts in
//! its own place only.

use crate::history::{commit, compact, open};
use std::ops::ControlFlow;
use varve_core::testing::reseal;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{Durability, Error, Handle};

fn put(handle: &mut Handle, value: &[u8]) {
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, b"key", value).expect("put");
    commit(handle, Durability::Durable).expect("commit");
}

/// The tag of the first frame says the format.
#[test]
fn a_log_or_manifest_of_a_newer_format_is_told_and_left_alone() {
    for name in ["manifest-1", "0.log"] {
        let vfs = SimVfs::new();
        put(&mut open(&vfs).expect("open"), b"value");
        let mut bytes = vfs.contents(name);
        bytes[8] = 2;
        vfs.set_contents(name, bytes);
        reseal::reseal(&vfs);
        let before: Vec<_> = vfs.names().into_iter().map(|name| vfs.contents(&name)).collect();
        match open(&vfs).map(drop) {
            Err(Error::NewerFormat { found: 2, supported: 1, name: told }) => assert_eq!(told, name),
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(before, vfs.names().into_iter().map(|name| vfs.contents(&name)).collect::<Vec<_>>());
    }
}

/// Every checksum in it is right, for another place: without the place in them an old value would come back.
#[test]
fn a_log_that_stands_in_the_place_of_another_one_is_damage() {
    let vfs = SimVfs::new();
    let mut older = open(&vfs).expect("open");
    put(&mut older, b"old");
    let mut newer = open(&vfs).expect("open");
    put(&mut newer, b"new");
    assert!(vfs.exists("1.log").expect("look"));
    vfs.set_contents("1.log", vfs.contents("0.log"));
    drop((older, newer));
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    assert_eq!(handle.get(id, b"key", <[u8]>::to_vec).expect("get"), None);
    let damage = handle.store().status().damage;
    assert!(damage.iter().any(|place| place.file == "1.log"), "{damage:?}");
}

/// The fuzzer found it: the sum of place and length was more than a u64 holds. A sum that wraps could lead anywhere.
#[test]
fn a_block_whose_forged_place_is_beyond_every_file_is_damage() {
    const FOOTER_BYTES: usize = 96;
    const ROW_BYTES: usize = 24;
    for place in [u64::MAX, u64::MAX - 100, 1 << 62, 1 << 40] {
        let vfs = SimVfs::new();
        let mut handle = open(&vfs).expect("open");
        put(&mut handle, &[7; 300]);
        compact(&handle, true).expect("compact");
        drop(handle);
        let table = vfs.names().into_iter().find(|name| name.ends_with(".table")).expect("a table");
        let mut bytes = vfs.contents(&table);
        let row = bytes.len() - FOOTER_BYTES - ROW_BYTES;
        bytes[row + 8..row + 16].copy_from_slice(&place.to_le_bytes());
        vfs.set_contents(&table, bytes);
        reseal::reseal(&vfs);
        let mut handle = open(&vfs).expect("open");
        let report = handle.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify");
        assert!(report.damage.iter().any(|damage| damage.file == table), "{place}: {report:?}");
        let id = handle.namespace("n", "1").expect("namespace");
        assert_eq!(handle.get(id, b"key", <[u8]>::to_vec).expect("get"), None, "{place}");
    }
}
