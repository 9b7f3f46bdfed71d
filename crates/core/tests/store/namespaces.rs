//! Any number of namespaces and of their versions.

use crate::history::{commit, compact, open};
use std::sync::Arc;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::MemVfs;
use varve_core::{Durability, Handle, Options, SerialPool, Store};

/// The most namespaces of a cache.
const MANY: u32 = 10_000;

fn newest(store: &Arc<Store>, name: &str, version: &str) -> Option<Vec<u8>> {
    let mut handle = store.handle();
    let id = handle.namespace(name, version).expect("namespace");
    handle.get(id, b"key", <[u8]>::to_vec).expect("get")
}

fn put(handle: &mut Handle, name: &str, version: &str, value: &[u8]) -> varve_core::Result<()> {
    let id = handle.namespace(name, version)?;
    handle.put(id, b"key", value)
}

/// After 16,384 pairs of a name and a version, a process could not open another namespace until it ended.
#[test]
fn a_process_that_has_opened_16384_names_and_versions_opens_another_one() {
    let store = Store::open(Arc::new(MemVfs::new()), Arc::new(SerialPool), Options::default())
        .expect("open");
    let mut kept = store.handle();
    put(&mut kept, "kept", "1", b"kept").expect("put");
    for round in 0..100_000u32 {
        let mut handle = store.handle();
        let version = round.to_string();
        put(&mut handle, "branch", &version, version.as_bytes()).expect("put");
        // Only one in ten is committed.
        if round % 10 == 0 {
            commit(&mut handle, Durability::Relaxed).expect("commit");
            assert_eq!(newest(&store, "branch", &version), Some(version.into_bytes()));
            assert_eq!(
                newest(&store, "branch", &round.saturating_sub(10).to_string()).is_some(),
                round == 0
            );
        }
    }
    commit(&mut kept, Durability::Relaxed).expect("commit");
    assert_eq!(newest(&store, "kept", "1"), Some(b"kept".to_vec()));
}

/// Each namespace has tables of its own, and every process opened all of them: 40,000 took seconds.
#[test]
fn a_cache_holds_ten_thousand_namespaces_and_refuses_the_next_one_with_the_cause() {
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    for number in 0..MANY {
        put(&mut handle, &number.to_string(), "1", &number.to_le_bytes()).expect("put");
        if number % 4_000 == 3_999 {
            commit(&mut handle, Durability::Relaxed).expect("commit");
        }
    }
    let refuse = |handle: &mut Handle| {
        let error = put(handle, "one more", "1", b"value").expect_err("a refusal");
        assert_eq!(error.code(), "EXHAUSTED");
        assert!(error.to_string().contains("has 10000 namespaces"), "{error}");
        put(handle, "7", "2", b"another version").expect("put");
        put(handle, "varve:history", "1", b"of Varve").expect("put");
    };
    refuse(&mut handle);
    commit(&mut handle, Durability::Relaxed).expect("commit");
    refuse(&mut open(&vfs).expect("open"));
    let check = |handle: &Handle| {
        for number in (0..MANY).step_by(77) {
            let found = newest(handle.store(), &number.to_string(), "1");
            assert_eq!(found, Some(number.to_le_bytes().to_vec()), "namespace {number}");
        }
    };
    check(&handle);
    compact(&handle, true).expect("compact");
    check(&handle);
    check(&open(&vfs).expect("open"));
}

/// Another process replaced the version while this one had it open. Entries that this process wrote to it are misses,
/// even after the id of that version was reused for another namespace.
#[test]
fn a_replaced_namespace_version_shows_misses_to_a_process_that_has_it_open() {
    let vfs = SimVfs::new();
    let (mut first, mut second) = (open(&vfs).expect("open"), open(&vfs).expect("open"));
    put(&mut first, "n", "1", b"old").expect("put");
    commit(&mut first, Durability::Relaxed).expect("commit");
    second.store().refresh().expect("refresh");
    put(&mut second, "n", "2", b"new").expect("put");
    put(&mut second, "other", "1", b"other").expect("put");
    commit(&mut second, Durability::Relaxed).expect("commit");
    first.store().refresh().expect("refresh");
    let id = first.namespace("n", "1").expect("namespace");
    assert_eq!(first.get(id, b"key", <[u8]>::to_vec).expect("get"), None);
    for (name, version, value) in [("n", "2", b"new".as_slice()), ("other", "1", b"other")] {
        assert_eq!(newest(first.store(), name, version).as_deref(), Some(value));
    }
    put(&mut first, "n", "1", b"newest").expect("put");
    commit(&mut first, Durability::Relaxed).expect("commit");
    assert_eq!(newest(first.store(), "n", "1").as_deref(), Some(b"newest".as_slice()));
    assert_eq!(newest(first.store(), "n", "2"), None);
}
