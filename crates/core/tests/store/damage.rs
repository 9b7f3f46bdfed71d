//! Damage: bytes that are not what was written. Every answer is right or a miss; nothing is stale; `verify` sees it;
//! the next commit works and what it wrote is there.

use crate::history::{Expected, commit, compact, dump, open, open_filing};
use std::io::ErrorKind;
use varve_core::vfs::Vfs;
use varve_core::vfs::sim::{Call, Effect, Fault, SimVfs};
use varve_core::{Durability, Handle};

/// A small cache in which every key but one was written several times.
fn small_cache(folds: &[bool]) -> (SimVfs, Expected) {
    small_cache_filing(folds, 1 << 20)
}

/// The same; values of `file_bytes_min` and more are files.
fn small_cache_filing(folds: &[bool], file_bytes_min: usize) -> (SimVfs, Expected) {
    let vfs = SimVfs::new();
    let mut handle = open_filing(&vfs, file_bytes_min).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let mut content = Expected::new();
    for (round, fold) in folds.iter().enumerate() {
        for number in round..9 {
            let key = format!("key {number}").into_bytes();
            let value = format!("value {number} of round {round} ").repeat(1 + number * 30).into_bytes();
            handle.put(id, &key, &value).expect("put");
            content.insert(key, value);
        }
        commit(&mut handle, Durability::Durable).expect("commit");
        if *fold {
            compact(&handle, false).expect("compact");
        }
    }
    (vfs, content)
}

/// Right, or a miss. Returns how many were right.
fn check_answers(handle: &Handle, id: u32, content: &Expected, context: &str) -> usize {
    let mut right = 0;
    for (key, value) in content {
        if let Some(found) = handle.get(id, key, <[u8]>::to_vec).expect("get") {
            assert!(found == *value, "{context}: wrong value of {}", String::from_utf8_lossy(key));
            right += 1;
        }
    }
    for (key, value) in dump(handle, id) {
        assert!(content.get(&key) == Some(&value), "{context}: wrong entry {}", String::from_utf8_lossy(&key));
    }
    right
}

fn check_damaged(vfs: &SimVfs, content: &Expected, context: &str) {
    let mut handle = open(vfs).unwrap_or_else(|error| panic!("{context}: {error}"));
    let id = handle.namespace("n", "1").expect("namespace");
    let sound = handle.store().verify(&|_, _| std::ops::ControlFlow::Continue(())).expect("verify").sound;
    assert!(!sound, "{context}: verify does not see it");
    check_answers(&handle, id, content, context);
    handle.put(id, b"key 3", b"healed").expect("put");
    commit(&mut handle, Durability::Relaxed).unwrap_or_else(|error| panic!("{context}: commit: {error}"));
    compact(&handle, false).unwrap_or_else(|error| panic!("{context}: compact: {error}"));
    drop(handle);
    let mut handle = open(vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let mut content = content.clone();
    content.insert(b"key 3".to_vec(), b"healed".to_vec());
    assert!(handle.get(id, b"key 3", |value| value == b"healed").expect("get") == Some(true), "{context}: not healed");
    check_answers(&handle, id, &content, context);
    let verified = handle.store().verify(&|_, _| std::ops::ControlFlow::Continue(())).expect("verify");
    assert!(verified.sound, "{context}: still damaged after the next commit: {:?}", verified.damage);
}

const SHAPES: [[bool; 5]; 3] = [[false; 5], [true; 5], [true, false, true, false, false]];

/// The start of a log once held the number 1: with that bit gone it looked like an append that had not arrived.
#[test]
fn a_flipped_bit_in_the_start_of_a_log_is_seen() {
    let (vfs, content) = small_cache(&[false; 5]);
    for byte in 32..64 {
        for bit in 0..8 {
            let damaged = vfs.fork();
            damaged.flip("0.log", byte, bit);
            check_damaged(&damaged, &content, &format!("bit {bit} of byte {byte} of 0.log"));
        }
    }
}

/// Without locks nobody knows whether the writer lives: its log was kept, and was as damaged at the next look.
#[test]
fn a_log_with_a_damaged_start_is_set_aside_where_there_are_no_locks() {
    let (vfs, content) = small_cache(&[false; 5]);
    for byte in 0..64 {
        let damaged = vfs.fork().without_locks();
        damaged.flip("0.log", byte, 3);
        check_damaged(&damaged, &content, &format!("byte {byte} of 0.log"));
    }
}

#[test]
fn one_flipped_bit_in_any_byte_costs_a_miss_at_most() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut flips = 0;
    for folds in SHAPES {
        let (vfs, content) = small_cache(&folds);
        for name in vfs.names() {
            for byte in 0..vfs.length(&name) {
                let damaged = vfs.fork();
                let bit = random.u32(..8);
                damaged.flip(&name, byte, bit);
                check_damaged(&damaged, &content, &format!("bit {bit} of byte {byte} of {name}, {folds:?}"));
                flips += 1;
            }
        }
    }
    println!("{flips} flips");
    assert!(flips > 10_000, "{flips}");
}

#[test]
fn a_damaged_truncated_or_missing_file_costs_its_own_entries_at_most() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for folds in SHAPES {
        let (vfs, content) = small_cache_filing(&folds, 300);
        let files: Vec<String> = vfs.names().into_iter().filter(|name| name.starts_with("files/")).collect();
        assert!(files.len() >= 5, "{files:?}");
        for name in vfs.names() {
            let is_file = name.starts_with("files/");
            let step = if is_file { 1 } else { 5 };
            for byte in (0..vfs.length(&name)).step_by(step) {
                let damaged = vfs.fork();
                let bit = random.u32(..8);
                damaged.flip(&name, byte, bit);
                check_damaged(&damaged, &content, &format!("bit {bit} of byte {byte} of {name}, {folds:?}"));
            }
            for length in (0..if is_file { vfs.length(&name) } else { 0 }).step_by(3) {
                let damaged = vfs.fork();
                damaged.truncate(&name, length);
                check_damaged(&damaged, &content, &format!("{name} truncated to {length}, {folds:?}"));
            }
        }
        for name in files {
            let damaged = vfs.fork();
            damaged.erase(&name);
            check_damaged(&damaged, &content, &format!("{name} missing, {folds:?}"));
        }
    }
}

#[test]
fn a_truncated_or_missing_table_costs_its_own_entries_at_most() {
    let (vfs, content) = small_cache(&[true, true, false, true, true]);
    for name in vfs.list().expect("list").into_iter().filter(|name| name.ends_with(".table")) {
        for length in (0..vfs.length(&name)).step_by(7) {
            let damaged = vfs.fork();
            damaged.truncate(&name, length);
            check_damaged(&damaged, &content, &format!("{name} truncated to {length}"));
        }
        let damaged = vfs.fork();
        damaged.erase(&name);
        check_damaged(&damaged, &content, &format!("{name} missing"));
    }
}

#[test]
fn a_missing_manifest_does_not_bring_older_values_back() {
    let (vfs, content) = small_cache(&[true, false, true, false, false]);
    let manifest = vfs.list().expect("list").into_iter().find(|name| name.starts_with("manifest")).expect("manifest");
    vfs.erase(&manifest);
    check_damaged(&vfs, &content, "manifest missing");
}

#[test]
fn a_value_block_that_is_damaged_costs_no_other_value() {
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let mut random = fastrand::Rng::with_seed(1);
    let mut content = Expected::new();
    for number in 0..50u32 {
        let value: Vec<u8> = (0..5_000).map(|_| random.u8(..)).collect();
        handle.put(id, &number.to_le_bytes(), &value).expect("put");
        content.insert(number.to_le_bytes().to_vec(), value);
    }
    commit(&mut handle, Durability::Relaxed).expect("commit");
    compact(&handle, true).expect("compact");
    let table = vfs.list().expect("list").into_iter().find(|name| name.ends_with(".table")).expect("table");
    vfs.flip(&table, 7_000, 3);
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    assert_eq!(check_answers(&handle, id, &content, "flip"), 49);
}

/// A failed read once counted as damage, and the next compaction merged around what it could not read.
#[test]
fn what_the_system_refuses_to_read_for_a_while_is_there_again_afterwards() {
    for (folds, after) in SHAPES.iter().flat_map(|folds| (0..40).map(move |after| (folds, after))) {
        let (vfs, content) = small_cache(folds);
        let handle = open(&vfs).expect("open");
        vfs.fail(Fault { call: Some(Call::Read), after, forever: true, effect: Effect::Error(ErrorKind::Other) });
        let _refused = compact(&handle, true);
        vfs.clear_faults();
        let _gone_on = compact(&handle, true);
        drop(handle);
        let mut handle = open(&vfs).expect("open");
        let id = handle.namespace("n", "1").expect("namespace");
        compact(&handle, true).expect("compact");
        assert_eq!(check_answers(&handle, id, &content, "after"), content.len(), "{folds:?}, from read {after} on");
    }
}
