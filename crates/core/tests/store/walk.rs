//! A walk returns each entry of one committed state once and in a fixed order. Interruptions and changes of the
//! directory make no difference.

use crate::history::{Expected, commit, compact, open, random_key, random_value};
use crate::model::same_content;
use crate::tables::key_of_one_hash;
use std::ops::ControlFlow;
use varve_core::testing::sim::{Call, SimVfs};
use varve_core::{Durability, Handle, Walk};

const NAMES: [(&str, &str); 3] = [("b", "1"), ("a", ""), ("c", "2 text")];

#[test]
fn a_walk_returns_the_state_committed_when_it_began() {
    let seed = std::env::var("VARVE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(fastrand::u64(..1 << 60));
    println!("VARVE_SEED={seed}");
    for seed in seed..seed + 300 {
        let outcome = std::panic::catch_unwind(|| history(seed));
        assert!(outcome.is_ok(), "failed with VARVE_SEED={seed}");
    }
}

fn history(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let ids = NAMES.map(|(name, version)| handle.namespace(name, version).expect("namespace"));
    let mut expected = [const { Expected::new() }; 3];
    for _ in 0..random.usize(1..12) {
        change(&mut handle, ids, &mut expected, &mut random);
    }
    let mut walk = handle.store().walk(None, true).expect("walk");
    let mut later = expected.clone();
    let mut found = [const { Expected::new() }; 3];
    let mut order = Vec::new();
    while next_page(&mut walk, &mut found, &mut order, random.usize(1..20)) {
        change(&mut handle, ids, &mut later, &mut random);
    }
    for (which, (name, _)) in NAMES.iter().enumerate() {
        same_content(&found[which], &expected[which]);
        let only: Vec<_> = order.iter().filter(|(other, _)| other == name).cloned().collect();
        assert_eq!(keys(reopened(&vfs), Some(name)).len(), later[which].len());
        assert_eq!(only.len(), expected[which].len(), "a walk returns each key once");
    }
    assert!(order.is_sorted_by_key(|(name, _)| name), "namespaces are ordered by name");

    // The same entries, committed to another directory in another way, come in the same order.
    let other = SimVfs::new();
    let mut writer = open(&other).expect("open");
    for (which, (name, version)) in NAMES.iter().enumerate().rev() {
        let id = writer.namespace(name, version).expect("namespace");
        for (key, value) in expected[which].iter().rev() {
            writer.put(id, key, value).expect("put");
        }
    }
    commit(&mut writer, Durability::Relaxed).expect("commit");
    assert_eq!(keys(writer, None), order);
}

/// Puts and deletes entries of all namespaces in one commit, and sometimes compacts.
fn change(
    handle: &mut Handle,
    ids: [u32; 3],
    expected: &mut [Expected; 3],
    random: &mut fastrand::Rng,
) {
    for _ in 0..random.usize(1..30) {
        let which = random.usize(..3);
        let key = random_key(random);
        if random.u32(..6) == 0 {
            handle.delete(ids[which], &key).expect("delete");
            expected[which].remove(&key);
        } else {
            let value = random_value(random);
            handle.put(ids[which], &key, &value).expect("put");
            expected[which].insert(key, value);
        }
    }
    commit(handle, Durability::Relaxed).expect("commit");
    if random.u32(..4) == 0 {
        compact(handle, random.bool()).expect("compact");
    }
}

/// Takes up to `count` entries. Returns `false` at the end.
fn next_page(
    walk: &mut Walk,
    found: &mut [Expected; 3],
    order: &mut Vec<(String, Vec<u8>)>,
    count: usize,
) -> bool {
    let mut left = count;
    walk.go_on(&mut |entry| {
        let which =
            NAMES.iter().position(|(name, _)| *name == entry.namespace.name).expect("a name");
        assert_eq!(entry.namespace.version, NAMES[which].1);
        assert_eq!(entry.value_bytes, entry.value.len());
        assert!(
            found[which].insert(entry.key.to_vec(), entry.value.to_vec()).is_none(),
            "a walk returns each key once"
        );
        order.push((entry.namespace.name.clone(), entry.key.to_vec()));
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

fn reopened(vfs: &SimVfs) -> Handle {
    open(vfs).expect("open again")
}

/// Names and keys in the order of a walk without values.
fn keys(handle: Handle, only: Option<&str>) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut walk = handle.store().walk(only, false).expect("walk");
    let more = walk.go_on(&mut |entry| {
        assert!(entry.value.is_empty());
        found.push((entry.namespace.name.clone(), entry.key.to_vec()));
        ControlFlow::Continue(())
    });
    let (done, total) = walk.progress();
    assert_eq!((more, done), (false, total));
    found
}

/// A walk that stopped among keys of one hash read all of them again each time, so an export of many was quadratic.
#[test]
fn a_walk_with_many_stops_among_keys_of_one_hash_reads_each_block_once() {
    const COUNT: u32 = 10_000;
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let mut expected = Vec::new();
    for number in 0..COUNT {
        let key = key_of_one_hash(number);
        handle.put(id, &key, &[7; 300]).expect("put");
        expected.push(key);
        if number == COUNT * 3 / 4 {
            commit(&mut handle, Durability::Relaxed).expect("commit");
            compact(&handle, true).expect("compact");
        }
    }
    commit(&mut handle, Durability::Relaxed).expect("commit");
    expected.sort_unstable();
    let reads = |stop_every: usize| {
        let handle = open(&vfs).expect("open");
        let before = vfs.call_count(Some(Call::Read));
        let (mut walk, mut found) = (handle.store().walk(None, true).expect("walk"), Vec::new());
        let mut page = || {
            let mut left = stop_every;
            walk.go_on(&mut |entry| {
                found.push(entry.key.to_vec());
                left -= 1;
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        };
        while page() {}
        assert!(found == expected, "each key once and in order, stopping every {stop_every}");
        vfs.call_count(Some(Call::Read)) - before
    };
    let at_once = reads(usize::MAX);
    assert!(at_once > 100, "{at_once} reads");
    assert_eq!(reads(100), at_once);
    assert_eq!(reads(1_999), at_once);
}
