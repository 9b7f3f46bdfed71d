//! What closing a store does beside other threads and processes.

use crate::history::{commit, compact, open};
use crate::hooked::{Hook, hooked, hooked_with, open_seeded, put, with_a_commit};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use varve_core::testing::sim::{Model, SimVfs};
use varve_core::{Durability, Handle};

/// Long enough for another thread to reach its lock. If it takes longer, the test proves less but does not fail.
const WAIT: Duration = Duration::from_millis(200);

/// A commit waited for another one while a third thread closed the store. It then wrote on top of an empty state and
/// was acknowledged with a sequence number below older commits, whose values came back.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "threads of the host, one of which has to come first"
)]
fn a_commit_that_waits_while_the_store_is_closed_fails() {
    let (vfs, _writer, _) = with_a_commit();
    let second: Arc<Mutex<Option<Handle>>> = Arc::default();
    let waiting = Arc::clone(&second);
    let (sender, receiver) = mpsc::channel();
    let mut first = hooked(
        &vfs,
        Box::new(move |_, _| {
            let Some(mut second) = waiting.lock().expect("second").take() else { return };
            let closing = Arc::clone(second.store());
            let committed = thread::spawn(move || {
                let id = second.namespace("n", "1").expect("namespace");
                second.put(id, b"key", b"second").expect("put");
                commit(&mut second, Durability::Relaxed)
            });
            thread::sleep(WAIT);
            let closed = thread::spawn(move || closing.close());
            thread::sleep(WAIT);
            sender.send((committed, closed)).expect("send");
        }),
    );
    *second.lock().expect("second") = Some(first.store().handle());
    let id = first.namespace("n", "1").expect("namespace");
    first.put(id, b"key", b"first").expect("put");
    commit(&mut first, Durability::Relaxed).expect("commit");
    let (committed, closed) = receiver.try_recv().expect("the commit called the file system");
    closed.join().expect("no panic").expect("close");
    let refused = committed.join().expect("no panic").expect_err("closed");
    assert_eq!(refused.code(), "CLOSED");
    let mut last = open(&vfs).expect("open");
    let id = last.namespace("n", "1").expect("namespace");
    assert_eq!(last.get(id, b"key", <[u8]>::to_vec).expect("get"), Some(b"first".to_vec()));
}

/// Each time before this process publishes its table, another one has published and a third one has left a log. `close`
/// reported BUSY although every commit was in place.
#[test]
fn a_process_whose_compaction_loses_every_race_closes_without_an_error() {
    let (vfs, mut other, id) = with_a_commit();
    let races = Arc::new(Mutex::new(0u32));
    let (count, directory) = (Arc::clone(&races), vfs.clone());
    let mut handle = hooked(
        &vfs,
        Box::new(move |call, name| {
            if call == "link" && name.starts_with("manifest-") {
                let mut races = count.lock().expect("count");
                *races += 1;
                other.put(id, b"other", &races.to_le_bytes()).expect("put");
                commit(&mut other, Durability::Relaxed).expect("commit");
                compact(&other, true).expect("compact");
                let mut third = open_seeded(&directory, u64::from(*races));
                put(&mut third, b"third");
                third.store().close().expect("close");
            }
        }),
    );
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, b"long", &[1; 300 << 10]).expect("put");
    commit(&mut handle, Durability::Relaxed).expect("commit");
    handle.store().close().expect("close");
    assert_eq!(*races.lock().expect("count"), 16, "races lost");
    for state in vfs.crash_states(Model::Posix, vfs.operation_count(), 1, 9) {
        let mut found = open(&state.vfs).expect("open");
        let id = found.namespace("n", "1").expect("namespace");
        assert!(
            found.get(id, b"long", |_| ()).expect("get").is_some(),
            "lost after {}",
            state.description()
        );
    }
}

const BYTES: usize = 3 << 20;
const VALUE_BYTES: usize = 8 << 10;

/// Commits random bytes, enough for a table of their own.
fn with_tables(mut handle: Handle, seed: u64) -> Handle {
    let (id, mut random) =
        (handle.namespace("n", "1").expect("namespace"), fastrand::Rng::with_seed(seed));
    let mut value = vec![0; VALUE_BYTES];
    for number in 0..BYTES / VALUE_BYTES {
        let key = format!("key {number} of {seed}");
        random.fill(&mut value);
        handle.put(id, key.as_bytes(), &value).expect("put");
    }
    commit(&mut handle, Durability::Relaxed).expect("commit");
    handle
}

/// The values that one of those processes has lost.
fn lost(vfs: &SimVfs, seed: u64) -> usize {
    let mut handle = open(vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let is_lost = |number: &usize| {
        let key = format!("key {number} of {seed}");
        handle.get(id, key.as_bytes(), |_| ()).expect("get").is_none()
    };
    (0..BYTES / VALUE_BYTES).filter(is_lost).count()
}

/// Eight builds that ended at the same moment wrote many times what they had stored: each merged what faster ones had
/// written, and began again whenever one more was.
#[test]
fn a_process_that_closes_merges_nothing_more_once_another_was_faster() {
    let (vfs, mut other, _) = with_a_commit();
    let (merged, is_closing) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, begun, directory) = (Arc::clone(&merged), Arc::clone(&is_closing), vfs.clone());
    let mut races = 0;
    let hook: Hook = Box::new(move |call, name| {
        if !begun.load(Ordering::Relaxed) {
            return;
        }
        if call == "create_new" && name.ends_with(".table") {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if call == "link" && name.starts_with("manifest-") && races < 4 {
            races += 1;
            put(&mut other, b"other");
            compact(&other, true).expect("compact");
            drop(with_tables(open_seeded(&directory, races), races));
        }
    });
    let handle = with_tables(hooked_with(&vfs, hook, 5), 5);
    is_closing.store(true, Ordering::Relaxed);
    handle.store().close().expect("close");
    assert_eq!(merged.load(Ordering::Relaxed), 0, "tables written");
    assert_eq!((1..=5).map(|seed| lost(&vfs, seed)).sum::<usize>(), 0, "lost");
}

/// A merge went on to its end after another process had published, although nothing of it could count any more.
#[test]
fn a_merge_ends_as_soon_as_another_process_was_faster() {
    let vfs = SimVfs::new();
    with_tables(open_seeded(&vfs, 3), 3).store().close().expect("close");
    let other = Arc::new(Mutex::new(None));
    let (published, faster) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&other));
    let count = Arc::clone(&published);
    let hook: Hook = Box::new(move |call, name| match call {
        "create_new" if name.ends_with(".table") => {
            let other: Option<Handle> = faster.lock().expect("other").take();
            if let Some(other) = &other {
                compact(other, true).expect("compact");
            }
        }
        "create_new" if name.ends_with(".tmp") => drop(count.fetch_add(1, Ordering::Relaxed)),
        _ => {}
    });
    let handle = with_tables(hooked_with(&vfs, hook, 1), 1);
    *other.lock().expect("other") = Some(with_tables(open_seeded(&vfs, 2), 2));
    published.store(0, Ordering::Relaxed);
    compact(&handle, true).expect("compact");
    assert!(other.lock().expect("other").is_none(), "the other one compacted");
    assert_eq!(published.load(Ordering::Relaxed), 1, "manifests written");
    assert_eq!((1..=3).map(|seed| lost(&vfs, seed)).sum::<usize>(), 0, "lost");
}

/// Each of several processes that compacted at the same time wrote the entries of all of them.
#[test]
fn a_process_leaves_the_logs_that_another_one_is_checkpointing() {
    let (vfs, mut other, id) = with_a_commit();
    let checkpointed = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&checkpointed);
    let hook: Hook = Box::new(move |call, name| {
        if call == "create_new" && name.ends_with(".table") && list.lock().expect("list").is_empty()
        {
            for key in [b"one", b"two"] {
                other.put(id, key, b"value").expect("put");
                commit(&mut other, Durability::Relaxed).expect("commit");
                list.lock()
                    .expect("list")
                    .push(compact(&other, false).expect("compact").logs_checkpointed);
            }
        }
    });
    let mut handle = hooked(&vfs, hook);
    put(&mut handle, b"three");
    let own = compact(&handle, false).expect("compact").logs_checkpointed;
    assert_eq!(
        (&*checkpointed.lock().expect("list"), own),
        (&vec![1, 1], 1),
        "logs that each compaction checkpointed"
    );
    let mut found = open(&vfs).expect("open");
    let id = found.namespace("n", "1").expect("namespace");
    let keys = [&b"key"[..], b"one", b"two", b"three"];
    assert!(keys.iter().all(|key| found.get(id, key, |_| ()).expect("get").is_some()), "lost");
}
