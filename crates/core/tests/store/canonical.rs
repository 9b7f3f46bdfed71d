//! The same entries always give the same bytes, and a build that changes nothing writes nothing.

use crate::history::{commit, compact, open};
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{Durability, Handle};

fn tables(vfs: &SimVfs) -> Vec<Vec<u8>> {
    let mut tables: Vec<String> = vfs.list().expect("list");
    tables.retain(|name| name.ends_with(".table"));
    tables.sort();
    tables.iter().map(|name| vfs.contents(name)).collect()
}

/// Writes the same final entries in a random way: shuffled, over several commits, with overwrites and deletes in
/// between.
fn written_along(seed: u64) -> (SimVfs, Handle) {
    let mut random = fastrand::Rng::with_seed(seed);
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let mut numbers: Vec<u32> = (0..300).collect();
    random.shuffle(&mut numbers);
    for number in numbers {
        let key = format!("key {number}");
        if random.u32(..4) == 0 {
            handle.put(id, key.as_bytes(), b"overwritten later").expect("put");
            handle.put(id, b"deleted later", b"value").expect("put");
            commit(&mut handle, Durability::Relaxed).expect("commit");
            handle.delete(id, b"deleted later").expect("delete");
        }
        handle.put(id, key.as_bytes(), key.repeat(number as usize % 50).as_bytes()).expect("put");
        match random.u32(..40) {
            0 => commit(&mut handle, Durability::Relaxed).expect("commit"),
            1 => drop(compact(&handle, false).expect("compact")),
            _ => {}
        }
    }
    commit(&mut handle, Durability::Relaxed).expect("commit");
    (vfs, handle)
}

#[test]
fn the_same_entries_always_give_the_same_table_bytes() {
    let (first, handle) = written_along(1);
    compact(&handle, true).expect("compact");
    for seed in 2..20 {
        let (other, handle) = written_along(seed);
        compact(&handle, true).expect("compact");
        assert!(tables(&first) == tables(&other), "seed {seed}");
        assert_eq!(tables(&other).len(), 1);
    }
}

#[test]
fn a_build_that_changes_nothing_writes_no_file() {
    let (vfs, handle) = written_along(1);
    compact(&handle, true).expect("compact");
    handle.store().close().expect("close");
    let operations = vfs.operation_count();
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    assert!(handle.has(id, b"key 7").expect("has"));
    commit(&mut handle, Durability::Durable).expect("nothing to commit");
    handle.store().refresh().expect("refresh");
    assert!(!compact(&handle, true).expect("compact").changed, "the cache is already compacted");
    handle.store().close().expect("close");
    assert_eq!(vfs.operation_count(), operations, "{:?}", &vfs.operations()[operations..]);
}
