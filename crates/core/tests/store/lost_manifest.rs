//! The manifest, or the whole directory, is removed from outside in the middle of a call, and other processes create
//! the cache again and commit. A new process finds those commits, however the call goes on.

use crate::history::{compact, open};
use crate::hooked::{Hook, first_frame, hooked, hooked_with, open_seeded, put};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use varve_core::Handle;
use varve_core::testing::sim::SimVfs;

/// A call of a process whose cache has a damaged manifest, or none that is damaged.
type Call = (&'static str, bool, fn(&mut Handle));

const CALLS: &[Call] = &[
    ("a reset", true, |handle| {
        put(handle, b"own");
    }),
    ("a commit", false, |handle| {
        put(handle, b"own");
    }),
    ("a compaction", false, |handle| drop(compact(handle, true))),
    ("a close", false, |handle| {
        put(handle, b"own");
        drop(handle.store().close());
    }),
    ("a repair", true, |handle| {
        drop(handle.store().repair(false, &|_, _| ControlFlow::Continue(())))
    }),
];

fn manifests(vfs: &SimVfs) -> Vec<String> {
    vfs.names().into_iter().filter(|name| name.starts_with("manifest-")).collect()
}

/// What is removed, and how many other processes commit afterwards.
#[derive(Clone, Copy, Debug)]
struct Loss {
    is_whole: bool,
    others: u64,
}

impl Loss {
    /// Removes files and commits as other processes.
    fn happen(self, vfs: &SimVfs) {
        let lost = if self.is_whole { vfs.names() } else { manifests(vfs) };
        lost.iter().for_each(|name| vfs.erase(name));
        for number in 0..self.others {
            let mut other = open_seeded(vfs, 7 + number);
            put(&mut other, &Self::key(number));
            other.store().close().expect("close");
        }
    }

    fn key(number: u64) -> Vec<u8> {
        format!("other {number}").into_bytes()
    }
}

/// A cache of several logs and tables, whose manifest has a higher number than one that is created.
fn used(vfs: &SimVfs) {
    for round in 0..3 {
        let mut handle = open_seeded(vfs, 100 + round);
        put(&mut handle, b"before");
        if round < 2 {
            compact(&handle, true).expect("compact");
        }
        handle.store().close().expect("close");
    }
}

/// Runs the call; the loss happens before its call number `at` of the file system. `false` = it makes fewer calls.
fn is_lost_at(at: u32, machine: &SimVfs, (what, is_damaged, call): Call, loss: Loss) -> bool {
    let vfs = machine.fork();
    used(&vfs);
    let (other, left) = (vfs.clone(), Arc::new(Mutex::new(None)));
    let counted = Arc::clone(&left);
    let mut handle = hooked(
        &vfs,
        Box::new(move |call, name| {
            // No system call removes or renames a file only if it is a certain one.
            if loss.is_whole
                && (call == "remove" || call == "rename" && name.starts_with("manifest-"))
            {
                return;
            }
            let left = &mut *counted.lock().expect("count");
            if *left == Some(0) {
                loss.happen(&other);
            }
            *left = left.and_then(|left: u32| left.checked_sub(1));
        }),
    );
    if is_damaged {
        manifests(&vfs).iter().for_each(|name| vfs.flip(name, 40, 0));
    }
    *left.lock().expect("count") = Some(at);
    call(&mut handle);
    if left.lock().expect("count").take().is_some() {
        return false;
    }
    let mut reader = open_seeded(&vfs, 9);
    let id = reader.namespace("n", "1").expect("namespace");
    for number in 0..loss.others {
        let is_there = reader.has(id, &Loss::key(number)).expect("has");
        assert!(is_there, "{what}, {loss:?} before its call {at} of the file system: {number}");
    }
    true
}

/// A publisher whose manifest was gone published above the manifest of the new cache. Numbers of manifests began at 1
/// again, so a slow compaction removed the new manifest as an older one.
#[test]
fn a_commit_after_the_manifest_was_lost_survives_every_call_that_began_before() {
    for machine in [SimVfs::new(), SimVfs::new().without_links(), SimVfs::new().without_locks()] {
        for call in CALLS {
            let loss = Loss { is_whole: false, others: 2 };
            let count = (0..).take_while(|at| is_lost_at(*at, &machine, *call, loss)).count();
            assert!(count > 5, "{}: {count}", call.0);
        }
    }
}

/// Regression: a compaction published its manifest above that of the new cache, which had the number of the one that it
/// built on, and removed that manifest as an older one.
#[test]
fn a_commit_after_the_directory_was_made_again_survives_every_call_that_began_before() {
    for machine in [SimVfs::new(), SimVfs::new().without_links(), SimVfs::new().without_locks()] {
        for call in CALLS {
            for others in 1..6 {
                let loss = Loss { is_whole: true, others };
                let count = (0..).take_while(|at| is_lost_at(*at, &machine, *call, loss)).count();
                assert!(count > 5, "{}: {count}", call.0);
            }
        }
    }
}

/// A process listed a new cache, and then found its manifest cut. Between the two, another process had begun a log on
/// that manifest. The log did not belong to the manifest that the first process created, and made everything a miss.
#[test]
fn a_commit_to_a_cache_created_again_stays_although_a_log_was_begun_on_the_lost_manifest() {
    let mut created = 0;
    for read in 1..=4 {
        let begun = SimVfs::new();
        put(&mut open_seeded(&begun, 2), b"late");
        let (vfs, log) = (begun.fork(), begun.contents("0.log"));
        vfs.erase("0.log");
        let (other, start, mut reads) = (vfs.clone(), first_frame(&log), 0);
        let hook: Hook = Box::new(move |call, name| {
            reads += u32::from((call, name) == ("open", "manifest-1"));
            if reads == read && call == "open" {
                other.set_contents("0.log", start.clone());
                other.truncate("manifest-1", 76);
                reads = u32::MAX / 2;
            }
        });
        put(&mut hooked_with(&vfs, hook, 3), b"key");
        if vfs.names().contains(&"0.log".to_owned()) {
            vfs.set_contents("0.log", log); // the other process goes on
        }
        let mut reader = open(&vfs).expect("open");
        let id = reader.namespace("n", "1").expect("namespace");
        let damage = reader.store().status().damage;
        assert!(reader.has(id, b"key").expect("has"), "read {read}: {:?}, {damage:?}", vfs.names());
        created += u32::from(vfs.names().contains(&"manifest-2".to_owned()));
    }
    assert!(created > 0);
}
