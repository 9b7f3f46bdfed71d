//! `sequential/items_N/transactions_T/key_16/value_128/{durable,relaxed}`, after Voron: sequential keys in commits of
//! 100, on one thread. Times all commits. Also reports the peak memory, the time of closing, which makes all commits
//! durable, and the files after it.

use super::{BLOCK_CACHE_BYTES, Trial, Unit};
use crate::data::{Entries, SEED, random};
use crate::measure::{memory_bytes, timed};

use std::fs;
use std::path::Path;

const ITEMS_OF_COMMIT: usize = 100;

/// The number of commits between two samples of the memory.
const MEMORY_COMMITS: usize = 500;

pub(super) fn trials(quick: bool) -> Vec<Trial> {
    let durable: &[usize] = if quick { &[100_000] } else { &[100_000, 600_000] };
    let relaxed: &[usize] = if quick { &[600_000] } else { &[600_000, 10_000_000] };
    let rounds = if quick { 3 } else { 5 };
    let durable = durable.iter().map(|items| trial(*items, true, rounds));
    durable.chain(relaxed.iter().map(|items| trial(*items, false, rounds))).collect()
}

fn trial(items: usize, durable: bool, rounds: usize) -> Trial {
    let kind = if durable { "durable" } else { "relaxed" };
    let name = if items == 10_000_000 { "10M".to_owned() } else { format!("{}k", items / 1_000) };
    Trial {
        id: format!("sequential/items_{name}/key_16/value_128/{kind}"),
        unit: Unit::Us,
        rounds,
        run: Box::new(move |subject, folder| {
            let values = random(SEED, ITEMS_OF_COMMIT, 128);
            let mut keys = vec![0; ITEMS_OF_COMMIT * 16];
            let commits = items / ITEMS_OF_COMMIT;
            let before = memory_bytes();
            let mut memory = before;
            let mut store = subject.open(folder, BLOCK_CACHE_BYTES);
            let work = || {
                for commit in 0..commits {
                    if commit % MEMORY_COMMITS == 0 {
                        memory = memory.max(memory_bytes());
                    }
                    for (index, key) in keys.chunks_exact_mut(16).enumerate() {
                        let number = (commit * ITEMS_OF_COMMIT + index) as u128;
                        key.copy_from_slice(&in_order(number));
                    }
                    store.commit(
                        Entries { keys: &keys, key_bytes: 16, values: &values, value_bytes: 128 },
                        durable,
                    );
                }
                store
            };
            let (sample, store) = timed(work);
            let (close, ()) = timed(|| store.close());
            let mut sample = sample.per(commits);
            let files = walk(folder);
            sample.extra.push(("memory", "MB", (memory - before) / 1e6));
            sample.extra.push(("close", "ms", close.wall_ns / 1e6));
            sample.extra.push(("files", "files", files as f64));
            sample
        }),
    }
}

/// The bytes sort in the order of the numbers, as sorted stores require.
fn in_order(number: u128) -> [u8; 16] {
    number.swap_bytes().to_le_bytes()
}

fn walk(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("lists").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}
