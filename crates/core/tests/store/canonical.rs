//! The same entries always give the same bytes, and a build that changes nothing writes nothing.

use crate::history::{Expected, commit, compact, dump, open};
use crate::model::same_content;
use std::sync::Arc;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{Durability, Handle, Options, Pool, SerialPool, Store};

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

/// Claims several threads, and runs the last part of a job first.
#[derive(Debug)]
struct BackwardsPool;

impl Pool for BackwardsPool {
    fn threads(&self) -> usize {
        4
    }

    fn run(&self, count: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..count).rev().for_each(job);
    }
}

/// A key whose hash depends on `family` only, because its first bytes make a factor of xxh3 zero.
fn colliding_key(family: u8, number: u64) -> Vec<u8> {
    let mut key = vec![family; 32];
    key[..8].copy_from_slice(&0xbe4b_a423_396c_feb8_u64.to_le_bytes());
    key[8..16].copy_from_slice(&number.to_le_bytes());
    key
}

/// The entries of several rounds of a merge. Some hashes are those of many keys, so that a round ends among them.
fn many_entries() -> Expected {
    let mut random = fastrand::Rng::with_seed(5);
    let mut value = |bytes| (0..bytes).map(|_| random.u8(b'a'..b'e')).collect::<Vec<u8>>();
    let mut entries = Expected::new();
    entries.extend((0..3_000).map(|number: u64| (number.to_le_bytes().to_vec(), value(1_500))));
    entries.extend((0..600).map(|number| (colliding_key(1, number), value(2_000))));
    entries.extend((0..5_000).map(|number| (colliding_key(2, number), value(300))));
    entries
}

#[test]
fn a_compaction_in_many_rounds_gives_the_same_bytes_with_one_thread_and_with_several() {
    let entries = many_entries();
    let pools: [Arc<dyn Pool>; 2] = [Arc::new(SerialPool), Arc::new(BackwardsPool)];
    let written = pools.map(|pool| {
        let vfs = SimVfs::new();
        let mut handle =
            Store::open(Arc::new(vfs.clone()), pool, Options::default()).expect("open").handle();
        let id = handle.namespace("n", "1").expect("namespace");
        for (index, (key, value)) in entries.iter().enumerate() {
            handle.put(id, key, value).expect("put");
            if index % 2_000 == 0 {
                commit(&mut handle, Durability::Relaxed).expect("commit");
            }
        }
        commit(&mut handle, Durability::Relaxed).expect("commit");
        compact(&handle, true).expect("compact");
        same_content(&dump(&handle, id), &entries);
        tables(&vfs)
    });
    let [first, second] = &written;
    assert!(first == second && first.len() == 1, "the tables differ");
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
