//! Any number of namespaces and versions of them.

use crate::history::{commit, compact, open};
use std::sync::Arc;
use varve_core::testing::sim::SimVfs;
use varve_core::vfs::MemVfs;
use varve_core::{Durability, Error, Handle, Options, SerialPool, Store};

/// More than the namespaces of one commit.
const MANY: u32 = 20_000;

fn newest(store: &Arc<Store>, name: &str, version: &str) -> Option<Vec<u8>> {
    let mut handle = store.handle();
    let id = handle.namespace(name, version).expect("namespace");
    handle.get(id, b"key", <[u8]>::to_vec).expect("get")
}

fn put(handle: &mut Handle, name: &str, version: &str, value: &[u8]) -> varve_core::Result<()> {
    let id = handle.namespace(name, version)?;
    handle.put(id, b"key", value)
}

/// A process that stayed open for 16,384 versions, of any namespaces, could open no namespace any more.
#[test]
fn a_hundred_thousand_versions_are_opened_and_closed_in_turn_in_one_process() {
    let store = Store::open(Arc::new(MemVfs::new()), Arc::new(SerialPool), Options::default()).expect("open");
    let mut kept = store.handle();
    put(&mut kept, "kept", "1", b"kept").expect("put");
    for round in 0..100_000u32 {
        let mut handle = store.handle();
        let version = round.to_string();
        put(&mut handle, "branch", &version, version.as_bytes()).expect("put");
        // Some are only opened.
        if round % 10 == 0 {
            commit(&mut handle, Durability::Relaxed).expect("commit");
            assert_eq!(newest(&store, "branch", &version), Some(version.into_bytes()));
            assert_eq!(newest(&store, "branch", &round.saturating_sub(10).to_string()).is_some(), round == 0);
        }
    }
    commit(&mut kept, Durability::Relaxed).expect("commit");
    assert_eq!(newest(&store, "kept", "1"), Some(b"kept".to_vec()));
}

#[test]
fn twenty_thousand_namespaces_of_one_cache_are_committed_and_found_again() {
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    for number in 0..MANY {
        put(&mut handle, &number.to_string(), "1", &number.to_le_bytes()).expect("put");
        if number % 10_000 == 9_999 {
            commit(&mut handle, Durability::Relaxed).expect("commit");
        }
    }
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

/// An entry of a log names its namespace in 14 bits.
#[test]
fn a_commit_of_too_many_namespaces_is_refused_and_the_next_one_takes_the_others() {
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let refused = (0..MANY).find_map(|number| Some((number, put(&mut handle, &number.to_string(), "1", b"v").err()?)));
    let Some((number, Error::Exhausted { field, limit })) = refused else { panic!("{refused:?}") };
    assert_eq!((field, limit), ("namespaces of one commit", u64::from(number)));
    commit(&mut handle, Durability::Relaxed).expect("commit");
    put(&mut handle, &number.to_string(), "1", b"v").expect("put");
    commit(&mut handle, Durability::Relaxed).expect("commit");
    for number in [0, number - 1, number] {
        assert_eq!(newest(handle.store(), &number.to_string(), "1"), Some(b"v".to_vec()), "namespace {number}");
    }
}

/// What this process has put into a version that another process replaced meanwhile is a miss, also where the number
/// of that version has gone to another namespace.
#[test]
fn a_version_that_was_replaced_shows_nothing_to_whoever_still_has_it_open() {
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
