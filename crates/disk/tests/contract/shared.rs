//! Threads of one process that open the same directory share one store: its maps, its block cache, its thread pool.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use varve_core::{Handle, Options, Store};
use varve_disk::SharedStore;

const WRITERS: u64 = 4;
const COMMITS: u64 = 60;
/// Of one value: a commit of several is large enough to be a table of its own.
const LONG: usize = 100_000;

#[test]
fn threads_that_share_a_store_see_each_other_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let acknowledged: [AtomicU64; WRITERS as usize] = Default::default();
    let first = open(root);
    thread::scope(|threads| {
        for writer in 0..WRITERS {
            let acknowledged = &acknowledged[writer as usize];
            threads.spawn(move || write(&mut open(root).store().handle(), writer, acknowledged));
        }
        for _ in 0..2 {
            threads.spawn(|| read(&mut open(root).store().handle(), &acknowledged));
        }
        threads
            .spawn(move || (0..10).for_each(|round| compact(open(root).store(), round % 3 == 0)));
    });
    assert!(Arc::ptr_eq(first.store(), open(root).store()));
    assert_eq!(newest(&mut first.store().handle()), [COMMITS; WRITERS as usize]);
    first.leave().unwrap();
    let second = open(root);
    assert_eq!(newest(&mut second.store().handle()), [COMMITS; WRITERS as usize]);
    assert!(second.store().verify(&|_, _| ControlFlow::Continue(())).unwrap().damage.is_empty());
}

#[test]
fn the_last_session_that_leaves_closes_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let store = Arc::clone(first.store());
    first.leave().unwrap();
    assert!(!store.is_closed());
    second.leave().unwrap();
    assert!(store.is_closed());
    assert!(!Arc::ptr_eq(&store, open(folder.path()).store()));
}

#[test]
fn a_session_that_is_dropped_leaves_the_store_open_for_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (open(folder.path()), open(folder.path()));
    let store = Arc::clone(first.store());
    drop(first);
    assert!(!store.is_closed());
    second.leave().unwrap();
    assert!(store.is_closed());
}

#[test]
fn only_a_small_store_that_is_not_open_opens_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let small = || SharedStore::open_if_small(folder.path(), &Options::default()).unwrap();
    let first = small().expect("an empty directory is small");
    assert!(small().is_none());
    write(&mut first.store().handle(), 0, &AtomicU64::new(0));
    let first = first.leave_if_unwritten().expect_err("the store has commits to seal");
    drop(first);
    assert!(small().is_none(), "the log is too large");
}

fn open(path: &Path) -> SharedStore {
    SharedStore::open(path, &Options::default()).unwrap()
}

fn write(handle: &mut Handle, writer: u64, acknowledged: &AtomicU64) {
    let id = handle.namespace("n", "1").unwrap();
    for number in 1..=COMMITS {
        let count = if number % 20 == 0 { 30 } else { 1 };
        for at in 0..count {
            handle
                .put(id, format!("{writer} long {at}").as_bytes(), &vec![number as u8; LONG])
                .unwrap();
        }
        handle.put(id, format!("{writer}").as_bytes(), &number.to_le_bytes()).unwrap();
        handle.begin_commit().unwrap().run(None, 1_000).unwrap();
        acknowledged.store(number, Ordering::Release);
    }
}

/// What was acknowledged before it is asked for is there: the threads share one state.
fn read(handle: &mut Handle, acknowledged: &[AtomicU64; WRITERS as usize]) {
    while acknowledged.iter().any(|number| number.load(Ordering::Acquire) < COMMITS) {
        let before = acknowledged.each_ref().map(|number| number.load(Ordering::Acquire));
        let found = newest(handle);
        assert!(
            found.iter().zip(before).all(|(found, before)| *found >= before),
            "{before:?}, then {found:?}"
        );
    }
}

fn compact(store: &Store, full: bool) {
    store.compact(full, &|_, _| ControlFlow::Continue(())).unwrap();
}

fn newest(handle: &mut Handle) -> [u64; WRITERS as usize] {
    let id = handle.namespace("n", "1").unwrap();
    let keys: Vec<String> = (0..WRITERS).map(|writer| writer.to_string()).collect();
    let mut found = Vec::new();
    let number = |value: &[u8]| u64::from_le_bytes(value.try_into().unwrap());
    handle
        .get_many(id, keys.iter().map(String::as_bytes), |value| {
            found.push(value.map_or(0, number))
        })
        .unwrap();
    found.try_into().unwrap()
}
