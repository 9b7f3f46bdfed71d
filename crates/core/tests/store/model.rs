//! Random operations compared with a map, with reopening, refresh, checkpoints and compaction in between.

use crate::history::{Expected, commit, compact, dump, open, random_key, random_value};
use varve_core::testing::sim::SimVfs;
use varve_core::{Durability, Handle};

const HISTORIES: u64 = 10_000;

#[test]
fn ten_thousand_random_histories_return_the_same_entries_as_a_map() {
    let first = std::env::var("VARVE_SEED").ok().and_then(|seed| seed.parse().ok());
    let (seed, count) = first.map_or((fastrand::u64(..u64::MAX / 2), HISTORIES), |seed| (seed, 1));
    println!("seeds {seed}..{}", seed + count);
    for seed in seed..seed + count {
        let outcome = std::panic::catch_unwind(|| history(seed));
        assert!(outcome.is_ok(), "failed with VARVE_SEED={seed}");
    }
}

/// One process with two namespaces. At random it crashes or closes, and another process takes over.
fn history(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let vfs = match random.u32(..4) {
        0 => SimVfs::new().without_links(),
        1 => SimVfs::new().without_locks(),
        _ => SimVfs::new(),
    };
    let mut handle = open(&vfs).expect("open");
    let mut ids = name_both(&mut handle);
    let mut committed = [Expected::new(), Expected::new()];
    let mut buffered = committed.clone();
    for _ in 0..random.usize(1..60) {
        let which = random.usize(..2);
        match random.u32(..20) {
            0..10 => {
                let (key, value) = (random_key(&mut random), random_value(&mut random));
                handle.put(ids[which], &key, &value).expect("put");
                buffered[which].insert(key, value);
            }
            10..12 => {
                let key = random_key(&mut random);
                handle.delete(ids[which], &key).expect("delete");
                buffered[which].remove(&key);
            }
            12..15 => {
                commit(&mut handle, Durability::Relaxed).expect("commit");
                committed = buffered.clone();
            }
            15 => {
                let large = vec![random.u8(..); (1 << 20) + random.usize(..9)];
                handle.put(ids[which], b"large", &large).expect("put");
                commit(&mut handle, Durability::Durable).expect("commit");
                buffered[which].insert(b"large".to_vec(), large);
                committed = buffered.clone();
            }
            16 => {
                compact(&handle, random.bool()).expect("compact");
            }
            17 => {
                handle.store().refresh().expect("refresh");
            }
            last => {
                if last == 18 {
                    handle.store().close().expect("close");
                }
                handle = open(&vfs).expect("open again");
                ids = name_both(&mut handle);
                buffered = committed.clone();
            }
        }
        let key = random_key(&mut random);
        let found = handle.get(ids[which], &key, <[u8]>::to_vec).expect("get");
        assert!(found.as_ref() == buffered[which].get(&key), "{}", String::from_utf8_lossy(&key));
    }
    for which in 0..2 {
        same_content(&dump(&handle, ids[which]), &buffered[which]);
    }
    let verified =
        handle.store().verify(&|_, _| std::ops::ControlFlow::Continue(())).expect("verify");
    assert!(verified.sound, "{:?}", verified.damage);
}

fn name_both(handle: &mut Handle) -> [u32; 2] {
    ["one", "two"].map(|name| handle.namespace(name, "1").expect("namespace"))
}

#[test]
fn a_new_version_of_a_namespace_discards_its_entries_and_no_others() {
    let vfs = SimVfs::new();
    for full in [false, true] {
        let mut handle = open(&vfs).expect("open");
        let [old, other] = name_both(&mut handle);
        handle.put(old, b"key", b"old").expect("put");
        handle.put(other, b"key", b"other").expect("put");
        commit(&mut handle, Durability::Relaxed).expect("commit");
        compact(&handle, full).expect("compact");
        let new = handle.namespace("one", "2").expect("namespace");
        assert_eq!(handle.get(new, b"key", <[u8]>::to_vec).expect("get"), None);
        handle.put(new, b"key2", b"new").expect("put");
        commit(&mut handle, Durability::Relaxed).expect("commit");
        assert_eq!(
            handle.get(old, b"key", <[u8]>::to_vec).expect("get"),
            None,
            "the old version is gone"
        );
        compact(&handle, full).expect("compact");
        let mut handle = open(&vfs).expect("open");
        let [old, other] = name_both(&mut handle);
        assert_eq!(handle.get(old, b"key", <[u8]>::to_vec).expect("get"), None);
        assert_eq!(
            handle.get(other, b"key", <[u8]>::to_vec).expect("get").as_deref(),
            Some(&b"other"[..])
        );
        let new = handle.namespace("one", "2").expect("namespace");
        assert_eq!(
            handle.get(new, b"key2", <[u8]>::to_vec).expect("get").as_deref(),
            Some(&b"new"[..])
        );
        // Back to the first version: its entries from before the change do not return.
        handle.put(old, b"key3", b"again").expect("put");
        commit(&mut handle, Durability::Relaxed).expect("commit");
        assert_eq!(dump(&handle, old).into_keys().collect::<Vec<_>>(), [b"key3".to_vec()]);
        handle.store().close().expect("close");
    }
}

#[test]
fn a_failed_commit_stays_readable_and_is_part_of_the_next_one() {
    use varve_core::testing::sim::{Call, Effect, Fault};
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let [id, _] = name_both(&mut handle);
    handle.put(id, b"before", b"1").expect("put");
    commit(&mut handle, Durability::Relaxed).expect("commit");
    let effect = Effect::Short { bytes: 40, error: std::io::ErrorKind::StorageFull };
    vfs.fail(Fault { call: Some(Call::Append), after: 0, forever: false, effect });
    handle.put(id, b"after", b"2").expect("put");
    let error = commit(&mut handle, Durability::Relaxed).expect_err("the disk is full");
    assert_eq!(error.code(), "DISK_FULL");
    assert_eq!(handle.get(id, b"after", <[u8]>::to_vec).expect("get").as_deref(), Some(&b"2"[..]));
    handle.put(id, b"after", b"3").expect("put");
    commit(&mut handle, Durability::Relaxed).expect("there is space again");
    let mut fresh = open(&vfs).expect("open");
    let [id, _] = name_both(&mut fresh);
    for (key, value) in [(b"before".as_slice(), b"1".as_slice()), (b"after", b"3")] {
        assert_eq!(fresh.get(id, key, <[u8]>::to_vec).expect("get").as_deref(), Some(value));
    }
}

/// Each failed commit left a temporary manifest. After 64 of them, no commit created the cache: it failed with `BUSY`.
#[test]
fn a_cache_is_created_after_a_hundred_commits_to_a_full_disk() {
    use varve_core::testing::sim::{Call, Effect, Fault};
    let vfs = SimVfs::new();
    let effect = Effect::Error(std::io::ErrorKind::StorageFull);
    vfs.fail(Fault { call: Some(Call::Append), after: 0, forever: true, effect });
    let mut handle = open(&vfs).expect("open");
    let [id, _] = name_both(&mut handle);
    handle.put(id, b"key", b"value").expect("put");
    for _ in 0..100 {
        assert_eq!(
            commit(&mut handle, Durability::Relaxed).expect_err("the disk is full").code(),
            "DISK_FULL"
        );
    }
    assert_eq!(vfs.names(), Vec::<String>::new());
    vfs.clear_faults();
    commit(&mut handle, Durability::Relaxed).expect("there is space again");
}

/// Fails with the keys that differ.
pub(crate) fn same_content(found: &Expected, expected: &Expected) {
    let text = |key: &Vec<u8>| String::from_utf8_lossy(key).chars().take(20).collect::<String>();
    let missing: Vec<_> =
        expected.keys().filter(|key| !found.contains_key(*key)).map(text).collect();
    let extra: Vec<_> = found.keys().filter(|key| !expected.contains_key(*key)).map(text).collect();
    let wrong: Vec<_> = found
        .iter()
        .filter(|(key, value)| expected.get(*key).is_some_and(|other| other != *value))
        .map(|(key, _)| text(key))
        .collect();
    assert!(found == expected, "missing {missing:?}, extra {extra:?}, wrong {wrong:?}");
}
