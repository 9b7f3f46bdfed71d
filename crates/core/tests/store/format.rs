//! What the format guarantees on opening: a newer format is an error, and every file counts in its own place only.

use crate::damage::last_row;
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

/// The tag of the first frame is the format.
#[test]
fn a_log_or_manifest_of_a_newer_format_is_an_error_and_stays_unchanged() {
    for name in ["manifest-1", "0.log"] {
        let vfs = SimVfs::new();
        put(&mut open(&vfs).expect("open"), b"value");
        let mut bytes = vfs.contents(name);
        bytes[8] = 2;
        vfs.set_contents(name, bytes);
        reseal::reseal(&vfs);
        let before: Vec<_> = vfs.names().into_iter().map(|name| vfs.contents(&name)).collect();
        let refused = open(&vfs).map(drop).expect_err("the format is newer");
        let Error::NewerFormat { found: 2, supported: 1, name: reported } = *refused else {
            panic!("{refused:?}")
        };
        assert_eq!(reported, name);
        assert_eq!(
            before,
            vfs.names().into_iter().map(|name| vfs.contents(&name)).collect::<Vec<_>>()
        );
    }
}

/// Every checksum in the copied log is right. Only the place in the checksums keeps an old value from coming back.
#[test]
fn a_log_copied_over_another_log_is_damage() {
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

/// Found by the fuzzer: the sum of place and length exceeded a `u64`. A sum that wraps around could point anywhere.
#[test]
fn a_block_whose_forged_offset_is_beyond_the_file_is_damage() {
    for place in [u64::MAX, u64::MAX - 100, 1 << 62, 1 << 40] {
        let vfs = SimVfs::new();
        let mut handle = open(&vfs).expect("open");
        put(&mut handle, &[7; 300]);
        compact(&handle, true).expect("compact");
        drop(handle);
        let table = vfs.names().into_iter().find(|name| name.ends_with(".table")).expect("a table");
        let mut bytes = vfs.contents(&table);
        let row = last_row(&bytes);
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
