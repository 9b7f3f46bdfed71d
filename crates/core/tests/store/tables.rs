//! Lookups over many tables return the newest entry of a key, whichever tables an index rules out.

use crate::history::{commit, compact, dump, open_with};
use std::collections::HashMap;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{Durability, Handle, Options};

const KEYS: u32 = 30_000;

/// Makes a commit that is large enough for a table of its own.
fn write_table(
    handle: &mut Handle,
    id: u32,
    model: &mut HashMap<u32, u32>,
    random: &mut fastrand::Rng,
    table: u32,
) {
    for _ in 0..5_000 {
        let key = random.u32(..KEYS);
        if random.u32(..10) == 0 {
            handle.delete(id, &key.to_le_bytes()).expect("delete");
            model.remove(&key);
        } else {
            let value = [table.to_le_bytes().as_slice(), &[7; 250]].concat();
            handle.put(id, &key.to_le_bytes(), &value).expect("put");
            model.insert(key, table);
        }
    }
    commit(handle, Durability::Relaxed).expect("commit");
}

fn agree(handle: &Handle, id: u32, model: &HashMap<u32, u32>, when: &str) {
    for key in 0..KEYS {
        let found = handle.get(id, &key.to_le_bytes(), |value| {
            value.first_chunk().copied().map(u32::from_le_bytes)
        });
        assert_eq!(found.expect("get").flatten(), model.get(&key).copied(), "key {key} {when}");
    }
}

#[test]
fn lookups_find_the_newest_of_many_tables_with_and_without_an_index() {
    look_up_with(64 << 20);
}

/// No index fits into the block cache, and blocks are evicted all the time.
#[test]
fn lookups_find_the_newest_of_many_tables_with_little_memory() {
    look_up_with(1 << 20);
}

fn look_up_with(block_cache_bytes: usize) {
    let mut random = fastrand::Rng::with_seed(11);
    let vfs = SimVfs::new();
    let options = Options { block_cache_bytes, ..Options::default() };
    let mut handle = open_with(&vfs, options).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let mut model = HashMap::new();
    for table in 0..12 {
        write_table(&mut handle, id, &mut model, &mut random, table);
    }
    assert_eq!(
        vfs.list().expect("list").iter().filter(|name| name.ends_with(".table")).count(),
        12
    );
    for round in 0..3 {
        agree(&handle, id, &model, &format!("in round {round}: misses build the index"));
    }
    for table in 12..16 {
        write_table(&mut handle, id, &mut model, &mut random, table);
        agree(&handle, id, &model, "with tables that are newer than the index");
    }
    for key in 0..KEYS {
        let absent = (KEYS + key).to_le_bytes();
        assert!(!handle.has(id, &absent).expect("has"), "key {} was never put", KEYS + key);
    }
}

/// Keys with the same 64-bit xxh3. Their first eight bytes make a factor zero, so that the next eight bytes do not
/// matter.
pub(crate) fn key_of_one_hash(number: u32) -> Vec<u8> {
    [0xbe4b_a423_396c_feb8_u64.to_le_bytes(), u64::from(number).to_le_bytes(), [7; 8], [7; 8]]
        .concat()
}

/// Writes every other key of one hash to logs, to several tables with and without an index, and to one table. Each is
/// found by its full key, across block boundaries too, and the keys in between are misses.
#[test]
fn keys_chosen_to_have_one_hash_are_found_and_keys_between_them_are_misses() {
    const COUNT: u32 = 5_000;
    let vfs = SimVfs::new();
    let mut handle = open_with(&vfs, Options::default()).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let agree = |handle: &Handle, newest: u32, when: &str| {
        for number in 0..COUNT {
            let found = handle.get(id, &key_of_one_hash(number), |value| value[0]).expect("get");
            let is_there = number % 2 == 0 && !(newest > 0 && number % 10 == 0);
            let round = if number % 4 == 0 { newest } else { 0 };
            assert_eq!(found, is_there.then_some(round as u8), "key {number} {when}");
        }
        assert_eq!(
            dump(handle, id).len() as u32,
            if newest > 0 { COUNT * 2 / 5 } else { COUNT / 2 },
            "{when}"
        );
    };
    for round in 0..4 {
        for number in (0..COUNT).filter(|number| number % if round == 0 { 2 } else { 4 } == 0) {
            handle.put(id, &key_of_one_hash(number), &[round as u8; 300]).expect("put");
        }
        for number in (0..COUNT).step_by(10).filter(|_| round > 0) {
            handle.delete(id, &key_of_one_hash(number)).expect("delete");
        }
        agree(&handle, round, "buffered");
        commit(&mut handle, Durability::Relaxed).expect("commit");
        for again in 0..3 {
            agree(&handle, round, &format!("committed, {again}: misses build an index"));
        }
    }
    compact(&handle, true).expect("compact");
    agree(&handle, 3, "compacted");
    handle.put(id, &key_of_one_hash(2), &[0; 9]).expect("put");
    commit(&mut handle, Durability::Relaxed).expect("commit");
    agree(&handle, 3, "with a log on top");
}
