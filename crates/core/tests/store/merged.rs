//! Directories merged from two diverged copies of one cache: by restoring into a directory that is not empty, `cp -r`,
//! or `rsync` without `--delete`. A reader finds the newest state of one copy, or nothing.

use crate::history::{commit, compact, open_with};
use std::collections::BTreeSet;
use varve_core::testing::sim::SimVfs;
use varve_core::{Durability, Handle, Options};

const ROUNDS: u64 = 400;

/// Keys that each commit writes, all with the same value.
const KEYS: [&str; 3] = ["a", "b", "c"];

fn open(vfs: &SimVfs, random: &mut fastrand::Rng) -> Handle {
    open_with(vfs, Options { random: random.u64(..), ..Options::default() }).expect("open")
}

/// Runs some processes one after another. If `kills`, some are killed, so that their logs have no seal. Returns the
/// value of the last commit.
fn go_on(vfs: &SimVfs, tag: &str, kills: bool, random: &mut fastrand::Rng) -> String {
    let mut last = String::new();
    for process in 0..random.u32(1..4) {
        let mut handle = open(vfs, random);
        let id = handle.namespace("n", "1").expect("namespace");
        for number in 0..random.u32(1..4) {
            last = format!("{tag} {process} {number}");
            for key in KEYS {
                handle.put(id, key.as_bytes(), last.as_bytes()).expect("put");
            }
            handle.put(id, format!("own {last}").as_bytes(), b"").expect("put");
            commit(&mut handle, Durability::Relaxed).expect("commit");
            if random.u32(..6) == 0 {
                compact(&handle, random.bool()).expect("compact");
            }
        }
        if !(kills && random.bool()) {
            handle.store().close().expect("close");
        }
    }
    last
}

/// Copies each file of `source` to `target` with probability `share`.
fn merge(target: &SimVfs, source: &SimVfs, share: f64, random: &mut fastrand::Rng) {
    for name in source.names() {
        if random.f64() < share {
            target.set_contents(&name, source.contents(&name));
        }
    }
}

#[test]
fn two_merged_copies_of_a_cache_show_the_newest_state_of_one_or_misses() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut found_one, mut missed) = (0, 0);
    for round in 0..ROUNDS {
        let way = random.u32(..5);
        // The log of a killed process is not missed if no later file refers to it.
        let kills = way > 2;
        let base = SimVfs::new();
        go_on(&base, "start", kills, &mut random);
        let (one, two) = (base.fork(), base.fork());
        let last = [go_on(&one, "one", kills, &mut random), go_on(&two, "two", kills, &mut random)];
        match way {
            0 => merge(&one, &two, 0.5, &mut random),
            1 => merge(&one, &base, 0.5, &mut random),
            2 => one.names().iter().filter(|_| random.f64() < 0.4).for_each(|name| one.erase(name)),
            _ => merge(&one, &two, 1.0, &mut random),
        }
        let mut reader = open(&one, &mut random);
        let id = reader.namespace("n", "1").expect("namespace");
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let values = KEYS.map(|key| reader.get(id, key.as_bytes(), text).expect("get"));
        let found: BTreeSet<&String> = values.iter().flatten().collect();
        let is_newest = found.iter().all(|value| last.contains(value)) && found.len() <= 1;
        assert!(is_newest, "seed {seed}, round {round}: {values:?} of {last:?}");
        let has_own = last
            .each_ref()
            .map(|own| reader.has(id, format!("own {own}").as_bytes()).expect("has"));
        assert_ne!(has_own, [true; 2], "seed {seed}, round {round}: entries of both");
        if found.is_empty() {
            missed += 1
        } else {
            found_one += 1
        }
        reader.put(id, b"next", b"").expect("put");
        commit(&mut reader, Durability::Relaxed).expect("commit");
        let mut after = open(&one, &mut random);
        let id = after.namespace("n", "1").expect("namespace");
        assert!(
            after.has(id, b"next").expect("has"),
            "seed {seed}, round {round}: the next commit is not found"
        );
    }
    assert!(
        found_one > ROUNDS / 4 && missed > 0,
        "seed {seed}: {found_one} found, {missed} missed"
    );
}

/// The manifest on which the open log was begun was still there, next to a newer one from the other copy. Commits were
/// acknowledged but never visible.
#[test]
fn a_cache_that_was_open_during_a_merge_of_its_directory_commits_to_it_after_a_refresh() {
    let mut random = fastrand::Rng::with_seed(1);
    let one = SimVfs::new();
    go_on(&one, "start", false, &mut random);
    let two = one.fork();
    for _ in 0..3 {
        go_on(&two, "two", false, &mut random);
        compact(&open(&two, &mut random), true).expect("compact");
    }
    let mut writer = open(&one, &mut random);
    let id = writer.namespace("n", "1").expect("namespace");
    writer.put(id, b"before", b"").expect("put");
    commit(&mut writer, Durability::Relaxed).expect("commit");
    merge(&one, &two, 1.0, &mut random);
    writer.store().refresh().expect("refresh");
    writer.put(id, b"after", b"").expect("put");
    commit(&mut writer, Durability::Relaxed).expect("commit");
    let mut reader = open(&one, &mut random);
    let id = reader.namespace("n", "1").expect("namespace");
    assert!(reader.has(id, b"after").expect("has"), "{:?}", one.names());
}

/// Regression: a log that the handle had read was replaced by the other copy's log of the same number. Refreshes
/// compared names, so the handle acknowledged commits that no later process found, and closing failed with `BUSY`.
#[test]
fn a_cache_that_refreshes_while_its_files_are_replaced_one_by_one_commits_to_it_afterwards() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..ROUNDS {
        let base = SimVfs::new();
        go_on(&base, "start", true, &mut random);
        let (one, two) = (base.fork(), base.fork());
        go_on(&one, "one", true, &mut random);
        go_on(&two, "two", true, &mut random);
        let mut handles = [open(&one, &mut random), open(&one.lockless(), &mut random)];
        let put = |handle: &mut Handle, key: &str| {
            handle.store().refresh().expect("refresh");
            let id = handle.namespace("n", "1").expect("namespace");
            handle.put(id, key.as_bytes(), b"").expect("put");
            commit(handle, Durability::Relaxed).expect("commit");
        };
        let in_place = random.bool();
        let mut names = two.names();
        random.shuffle(&mut names);
        for name in names {
            if !in_place && one.names().contains(&name) {
                one.erase(&name);
            }
            // A copy is visible before it is whole.
            let whole = two.contents(&name);
            for bytes in [random.usize(..=whole.len()), whole.len()] {
                for handle in handles.iter_mut().filter(|_| random.u32(..4) == 0) {
                    put(handle, "during");
                }
                one.set_contents(&name, whole[..bytes].to_vec());
            }
        }
        put(random.choice(&mut handles).expect("a handle"), "after");
        let mut reader = open(&one, &mut random);
        let id = reader.namespace("n", "1").expect("namespace");
        assert!(
            reader.has(id, b"after").expect("has"),
            "seed {seed}, round {round}: {:?}",
            one.names()
        );
        for handle in handles {
            handle
                .store()
                .close()
                .unwrap_or_else(|error| panic!("seed {seed}, round {round}: closing: {error}"));
        }
    }
}
