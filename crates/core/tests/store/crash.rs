//! Crash states: the power fails after any operation of the file system, and whatever was not synced may be there, be
//! missing, be torn or read as zeros. The cache must open, hold some committed state, none older than the last commit
//! that was acknowledged as durable, and take the next commit.

use crate::history::{Expected, commit, compact, dump, open, open_filing, random_key, random_value};
use std::collections::{BTreeSet, HashSet};
use varve_core::vfs::sim::SimVfs;
use varve_core::{Durability, Handle, Options};

const STATES: usize = 100_000;

/// States drawn at random for each prefix, beside those that are enumerated.
const RANDOM_STATES: usize = 6;

#[test]
fn a_hundred_thousand_crash_states_hold_a_committed_state() {
    let given = std::env::var("VARVE_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let mut seed = given.unwrap_or_else(|| fastrand::u64(..u64::MAX / 2));
    println!("first seed {seed}");
    let mut seen = HashSet::new();
    while seen.len() < STATES {
        let outcome = std::panic::catch_unwind(|| check(seed));
        match outcome {
            Ok(states) => seen.extend(states),
            Err(_) => panic!("failed with VARVE_SEED={seed}"),
        }
        seed += 1;
        if given.is_some() {
            break;
        }
    }
    println!("{} distinct crash states, last seed {}", seen.len(), seed - 1);
}

/// A history and what was committed when.
struct Recorded {
    vfs: SimVfs,
    /// After each commit: operations when it began, when it was acknowledged, whether durably, and the content.
    commits: Vec<Commit>,
}

struct Commit {
    begun: usize,
    acknowledged: usize,
    durable: bool,
    content: Expected,
}

fn record(seed: u64) -> Recorded {
    let mut random = fastrand::Rng::with_seed(seed);
    let vfs = match random.u32(..4) {
        0 => SimVfs::new().without_links(),
        1 => SimVfs::new().without_locks(),
        _ => SimVfs::new(),
    };
    let file_bytes_min = if random.bool() { 64 } else { Options::default().file_bytes_min };
    let open = |vfs: &SimVfs| open_filing(vfs, file_bytes_min);
    let mut writer = open(&vfs).expect("open");
    let mut id = writer.namespace("n", "1").expect("namespace");
    let mut content = Expected::new();
    let mut commits = Vec::new();
    let mut wrote = false;
    for _ in 0..random.usize(2..9) {
        match random.u32(..10) {
            0..6 => {
                let large = random.u32(..12) == 0;
                change(&mut random, &mut writer, id, &mut content, large);
                let durability = if random.bool() { Durability::Durable } else { Durability::Relaxed };
                let begun = vfs.operation_count();
                commit(&mut writer, durability).expect("commit");
                let durable = durability == Durability::Durable;
                wrote = true;
                commits.push(Commit { begun, acknowledged: vfs.operation_count(), durable, content: content.clone() });
            }
            6 => {
                compact(&writer, random.bool()).expect("compact");
            }
            7 => {
                let other = open(&vfs).expect("open");
                compact(&other, random.bool()).expect("compact by another process");
            }
            8 => {
                writer.store().flush().expect("flush");
                mark_durable(&mut commits, vfs.operation_count());
            }
            _ => {
                if random.bool() {
                    writer.store().close().expect("close");
                    // Who only read leaves things as they are.
                    if wrote {
                        mark_durable(&mut commits, vfs.operation_count());
                    }
                }
                wrote = false;
                writer = open(&vfs).expect("open again");
                id = writer.namespace("n", "1").expect("namespace");
            }
        }
    }
    Recorded { vfs, commits }
}

/// From this operation on the last commit is durable.
fn mark_durable(commits: &mut Vec<Commit>, operations: usize) {
    if let Some(last) = commits.last() {
        let content = last.content.clone();
        commits.push(Commit { begun: operations, acknowledged: operations, durable: true, content });
    }
}

fn change(random: &mut fastrand::Rng, writer: &mut Handle, id: u32, content: &mut Expected, large: bool) {
    for _ in 0..random.usize(1..4) {
        let (key, value) = (random_key(random), random_value(random));
        if random.u32(..5) == 0 {
            writer.delete(id, &key).expect("delete");
            content.remove(&key);
        } else {
            writer.put(id, &key, &value).expect("put");
            content.insert(key, value);
        }
    }
    if large {
        // Two that make the commit so large that it writes a table, or one that is a file.
        let bytes = if random.bool() { 600 << 10 } else { 1 << 20 };
        for key in [b"large", b"great"] {
            let value = vec![random.u8(..); bytes];
            writer.put(id, key, &value).expect("put");
            content.insert(key.to_vec(), value);
        }
    }
}

/// Checks every crash state of one history; returns their fingerprints.
fn check(seed: u64) -> BTreeSet<u64> {
    let history = record(seed);
    let mut seen = BTreeSet::new();
    for state in history.vfs.crash_states(0, seed, RANDOM_STATES) {
        if !seen.insert(state.vfs.fingerprint()) {
            continue;
        }
        // The same bytes can follow from several prefixes; each of them allows at least what the earliest one does.
        let durable = history.commits.iter().rposition(|commit| commit.durable && commit.acknowledged <= state.prefix);
        let begun = history.commits.iter().take_while(|commit| commit.begun < state.prefix).count();
        let context = || format!("seed {seed}, {}", state.description());
        let mut handle = open(&state.vfs).unwrap_or_else(|error| panic!("{}: cannot open: {error}", context()));
        let id = handle.namespace("n", "1").expect("namespace");
        let found = dump(&handle, id);
        let first = durable.map_or(0, |index| index + 1);
        let empty = durable.is_none() && found.is_empty();
        let known =
            empty || (first.saturating_sub(1)..begun.max(first)).any(|index| history.commits[index].content == found);
        assert!(known, "{}: not a committed state: {:?}", context(), found.keys().collect::<Vec<_>>());
        if seen.len() % 8 == 0 {
            takes_the_next_commit(&state.vfs, &mut handle, id, found, &context());
        }
    }
    seen
}

fn takes_the_next_commit(vfs: &SimVfs, handle: &mut Handle, id: u32, mut content: Expected, context: &str) {
    handle.put(id, b"next", b"commit").expect("put");
    commit(handle, Durability::Durable).unwrap_or_else(|error| panic!("{context}: next commit: {error}"));
    content.insert(b"next".to_vec(), b"commit".to_vec());
    compact(handle, true).unwrap_or_else(|error| panic!("{context}: compaction: {error}"));
    let mut fresh = open(vfs).expect("open");
    let id = fresh.namespace("n", "1").expect("namespace");
    assert!(dump(&fresh, id) == content, "{context}: content after the next commit");
}
