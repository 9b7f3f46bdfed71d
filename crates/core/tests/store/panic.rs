//! After a panic within a call, the store is closed and the files are intact. A process that reopens the cache finds
//! every commit.

use crate::history::{Expected, commit, compact, dump, open};
use crate::model::same_content;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use varve_core::testing::sim::SimVfs;
use varve_core::{Durability, Handle, Options, Pool, Result, Store};

/// Panics once the flag is set.
#[derive(Debug, Default)]
struct PanickingPool(AtomicBool);

impl Pool for PanickingPool {
    fn threads(&self) -> usize {
        2
    }

    fn run(&self, count: usize, job: &(dyn Fn(usize) + Sync)) {
        assert!(!self.0.load(Ordering::Relaxed), "a bug in a job");
        (0..count).for_each(job);
    }
}

/// Panics within `call`; then another thread calls `later`, which needs the state that was being changed.
fn panics_in(call: impl Fn(&mut Handle, u32), later: impl Fn(&mut Handle, u32) -> Result<()>) {
    let (vfs, pool) = (SimVfs::new(), Arc::new(PanickingPool::default()));
    let options = Options { blob_bytes_min: 100, ..Options::default() };
    let store = Store::open(Arc::new(vfs.clone()), pool.clone(), options).expect("open");
    let (mut handle, mut other) = (store.handle(), store.handle());
    let id = handle.namespace("n", "1").expect("namespace");
    assert_eq!(other.namespace("n", "1").expect("namespace"), id);
    handle.put(id, b"before", b"1").expect("put");
    commit(&mut handle, Durability::Relaxed).expect("commit");

    pool.0.store(true, Ordering::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(|| call(&mut handle, id))).is_err(), "the planted panic");
    pool.0.store(false, Ordering::Relaxed);

    // Another thread must neither continue with half-changed state nor get a success.
    assert!(store.is_closed(), "the next open gets a new store");
    let code = |outcome: Result<()>| outcome.map_err(|error| error.code());
    assert_eq!(code(later(&mut other, id)), Err("INTERNAL"));
    assert_eq!(
        other.get(id, b"before", <[u8]>::to_vec).expect("get"),
        Some(b"1".to_vec()),
        "committed entries are still readable"
    );
    assert_eq!(code(store.close()), Err("INTERNAL"));

    let mut fresh = open(&vfs).expect("open again");
    let id = fresh.namespace("n", "1").expect("namespace");
    let mut content = Expected::from([(b"before".to_vec(), b"1".to_vec())]);
    same_content(&dump(&fresh, id), &content);
    fresh.put(id, b"again", b"3").expect("put");
    commit(&mut fresh, Durability::Durable).expect("commit");
    content.insert(b"again".to_vec(), b"3".to_vec());
    let mut last = open(&vfs).expect("open");
    assert_eq!(last.namespace("n", "1").expect("namespace"), id);
    same_content(&dump(&last, id), &content);
}

#[test]
fn a_panic_during_a_commit_closes_the_store_and_keeps_the_cache() {
    let commit_files = |handle: &mut Handle, id| {
        for key in [b'x', b'y'] {
            handle.put(id, &[key], &[key; 200]).expect("put");
        }
        commit(handle, Durability::Relaxed)
    };
    panics_in(|handle, id| drop(commit_files(handle, id)), commit_files);
}

#[test]
fn a_panic_during_a_compaction_closes_the_store_and_keeps_the_cache() {
    panics_in(|handle, _| drop(compact(handle, true)), |handle, _| compact(handle, true).map(drop));
}
