//! What a handle reads changes only when it refreshes or begins a commit. It does not change when its own process
//! compacts, when other processes commit, or when another handle of its process opens the cache.

use crate::history::{commit, compact, open_with};
use std::collections::BTreeMap;
use varve_core::testing::sim::SimVfs;
use varve_core::{Durability, Handle, Options};

const WRITERS: usize = 3;
/// Keys of a writer. Each of its commits writes the same number to all of them.
const KEYS: usize = 3;

/// The commit number of each writer.
type Seen = BTreeMap<usize, u64>;

fn open(vfs: &SimVfs) -> (Handle, u32) {
    let mut handle = open_with(
        vfs,
        Options { block_cache_bytes: 1 << 16, random: fastrand::u64(..), ..Options::default() },
    )
    .expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    (handle, id)
}

fn put(handle: &mut Handle, id: u32, writer: usize, number: u64, bytes: usize) {
    for key in 0..KEYS {
        let value = [&number.to_le_bytes()[..], &vec![number as u8; bytes]].concat();
        handle.put(id, format!("{writer} {key}").as_bytes(), &value).expect("put");
    }
}

/// The commit number of each writer. Fails if the keys of a writer come from two commits.
fn seen(handle: &Handle, id: u32) -> Seen {
    let number = |writer: usize, key: usize| {
        let get = |value: &[u8]| u64::from_le_bytes(value[..8].try_into().expect("8 bytes"));
        handle.get(id, format!("{writer} {key}").as_bytes(), get).expect("get").unwrap_or(0)
    };
    let of = |writer| {
        let numbers: Vec<u64> = (0..KEYS).map(|key| number(writer, key)).collect();
        assert!(
            numbers.iter().all(|number| *number == numbers[0]),
            "keys of writer {writer} from several commits: {numbers:?}"
        );
        (writer, numbers[0])
    };
    (0..WRITERS).map(of).collect()
}

fn commit_number(handle: &mut Handle, id: u32, writer: usize, number: u64) {
    put(handle, id, writer, number, 8);
    commit(handle, Durability::Relaxed).expect("commit");
}

/// JavaScript reads many values with several calls, and takes them only if the number is the same before and after.
#[test]
fn the_revision_of_a_store_changes_with_each_visible_commit_and_with_no_lookup() {
    let vfs = SimVfs::new();
    let ((mut own, id), (mut other, other_id)) = (open(&vfs), open(&vfs));
    let revision = |handle: &Handle| handle.store().revision().expect("revision");
    let mut before = revision(&own);
    for number in 1..4 {
        commit_number(&mut other, other_id, 0, number);
        put(&mut own, id, 1, number, 8);
        seen(&own, id);
        assert_eq!(revision(&own), before, "nothing became visible");
        assert!(own.store().refresh().expect("refresh"));
        let refreshed = revision(&own);
        assert_ne!(refreshed, before, "a refresh showed commit {number}");
        commit(&mut own, Durability::Relaxed).expect("commit");
        before = revision(&own);
        assert_ne!(before, refreshed, "own commit {number}");
    }
}

/// A compaction made commits of other processes visible between two reads: 59 of two million reads mixed two commits.
#[test]
fn two_reads_around_a_compaction_of_the_same_process_see_one_state() {
    for full in [false, true] {
        let vfs = SimVfs::new();
        let (mut other, other_id) = open(&vfs);
        commit_number(&mut other, other_id, 0, 1);
        let (mut reader, id) = open(&vfs);
        commit_number(&mut other, other_id, 0, 2);
        other.store().close().expect("close");
        assert!(compact(&reader, full).expect("compact").changed);
        assert_eq!(seen(&reader, id)[&0], 1);
        compact(&reader, full).expect("compact");
        assert_eq!(seen(&reader, id)[&0], 1);
        commit_number(&mut reader, id, 1, 1);
        assert_eq!(seen(&reader, id), Seen::from([(0, 2), (1, 1), (2, 0)]));
    }
}

#[test]
fn a_handle_that_reopens_the_cache_sees_commits_of_others_and_changes_no_other_handle_until_then() {
    let vfs = SimVfs::new();
    let (first, id) = open(&vfs);
    let (mut other, other_id) = open(&vfs);
    commit_number(&mut other, other_id, 0, 1);
    first.store().look_ahead().expect("look ahead");
    assert_eq!(seen(&first, id)[&0], 0);
    assert!(first.store().advance().expect("advance"));
    let mut second = first.store().handle();
    assert_eq!(second.namespace("n", "1").expect("namespace"), id);
    assert_eq!((seen(&first, id)[&0], seen(&second, id)[&0]), (1, 1));
    first.store().look_ahead().expect("look ahead");
    assert!(!first.store().advance().expect("advance"), "nothing has changed");
}

/// If no other process has written, the old state, its memory and its files are released at once.
#[test]
fn a_handle_switches_to_its_own_compaction_at_once_if_no_other_process_wrote() {
    let vfs = SimVfs::new();
    let (mut handle, id) = open(&vfs);
    for number in 1..4 {
        commit_number(&mut handle, id, 0, number);
        compact(&handle, number == 3).expect("compact");
        let store = handle.store();
        assert_eq!(store.status().manifest, store.stats().expect("stats").manifest);
    }
    let (mut other, other_id) = open(&vfs);
    commit_number(&mut other, other_id, 1, 1);
    commit_number(&mut handle, id, 0, 4);
    compact(&handle, true).expect("compact");
    let store = handle.store();
    assert_ne!(store.status().manifest, store.stats().expect("stats").manifest);
    handle.begin_commit();
    assert_eq!(handle.store().status().manifest, handle.store().stats().expect("stats").manifest);
}

/// An evicted entry stays readable until the handle refreshes.
#[test]
fn an_entry_evicted_by_a_compaction_stays_readable_until_refresh() {
    let vfs = SimVfs::new();
    let options = Options { bytes_max: 200_000, ..Options::default() };
    let mut writer = open_with(&vfs, options.clone()).expect("open");
    let id = writer.namespace("n", "1").expect("namespace");
    for number in 0..40u32 {
        let value: Vec<u8> =
            (0..10_000u32).map(|at| (at.wrapping_mul(number + 77) >> 3) as u8).collect();
        writer.put(id, &number.to_le_bytes(), &value).expect("put");
    }
    commit(&mut writer, Durability::Relaxed).expect("commit");
    writer.store().set_now(1);
    let found = |handle: &Handle| {
        (0..40u32).filter(|number| handle.has(id, &number.to_le_bytes()).expect("has")).count()
    };
    compact(&writer, false).expect("compact");
    assert_eq!(found(&writer), 40);
    writer.store().refresh().expect("refresh");
    assert!(found(&writer) < 25, "{}", found(&writer));
}

/// Several handles read, compact, commit and refresh in random order. Two of them share a store.
#[test]
fn a_handle_sees_one_state_until_it_refreshes_or_commits() {
    let seed = fastrand::u64(..u64::MAX / 2);
    println!("seed {seed}");
    for seed in seed..seed + 150 {
        take_turns(seed);
    }
}

fn take_turns(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let vfs = if random.bool() { SimVfs::new().without_locks() } else { SimVfs::new() };
    let mut place = || if random.bool() { vfs.lockless() } else { vfs.clone() };
    let mut handles: Vec<_> = (0..WRITERS).map(|_| open(&place())).collect();
    let mut visible: Vec<Seen> = vec![(0..WRITERS).map(|writer| (writer, 0)).collect(); WRITERS];
    let mut newest = visible[0].clone();
    for step in 0..random.usize(10..60) {
        let at = || format!("seed {seed} step {step}");
        let which = random.usize(..WRITERS);
        let (handle, id) = &mut handles[which];
        match random.u32(..10) {
            0..4 => {
                let number = newest[&which] + 1;
                // Some commits are large enough for a table of their own.
                put(handle, *id, which, number, if random.u32(..6) == 0 { 400_000 } else { 8 });
                commit(handle, Durability::Relaxed)
                    .unwrap_or_else(|error| panic!("{}: {error}", at()));
                newest.insert(which, number);
                let now = seen(handle, *id);
                let is_between = |writer: &usize| {
                    (visible[which][writer]..=newest[writer]).contains(&now[writer])
                };
                assert!((0..WRITERS).all(|writer| is_between(&writer)), "{}: {now:?}", at());
                assert_eq!(now[&which], number, "{}", at());
                visible[which] = now;
            }
            4..7 => drop(
                compact(handle, random.bool()).unwrap_or_else(|error| panic!("{}: {error}", at())),
            ),
            7 => handle.store().look_ahead().unwrap_or_else(|error| panic!("{}: {error}", at())),
            8 => handle.store().flush().unwrap_or_else(|error| panic!("{}: {error}", at())),
            _ => {
                handle.store().refresh().unwrap_or_else(|error| panic!("{}: {error}", at()));
                visible[which].clone_from(&newest);
            }
        }
        for (which, (handle, id)) in handles.iter().enumerate() {
            assert_eq!(seen(handle, *id), visible[which], "{}: handle {which}", at());
            assert_eq!(handle.store().status().damage, [], "{}: handle {which}", at());
        }
    }
    let (fresh, id) = open(&vfs);
    assert_eq!(seen(&fresh, id), newest, "seed {seed}");
}
