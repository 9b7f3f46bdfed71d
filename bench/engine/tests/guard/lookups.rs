//! Lookups whose blocks have all been read before must neither allocate nor read.

use crate::bounds::check;
use crate::count::{Counts, counted};
use crate::files::CountingVfs;
use crate::store::{Data, absent_keys, commit, compact, keys_of_one_hash, open, open_with};
use varve_bench::Entries;
use varve_core::{Durability, Handle};

const LOOKUPS: usize = 10_000;

/// Looks up keys of 8 bytes. Returns how many exist.
fn look(handle: &Handle, namespace: u32, keys: &[u8]) -> usize {
    let found = keys.chunks_exact(8).filter(|key| {
        let hit = handle.get(namespace, key, |value| std::hint::black_box(value).len());
        hit.expect("looks up").is_some()
    });
    found.count()
}

/// Warms up with every key and with absent ones, then counts hits in all tables, and misses of new absent keys.
fn warm_and_check(workload: &str, handle: &Handle, namespace: u32, keys: &[u8]) {
    let absent = absent_keys(2 * LOOKUPS);
    let (known_absent, new_absent) = absent.split_at(LOOKUPS * 8);
    look(handle, namespace, known_absent); // with many tables, this builds the index over them
    assert_eq!(look(handle, namespace, keys), keys.len() / 8, "every key is found");
    let step = keys.len() / 8 / LOOKUPS;
    let some: Vec<u8> =
        keys.chunks_exact(8).step_by(step).take(LOOKUPS).flatten().copied().collect();
    let (hits, hit_count) = counted(|| look(handle, namespace, &some));
    let (misses, miss_count) = counted(|| look(handle, namespace, new_absent));
    assert_eq!((hit_count, miss_count), (LOOKUPS, 0), "lookups find exactly the keys that exist");
    let reads = |counts: &Counts| counts.files().reads as f64;
    check(
        workload,
        &[
            ("hits: allocations", hits.allocations as f64),
            ("hits: reads", reads(&hits)),
            ("misses: allocations", misses.allocations as f64),
            ("misses: reads", reads(&misses)),
        ],
    );
}

#[test]
fn lookups_in_one_table_stay_within_their_bounds() {
    let data = Data::new(100_000, 8, 4);
    let folder = CountingVfs::default();
    let (mut handle, namespace) = open(&folder);
    commit(&mut handle, namespace, data.entries(), Durability::Relaxed);
    compact(&handle, true);
    drop(handle);
    let (handle, namespace) = open(&folder);
    warm_and_check("lookup/tables_1", &handle, namespace, &data.keys);
}

/// Values of 256 bytes have their own blocks, and few of them are enough for a table.
#[test]
fn lookups_in_many_tables_stay_within_their_bounds() {
    const TABLES: usize = 50;
    let data = Data::new(4_200 * TABLES, 8, 256);
    let folder = CountingVfs::default();
    let (mut handle, namespace) = open(&folder);
    for part in data.entries().parts(TABLES) {
        commit(&mut handle, namespace, part, Durability::Relaxed);
    }
    assert_eq!(
        handle.store().stats().expect("counts").tables,
        TABLES as u64,
        "every commit wrote a table"
    );
    warm_and_check("lookup/tables_50", &handle, namespace, &data.keys);
}

/// The cache keeps no block, so each block of a lookup is a read.
#[test]
fn lookups_of_keys_chosen_to_have_one_hash_stay_within_their_bounds() {
    const KEYS: usize = 100_000;
    let (keys, values) = (keys_of_one_hash(KEYS as u64), vec![1; KEYS * 4]);
    let (stored, absent) = keys.split_at(keys.len() / 2);
    let folder = CountingVfs::default();
    let (mut handle, namespace) = open(&folder);
    let entries = Entries { keys: stored, key_bytes: 32, values: &values, value_bytes: 4 };
    commit(&mut handle, namespace, entries, Durability::Relaxed);
    compact(&handle, true);
    drop(handle);
    let (handle, namespace) = open_with(&folder, 0);
    let look = |keys: &[u8]| {
        let some = keys.chunks_exact(32).step_by(KEYS / 2 / 1_000);
        some.filter(|key| handle.has(namespace, key).expect("looks up")).count()
    };
    let (hits, hit_count) = counted(|| look(stored));
    let (misses, miss_count) = counted(|| look(absent));
    assert_eq!((hit_count, miss_count), (1_000, 0), "lookups find exactly the keys that exist");
    let per_lookup = |counts: &Counts| counts.files().reads as f64 / 1_000.0;
    check(
        "lookup/one_hash",
        &[
            ("hits: reads per lookup", per_lookup(&hits)),
            ("misses: reads per lookup", per_lookup(&misses)),
        ],
    );
}
