//! What closing a store does beside other threads and processes.

use crate::history::{commit, compact, open};
use crate::hooked::{hooked, open_seeded, put, with_a_commit};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use varve_core::testing::sim::Model;
use varve_core::{Durability, Handle};

/// Long enough for another thread to reach its lock. If it takes longer, the test proves less but does not fail.
const WAIT: Duration = Duration::from_millis(200);

/// A commit waited for another one while a third thread closed the store. It then wrote on top of an empty state and
/// was acknowledged with a sequence number below older commits, whose values came back.
#[test]
#[expect(clippy::disallowed_methods, reason = "threads of the host, one of which has to come first")]
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
        assert!(found.get(id, b"long", |_| ()).expect("get").is_some(), "lost after {}", state.description());
    }
}
