//! `lookup/entries_N/{hit,miss}/{cached,uncached}/{file_order,random}`: one table with keys of 8 and values of 4 bytes.
//! Cached: every block was read before. Uncached: every lookup reads and verifies its blocks again.
//!
//! `lookup/store/tables_T/{hit,miss}`: 1000 Ki entries in T commits without merging, in random order. Values have 256
//! bytes, so that each of 200 commits is large enough for a table.

use super::{BLOCK_CACHE_BYTES, Trial, Unit, binary};
use crate::data::{Data, SEED, random};
use crate::measure::{Sample, timed};
use crate::subject::{Opened, Subject};
use std::path::Path;

const LOOKUPS: usize = 500_000;
const UNCACHED_LOOKUPS: usize = 500_000;
const STORE_ENTRIES: usize = 1_000 << 10;
const STORE_CACHE_BYTES: usize = 512 << 20;

pub(super) fn trials(quick: bool) -> Vec<Trial> {
    let counts: &[usize] =
        if quick { &[1_000 << 10] } else { &[1 << 10, 10 << 10, 100 << 10, 1_000 << 10] };
    let rounds = if quick { 3 } else { 7 };
    let mut trials = Vec::new();
    for count in counts {
        for hit in [true, false] {
            trials.push(one_table(*count, hit, true, Order::Random, rounds));
            trials.push(one_table(*count, hit, false, Order::Random, rounds));
        }
        trials.push(one_table(*count, true, true, Order::File, rounds));
    }
    for tables in [1, 4, 20, 200] {
        trials.extend([true, false].map(|hit| store(tables, hit, rounds)));
    }
    trials
}

#[derive(Clone, Copy, Debug)]
enum Order {
    File,
    Random,
}

fn one_table(count: usize, hit: bool, cached: bool, order: Order, rounds: usize) -> Trial {
    let (hit_name, cached_name) =
        (if hit { "hit" } else { "miss" }, if cached { "cached" } else { "uncached" });
    let order_name = if matches!(order, Order::File) { "file_order" } else { "random" };
    Trial {
        id: format!("lookup/entries_{}/{hit_name}/{cached_name}/{order_name}", binary(count)),
        unit: Unit::Ns,
        rounds,
        run: Box::new(move |subject, folder| {
            let data = Data::new(count, 8, 4);
            let keys = data.entries().keys;
            let mut store = subject.open(folder, BLOCK_CACHE_BYTES);
            store.commit(data.entries(), false);
            store.compact(true);
            store.close();
            let order = match order {
                Order::File => subject.file_order(keys, 8),
                Order::Random => random_order(count),
            };
            look(subject, folder, keys, order, hit, cached)
        }),
    }
}

fn store(tables: usize, hit: bool, rounds: usize) -> Trial {
    let hit_name = if hit { "hit" } else { "miss" };
    Trial {
        id: format!("lookup/store/tables_{tables}/{hit_name}"),
        unit: Unit::Ns,
        rounds,
        run: Box::new(move |subject, folder| {
            let data = Data::new(STORE_ENTRIES, 8, 256);
            let mut store = subject.open_quiet(folder, STORE_CACHE_BYTES);
            for part in data.entries().parts(tables) {
                store.commit(part, false);
            }
            let all = random_order(STORE_ENTRIES);
            warm_and_time(&mut *store, data.entries().keys, &all, hit)
        }),
    }
}

fn look(
    subject: &dyn Subject,
    folder: &Path,
    keys: &[u8],
    order: Vec<u32>,
    hit: bool,
    cached: bool,
) -> Sample {
    if cached {
        return warm_and_time(&mut *subject.open(folder, BLOCK_CACHE_BYTES), keys, &order, hit);
    }
    let mut store = subject.open(folder, 0);
    let order: Vec<u32> = order.into_iter().cycle().take(UNCACHED_LOOKUPS).collect();
    let absent = absent_keys(keys.len() / 8);
    let keys = if hit { keys } else { &absent };
    store.lookup(keys, 8, &order[..1_000]);
    time(&mut *store, keys, &order, hit)
}

/// Reads every block once, then measures.
fn warm_and_time(store: &mut dyn Opened, keys: &[u8], order: &[u32], hit: bool) -> Sample {
    store.lookup(keys, 8, order);
    let order: Vec<u32> = order.iter().copied().cycle().take(LOOKUPS).collect();
    let absent = absent_keys(keys.len() / 8);
    time(store, if hit { keys } else { &absent }, &order, hit)
}

fn time(store: &mut dyn Opened, keys: &[u8], order: &[u32], hit: bool) -> Sample {
    let (sample, found) = timed(|| store.lookup(keys, 8, order));
    assert_eq!(
        found,
        if hit { order.len() } else { 0 },
        "lookups find exactly the keys that exist"
    );
    sample.per(order.len())
}

/// The first four bytes are those of an existing key, the others are not.
fn absent_keys(count: usize) -> Vec<u8> {
    random(SEED + 7, count, 8)
}

fn random_order(count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    fastrand::Rng::with_seed(SEED).shuffle(&mut order);
    order
}
