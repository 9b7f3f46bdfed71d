//! The order of commits by processes that have not read each other's commits. When the order was a plain counter, a
//! process that had not read the directory for a while committed below newer commits. Its acknowledged commit was never
//! visible.

use crate::history::{commit, compact, open_with};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_core::testing::sim::SimVfs;
use varve_core::{Clock, Durability, Handle, Options};

const YEAR_US: u64 = 365 * 24 * 60 * 60 * 1_000_000;
const NOW_US: u64 = (2_026 - 1_970 + 1) * YEAR_US;

/// A clock that several processes share; each commit takes 100 us.
#[derive(Clone)]
struct Time(Arc<AtomicU64>);

impl Time {
    fn new() -> Self {
        Self(Arc::new(AtomicU64::new(NOW_US)))
    }

    /// The clock of a process that is `years` off.
    fn clock(&self, years: i64) -> Clock {
        let time = Arc::clone(&self.0);
        Clock::new(move || {
            time.load(Ordering::Relaxed).saturating_add_signed(years * YEAR_US as i64)
        })
    }

    fn open(&self, vfs: &SimVfs, years: i64) -> Handle {
        let random = self.0.fetch_add(100, Ordering::Relaxed);
        open_with(vfs, Options { clock: self.clock(years), random, ..Options::default() })
            .expect("open")
    }

    fn put(&self, handle: &mut Handle, version: &str, key: &str, value: &str) {
        self.0.fetch_add(100, Ordering::Relaxed);
        let id = handle.namespace("n", version).expect("namespace");
        handle.put(id, key.as_bytes(), value.as_bytes()).expect("put");
        commit(handle, Durability::Durable).expect("commit");
    }

    /// The value that a new process reads.
    fn found(&self, vfs: &SimVfs, version: &str, key: &str) -> Option<String> {
        get(&mut self.open(vfs, 0), version, key)
    }
}

fn get(handle: &mut Handle, version: &str, key: &str) -> Option<String> {
    let id = handle.namespace("n", version).expect("namespace");
    handle
        .get(id, key.as_bytes(), |value| String::from_utf8_lossy(value).into_owned())
        .expect("get")
}

#[test]
fn a_process_that_has_not_read_newer_commits_still_commits_above_them() {
    for compacted in [false, true] {
        let (vfs, time) = (SimVfs::new(), Time::new());
        let (mut early, mut other) = (time.open(&vfs, 0), time.open(&vfs, 0));
        time.put(&mut early, "1", "warm", "up");
        (0..20).for_each(|number| time.put(&mut other, "1", "key", &format!("other {number}")));
        if compacted {
            other.store().close().expect("close");
        }
        time.put(&mut early, "1", "key", "newest");
        assert_eq!(
            time.found(&vfs, "1", "key").as_deref(),
            Some("newest"),
            "compacted: {compacted}"
        );
        early.store().refresh().expect("refresh");
        assert_eq!(
            get(&mut early, "1", "key").as_deref(),
            Some("newest"),
            "compacted: {compacted}"
        );
    }
}

#[test]
fn commits_to_a_namespace_version_are_found_after_others_switched_versions_back_and_forth() {
    let (vfs, time) = (SimVfs::new(), Time::new());
    let (mut early, mut old, mut new) =
        (time.open(&vfs, 0), time.open(&vfs, 0), time.open(&vfs, 0));
    time.put(&mut early, "2", "warm", "up");
    (0..20).for_each(|number| time.put(&mut old, "1", &format!("old {number}"), "1"));
    time.put(&mut new, "2", "new", "2");
    (0..10).for_each(|number| time.put(&mut early, "2", &format!("early {number}"), "2"));
    let found = (0..10)
        .filter(|number| time.found(&vfs, "2", &format!("early {number}")).is_some())
        .count();
    assert_eq!(found, 10);
}

/// Writers take turns, with and without locks, each with a handle opened before all commits.
#[test]
fn a_new_process_finds_the_last_commit_of_writers_that_take_turns() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (vfs, time) = (SimVfs::new(), Time::new());
    let lockless = vfs.lockless();
    let mut writers: Vec<Handle> =
        (0..4).map(|number| time.open(if number % 2 == 0 { &vfs } else { &lockless }, 0)).collect();
    for turn in 0..100 {
        let writer = &mut writers[random.usize(..4)];
        time.put(writer, "1", "key", &turn.to_string());
        assert_eq!(
            time.found(&vfs, "1", "key"),
            Some(turn.to_string()),
            "seed {seed}, turn {turn}"
        );
        if random.u32(..10) == 0 {
            compact(writer, random.bool()).expect("compact");
        }
    }
}

/// The commits of a process whose clock is wrong are visible to itself and to every later process. A process that has
/// read them still commits above them.
#[test]
fn a_process_whose_clock_is_years_off_loses_no_commit_of_its_own_or_of_others() {
    for years in [-10, 10, 200] {
        let (vfs, time) = (SimVfs::new(), Time::new());
        let mut right = time.open(&vfs, 0);
        time.put(&mut right, "1", "key", "right");
        let mut wrong = time.open(&vfs, years);
        time.put(&mut wrong, "1", "key", "wrong");
        assert_eq!(time.found(&vfs, "1", "key").as_deref(), Some("wrong"), "{years} years");
        right.store().refresh().expect("refresh");
        time.put(&mut right, "1", "key", "right again");
        assert_eq!(time.found(&vfs, "1", "key").as_deref(), Some("right again"), "{years} years");
        wrong.store().refresh().expect("refresh");
        assert_eq!(get(&mut wrong, "1", "key").as_deref(), Some("right again"), "{years} years");
    }
}
