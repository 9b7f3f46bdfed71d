//! A cache with a secret accepts only bytes that were written with this secret for this very place. Forged entries are
//! misses, and the next commit works. Without the secret, an attacker can write files
//! - from caches without a secret or with another one,
//! - from this cache with changed bytes and new checksums, and
//! - from other caches with the same secret, in other places.

use std::ops::ControlFlow;
use std::sync::Arc;
use varve_core::testing::reseal;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::Vfs;
use varve_core::{MacKey, Options, SerialPool, Store};

const KEYS: usize = 40;
const FORGED_MIN: usize = 1_000;

fn secret(number: u8) -> Option<MacKey> {
    Some(MacKey::new(&[number; 32]).unwrap())
}

fn open(vfs: &SimVfs, key: Option<&MacKey>) -> Arc<Store> {
    let options = Options { mac_key: key.cloned(), ..Options::default() };
    Store::open(Arc::new(vfs.clone()), Arc::new(SerialPool), options).expect("every folder opens")
}

/// Two tables with two namespaces and a log with commits to both. Every value begins with `word`.
fn cache(key: Option<&MacKey>, word: &str) -> SimVfs {
    let vfs = SimVfs::new();
    for round in 0..2 {
        let store = open(&vfs, key);
        let mut handle = store.handle();
        for name in ["n", "m"] {
            let namespace = handle.namespace(name, "1").unwrap();
            for number in 0..KEYS {
                let value = format!("{word} {name} {round} {number} {}", "x".repeat(number * 20));
                handle
                    .put(namespace, format!("key {number}").as_bytes(), value.as_bytes())
                    .unwrap();
            }
            handle.begin_commit().unwrap().run(None, 1_000).unwrap();
        }
        if round == 0 {
            store.compact(true, &|_, _| ControlFlow::Continue(())).unwrap();
        }
        drop(handle);
        // The store is not closed, so that the log stays.
    }
    vfs
}

/// Counts values that were found but never written to that namespace of this cache. Commits an entry afterwards.
fn accepted(vfs: &SimVfs, key: Option<&MacKey>, word: &str) -> usize {
    let store = open(vfs, key);
    let mut handle = store.handle();
    let mut wrong = 0;
    for name in ["n", "m"] {
        let namespace = handle.namespace(name, "1").unwrap();
        for number in 0..KEYS {
            let found =
                handle.get(namespace, format!("key {number}").as_bytes(), <[u8]>::to_vec).unwrap();
            let mut honest = (0..2)
                .map(|round| format!("{word} {name} {round} {number} {}", "x".repeat(number * 20)));
            wrong += usize::from(
                found.is_some_and(|value| !honest.any(|good| good.as_bytes() == value)),
            );
        }
    }
    let namespace = handle.namespace("n", "1").unwrap();
    handle.put(namespace, b"next", b"works").unwrap();
    handle.begin_commit().unwrap().run(None, 2_000).unwrap();
    drop((handle, store));
    let store = open(vfs, key);
    let mut handle = store.handle();
    let namespace = handle.namespace("n", "1").unwrap();
    assert_eq!(
        handle.get(namespace, b"next", <[u8]>::to_vec).unwrap().as_deref(),
        Some(&b"works"[..])
    );
    wrong
}

/// Replaces the first `good` at or after `from` with `evil`. Returns `None` if there is none.
fn poisoned(bytes: &[u8], from: usize) -> Option<Vec<u8>> {
    let at = from + bytes.get(from..)?.windows(4).position(|word| word == b"good")?;
    let mut out = bytes.to_vec();
    out[at..at + 4].copy_from_slice(b"evil");
    Some(out)
}

/// All forged caches, each with a name for messages.
fn forgeries(mine: &SimVfs, key: &MacKey) -> Vec<(String, SimVfs)> {
    let mut all = Vec::new();
    let foreign = [("without a key", None), ("with another key", secret(2))];
    for (how, other) in &foreign {
        let evil = cache(other.as_ref(), "evil");
        for name in evil.names() {
            for target in mine.names().into_iter().chain([
                name.clone(),
                "manifest-9".to_owned(),
                "9.log".to_owned(),
            ]) {
                let vfs = mine.fork();
                vfs.set_contents(&target, evil.contents(&name));
                all.push((format!("{name} {how} as {target}"), vfs));
            }
        }
        // One byte or word changed, and the checksums of the whole directory, or of that file, recomputed.
        for name in mine.names() {
            let bytes = mine.contents(&name);
            let words = (0..bytes.len()).step_by(97).filter_map(|from| poisoned(&bytes, from));
            let flips = (0..bytes.len()).step_by(29).map(|at| {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                flipped
            });
            for (number, changed) in words.chain(flips).enumerate() {
                let whole = mine.fork();
                whole.set_contents(&name, changed);
                reseal::reseal_with(&whole, other.as_ref());
                let single = mine.fork();
                single.set_contents(&name, whole.contents(&name));
                all.push((format!("change {number} of {name}, all resealed {how}"), whole));
                all.push((format!("change {number} of {name}, resealed alone {how}"), single));
            }
        }
    }
    let other = cache(Some(key), "other");
    for (name, target) in mine
        .names()
        .iter()
        .flat_map(|name| mine.names().into_iter().map(move |target| (name, target)))
    {
        let bytes = other.contents(name);
        // In its own place it was written with the secret for that place. Anywhere else it is a forgery.
        if *name != target {
            let vfs = mine.fork();
            vfs.set_contents(&target, bytes.clone());
            all.push((format!("{name} of another cache as {target}"), vfs));
            let vfs = mine.fork();
            vfs.set_contents(&target, mine.contents(name));
            all.push((format!("own {name} as {target}"), vfs));
        }
        for shift in [32, 64, 512, 4_096] {
            let vfs = mine.fork();
            let mut moved = mine.contents(&target);
            moved.truncate(shift.min(moved.len()));
            moved.extend_from_slice(&bytes);
            vfs.set_contents(&target, moved);
            all.push((format!("{name} of another cache in {target} from {shift} on"), vfs));
        }
    }
    all
}

#[test]
fn a_thousand_forged_caches_with_a_secret_return_no_value_and_the_next_commit_works() {
    let key = secret(1).unwrap();
    let mine = cache(Some(&key), "good");
    assert_eq!(accepted(&mine.fork(), Some(&key), "good"), 0, "the unchanged cache");
    assert!(
        open(&mine, Some(&key)).verify(&|_, _| ControlFlow::Continue(())).unwrap().entries
            >= 2 * KEYS as u64
    );
    let all = forgeries(&mine, &key);
    assert!(all.len() >= FORGED_MIN, "{} forged caches", all.len());
    for (name, vfs) in &all {
        assert_eq!(accepted(vfs, Some(&key), "good"), 0, "{name}");
    }
    println!("{} forged caches, none accepted", all.len());
}

/// Shows that the test above can fail: without a secret, the same forgeries are accepted.
#[test]
fn without_a_secret_forged_entries_are_accepted() {
    let mine = cache(None, "good");
    let mut believed = 0;
    for name in mine.names() {
        let vfs = mine.fork();
        let Some(changed) = poisoned(&mine.contents(&name), 0) else { continue };
        vfs.set_contents(&name, changed);
        reseal::reseal(&vfs);
        believed += accepted(&vfs, None, "good");
    }
    assert!(believed > 0);
}

/// Frames of one log after the start of another cache's log, with the same number, place and secret.
#[test]
fn commits_copied_from_another_cache_with_the_same_secret_are_rejected() {
    let key = secret(1);
    let vfs = [1, 2].map(|random| {
        let vfs = SimVfs::new();
        let options = Options { mac_key: key.clone(), random, ..Options::default() };
        let mut handle =
            Store::open(Arc::new(vfs.clone()), Arc::new(SerialPool), options).unwrap().handle();
        let namespace = handle.namespace("n", "1").unwrap();
        handle.put(namespace, b"key", &[random as u8]).unwrap();
        handle.begin_commit().unwrap().run(None, 1_000).unwrap();
        vfs
    });
    let logs = vfs.each_ref().map(|vfs| vfs.contents("0.log"));
    assert_eq!(logs[0].len(), logs[1].len());
    // The start is 64 bytes.
    vfs[0].set_contents("0.log", [&logs[0][..64], &logs[1][64..]].concat());
    let store = open(&vfs[0], key.as_ref());
    let mut handle = store.handle();
    let namespace = handle.namespace("n", "1").unwrap();
    assert_eq!(handle.get(namespace, b"key", <[u8]>::to_vec).unwrap(), None);
    assert_ne!(store.status().damage.len(), 0);
}

/// A usage record from another cache with the same secret, or renamed to another day, protected entries from eviction.
#[test]
fn usage_records_of_another_cache_or_another_day_are_ignored() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    let key = secret(1);
    let cache = |random| {
        let vfs = SimVfs::new();
        let options = Options { mac_key: key.clone(), random, ..Options::default() };
        let store = Store::open(Arc::new(vfs.clone()), Arc::new(SerialPool), options).unwrap();
        let mut handle = store.handle();
        let namespace = handle.namespace("n", "1").unwrap();
        handle.put(namespace, b"key", b"value").unwrap();
        handle.begin_commit().unwrap().run(None, DAY_MS).unwrap();
        store.compact(true, &|_, _| ControlFlow::Continue(())).unwrap();
        vfs
    };
    let never_used = |vfs: &SimVfs| {
        let store = open(vfs, key.as_ref());
        let report = store.verify(&|_, _| ControlFlow::Continue(())).unwrap();
        (store.stats().unwrap().namespaces[0].never_used_entries, report.sound)
    };
    let (mine, other) = (cache(1), cache(2));
    let day_20 = |vfs: &SimVfs| {
        let store = open(vfs, key.as_ref());
        store.set_now(20 * DAY_MS);
        let mut handle = store.handle();
        let namespace = handle.namespace("n", "1").unwrap();
        handle.get(namespace, b"key", |_| ()).unwrap();
        store.flush().unwrap();
        let records: Vec<String> =
            vfs.names().into_iter().filter(|name| name.starts_with("used/")).collect();
        records.into_iter().next().unwrap()
    };
    assert_eq!(never_used(&mine), (1, true));
    let record = day_20(&other);
    mine.set_contents(&record, other.contents(&record));
    assert_eq!(never_used(&mine), (1, true), "a record of another cache");
    let store = open(&mine, key.as_ref());
    store.compact(true, &|_, _| ControlFlow::Continue(())).unwrap();
    assert!(!mine.names().contains(&record), "the record is removed");

    let record = day_20(&mine);
    assert_eq!(never_used(&mine), (0, true), "its own record");
    let later = record.replace("20-", "30-");
    mine.set_contents(&later, mine.contents(&record));
    Vfs::remove(&mine, &record).unwrap();
    assert_eq!(never_used(&mine), (1, false), "a record under the name of another day");
}
