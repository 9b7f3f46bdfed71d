//! Damage: files whose bytes are not what Varve wrote. Every lookup returns the correct value or a miss, never an older
//! value. `verify` reports the damage, and the next commit works and can be read.

use crate::history::{Expected, commit, compact, dump, open, open_with_blobs};
use crate::hooked::open_seeded;
use std::io::ErrorKind;
use varve_core::testing::reseal;
use varve_core::testing::sim::{Call, Effect, Fault, SimVfs};
use varve_core::vfs::Vfs;
use varve_core::{Durability, Handle};

/// A small cache in which every key but one was written several times.
fn small_cache(checkpoints: &[bool]) -> (SimVfs, Expected) {
    small_cache_with_blobs(checkpoints, 1 << 20)
}

/// Like [`small_cache`], with values of at least `blob_bytes_min` in blobs.
fn small_cache_with_blobs(checkpoints: &[bool], blob_bytes_min: usize) -> (SimVfs, Expected) {
    let vfs = SimVfs::new();
    let mut handle = open_with_blobs(&vfs, blob_bytes_min).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let mut content = Expected::new();
    for (round, checkpoint) in checkpoints.iter().enumerate() {
        for number in round..9 {
            let key = format!("key {number}").into_bytes();
            let value =
                format!("value {number} of round {round} ").repeat(1 + number * 30).into_bytes();
            handle.put(id, &key, &value).expect("put");
            content.insert(key, value);
        }
        commit(&mut handle, Durability::Durable).expect("commit");
        if *checkpoint {
            compact(&handle, false).expect("compact");
        }
    }
    (vfs, content)
}

/// Checks that every lookup returns the correct value or a miss. Returns the number of correct values.
pub(crate) fn check_answers(handle: &Handle, id: u32, content: &Expected, context: &str) -> usize {
    let mut right = 0;
    for (key, value) in content {
        if let Some(found) = handle.get(id, key, <[u8]>::to_vec).expect("get") {
            assert!(found == *value, "{context}: wrong value of {}", String::from_utf8_lossy(key));
            right += 1;
        }
    }
    for (key, value) in dump(handle, id) {
        assert!(
            content.get(&key) == Some(&value),
            "{context}: wrong entry {}",
            String::from_utf8_lossy(&key)
        );
    }
    right
}

pub(crate) fn check_damaged(vfs: &SimVfs, content: &Expected, context: &str) {
    let mut handle = open(vfs).unwrap_or_else(|error| panic!("{context}: {error}"));
    let id = handle.namespace("n", "1").expect("namespace");
    let sound =
        handle.store().verify(&|_, _| std::ops::ControlFlow::Continue(())).expect("verify").sound;
    assert!(!sound, "{context}: verify does not report it");
    check_answers(&handle, id, content, context);
    handle.put(id, b"key 3", b"healed").expect("put");
    commit(&mut handle, Durability::Relaxed)
        .unwrap_or_else(|error| panic!("{context}: commit: {error}"));
    compact(&handle, false).unwrap_or_else(|error| panic!("{context}: compact: {error}"));
    drop(handle);
    let mut handle = open(vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let mut content = content.clone();
    content.insert(b"key 3".to_vec(), b"healed".to_vec());
    assert!(
        handle.get(id, b"key 3", |value| value == b"healed").expect("get") == Some(true),
        "{context}: the next commit is not found"
    );
    check_answers(&handle, id, &content, context);
    let verified =
        handle.store().verify(&|_, _| std::ops::ControlFlow::Continue(())).expect("verify");
    assert!(
        verified.sound,
        "{context}: still damaged after the next commit: {:?}",
        verified.damage
    );
}

const SHAPES: [[bool; 5]; 3] = [[false; 5], [true; 5], [true, false, true, false, false]];

/// The start of a log once held the number 1. With that bit cleared, it looked like an append that had not reached the
/// disk.
#[test]
fn a_flipped_bit_in_the_start_of_a_log_is_reported() {
    let (vfs, content) = small_cache(&[false; 5]);
    for byte in 32..64 {
        for bit in 0..8 {
            let damaged = vfs.fork();
            damaged.flip("0.log", byte, bit);
            check_damaged(&damaged, &content, &format!("bit {bit} of byte {byte} of 0.log"));
        }
    }
}

/// Without locks, Varve cannot detect whether the writer of a log is alive. It kept the log, and reported the same
/// damage every time.
#[test]
fn a_log_with_a_damaged_start_is_quarantined_without_locks() {
    let (vfs, content) = small_cache(&[false; 5]);
    for byte in 0..64 {
        let damaged = vfs.fork().without_locks();
        damaged.flip("0.log", byte, 3);
        check_damaged(&damaged, &content, &format!("byte {byte} of 0.log"));
    }
}

#[test]
fn one_flipped_bit_in_any_byte_of_a_cache_causes_at_most_misses() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut flips = 0;
    for checkpoints in SHAPES {
        let (vfs, content) = small_cache(&checkpoints);
        for name in vfs.names() {
            for byte in 0..vfs.length(&name) {
                let damaged = vfs.fork();
                let bit = random.u32(..8);
                damaged.flip(&name, byte, bit);
                check_damaged(
                    &damaged,
                    &content,
                    &format!("bit {bit} of byte {byte} of {name}, {checkpoints:?}"),
                );
                flips += 1;
            }
        }
    }
    println!("{flips} flips");
    assert!(flips > 10_000, "{flips}");
}

#[test]
fn a_damaged_truncated_or_missing_blob_causes_at_most_misses() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for checkpoints in SHAPES {
        let (vfs, content) = small_cache_with_blobs(&checkpoints, 300);
        let files: Vec<String> =
            vfs.names().into_iter().filter(|name| name.starts_with("files/")).collect();
        assert!(files.len() >= 5, "{files:?}");
        for name in vfs.names() {
            let is_file = name.starts_with("files/");
            let step = if is_file { 1 } else { 5 };
            for byte in (0..vfs.length(&name)).step_by(step) {
                let damaged = vfs.fork();
                let bit = random.u32(..8);
                damaged.flip(&name, byte, bit);
                check_damaged(
                    &damaged,
                    &content,
                    &format!("bit {bit} of byte {byte} of {name}, {checkpoints:?}"),
                );
            }
            for length in (0..if is_file { vfs.length(&name) } else { 0 }).step_by(3) {
                let damaged = vfs.fork();
                damaged.truncate(&name, length);
                check_damaged(
                    &damaged,
                    &content,
                    &format!("{name} truncated to {length}, {checkpoints:?}"),
                );
            }
        }
        for name in files {
            let damaged = vfs.fork();
            damaged.erase(&name);
            check_damaged(&damaged, &content, &format!("{name} missing, {checkpoints:?}"));
        }
    }
}

#[test]
fn a_truncated_or_missing_table_causes_at_most_misses() {
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
fn a_missing_manifest_never_brings_older_values_back() {
    let (vfs, content) = small_cache(&[true, false, true, false, false]);
    let manifest = vfs
        .list()
        .expect("list")
        .into_iter()
        .find(|name| name.starts_with("manifest"))
        .expect("manifest");
    vfs.erase(&manifest);
    check_damaged(&vfs, &content, "manifest missing");
}

#[test]
fn a_damaged_value_block_causes_a_miss_of_its_own_value_only() {
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
    let table =
        vfs.list().expect("list").into_iter().find(|name| name.ends_with(".table")).expect("table");
    vfs.flip(&table, 7_000, 3);
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    assert_eq!(check_answers(&handle, id, &content, "flip"), 49);
}

/// A lookup reads only tables that may have the hash of its key.
#[test]
fn a_table_with_a_damaged_directory_hides_only_keys_between_its_first_and_its_last_hash() {
    let vfs = SimVfs::new();
    let mut handle = open_with_blobs(&vfs, 4 << 20).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    for number in 0..100u8 {
        handle.put(id, &[number], b"value").expect("put");
    }
    commit(&mut handle, Durability::Durable).expect("commit");
    compact(&handle, true).expect("compact");
    let tables = || {
        vfs.list()
            .expect("list")
            .into_iter()
            .filter(|name| name.ends_with(".table"))
            .collect::<Vec<_>>()
    };
    let before = tables();
    let mut random = fastrand::Rng::with_seed(1);
    let large: Vec<u8> = (0..2 << 20).map(|_| random.u8(..)).collect();
    handle.put(id, &[7], &large).expect("put");
    commit(&mut handle, Durability::Durable).expect("a commit that is large enough for a table");
    drop(handle);
    let added = tables().into_iter().find(|name| !before.contains(name)).expect("a second table");
    vfs.flip(&added, vfs.contents(&added).len() as u64 - 100, 1);
    for is_compacted in [false, true] {
        let mut handle = open(&vfs).expect("open");
        let id = handle.namespace("n", "1").expect("namespace");
        let found = |number: u8| handle.get(id, &[number], <[u8]>::to_vec).expect("get");
        let hidden: Vec<u8> = (0..100).filter(|number| found(*number).is_none()).collect();
        assert_eq!(hidden, [7], "compacted: {is_compacted}");
        compact(&handle, true).expect("compact");
    }
}

/// Compaction copies a large value without decompressing it, so it copies this one, too.
#[test]
fn a_value_whose_forged_block_cannot_be_decompressed_is_a_miss_until_compaction_removes_it() {
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let value = b"text that can be compressed ".repeat(300);
    handle.put(id, b"forged", &value).expect("put");
    commit(&mut handle, Durability::Durable).expect("commit");
    compact(&handle, true).expect("compact");
    drop(handle);
    let table =
        vfs.list().expect("list").into_iter().find(|name| name.ends_with(".table")).expect("table");
    let mut bytes = vfs.contents(&table);
    let place = last_row(&bytes) + 8;
    let offset = u64::from_le_bytes(bytes[place..place + 8].try_into().expect("8 bytes")) as usize;
    bytes[offset..offset + 20].fill(0xff);
    vfs.set_contents(&table, bytes);
    reseal::reseal(&vfs);
    let mut handle = open(&vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    handle.put(id, b"sound", &value).expect("put");
    for (round, is_sound) in [false, true].into_iter().enumerate() {
        commit(&mut handle, Durability::Durable).expect("commit");
        compact(&handle, true).expect("compact");
        let report =
            handle.store().verify(&|_, _| std::ops::ControlFlow::Continue(())).expect("verify");
        assert_eq!(report.sound, is_sound, "compaction {round}: {report:?}");
        assert_eq!(handle.get(id, b"forged", <[u8]>::to_vec).expect("get"), None);
        assert_eq!(handle.get(id, b"sound", <[u8]>::to_vec).expect("get").as_ref(), Some(&value));
    }
}

/// A failed read counted as damage, and the next compaction left out what it could not read.
#[test]
fn entries_return_after_temporary_read_errors() {
    for (checkpoints, after) in
        SHAPES.iter().flat_map(|checkpoints| (0..40).map(move |after| (checkpoints, after)))
    {
        let (vfs, content) = small_cache(checkpoints);
        let handle = open(&vfs).expect("open");
        vfs.fail(Fault {
            call: Some(Call::Read),
            after,
            forever: true,
            effect: Effect::Error(ErrorKind::Other),
        });
        let _refused = compact(&handle, true);
        vfs.clear_faults();
        let _gone_on = compact(&handle, true);
        drop(handle);
        let mut handle = open(&vfs).expect("open");
        let id = handle.namespace("n", "1").expect("namespace");
        compact(&handle, true).expect("compact");
        assert_eq!(
            check_answers(&handle, id, &content, "after"),
            content.len(),
            "{checkpoints:?}, from read {after} on"
        );
    }
}

/// A cache with one log per round, each written by another process. `random` determines its id.
fn cache_of_logs(vfs: SimVfs, random: u64, rounds: usize, closes: bool) -> (SimVfs, Expected) {
    let mut content = Expected::new();
    for round in 0..rounds {
        let mut handle = open_seeded(&vfs, random);
        let id = handle.namespace("n", "1").expect("namespace");
        for number in 0..3 {
            let (key, value) =
                (format!("key {number}"), format!("value {number} of round {round} of {random}"));
            handle.put(id, key.as_bytes(), value.as_bytes()).expect("put");
            content.insert(key.into_bytes(), value.into_bytes());
            commit(&mut handle, Durability::Relaxed).expect("commit");
        }
        if closes && round + 1 < rounds {
            handle.store().flush().expect("flush");
        }
    }
    (vfs, content)
}

fn logs_of(vfs: &SimVfs) -> Vec<String> {
    let mut logs: Vec<_> = vfs.names().into_iter().filter(|name| name.ends_with(".log")).collect();
    logs.sort();
    logs
}

/// Logs of two caches have the same numbers. Without the id in its start, a log of another cache looked like one of
/// this cache.
#[test]
fn a_log_copied_from_another_cache_is_reported_and_its_entries_are_misses() {
    for vfs in [SimVfs::new, || SimVfs::new().without_locks()] {
        let (ours, content) = cache_of_logs(vfs(), 1, 3, false);
        let (theirs, _) = cache_of_logs(vfs(), 2, 3, false);
        for name in logs_of(&ours) {
            let damaged = ours.fork();
            damaged.set_contents(&name, theirs.contents(&name));
            check_damaged(&damaged, &content, &format!("{name} of another cache"));
        }
        let damaged = ours.fork();
        damaged.set_contents("manifest-1", theirs.contents("manifest-1"));
        check_damaged(&damaged, &content, "the manifest of another cache");
    }
}

/// Later logs had been written on top of the lost commits. Their entries stayed visible: a state that never existed.
#[test]
fn a_log_that_lost_commits_never_mixes_old_and_new_entries() {
    for closes in [false, true] {
        let (vfs, content) = cache_of_logs(SimVfs::new(), 1, 3, closes);
        let (earlier, _) = cache_of_logs(SimVfs::new(), 1, 1, closes);
        let logs = logs_of(&vfs);
        for name in &logs[..2] {
            let damage = |what: &str, change: &dyn Fn(&SimVfs)| {
                let damaged = vfs.fork();
                change(&damaged);
                check_damaged(&damaged, &content, &format!("{name} {what}"));
            };
            damage("missing", &|vfs| vfs.erase(name));
            for length in (0..vfs.length(name) - 32).step_by(32) {
                damage(&format!("cut to {length}"), &|vfs| vfs.truncate(name, length));
                damage(&format!("zeros from {length}"), &|vfs| {
                    let mut bytes = vfs.contents(name);
                    bytes[length as usize..].fill(0);
                    vfs.set_contents(name, bytes);
                });
            }
        }
        let damaged = vfs.fork();
        let older = earlier.contents("0.log");
        damaged.set_contents("0.log", older[..older.len() - 96].to_vec());
        check_damaged(&damaged, &content, "0.log as it was earlier");
    }
}

/// A checkpoint moves commits into a table that build on a log which stays.
#[test]
fn a_live_log_that_lost_commits_never_mixes_them_with_checkpointed_entries() {
    let vfs = SimVfs::new();
    let mut content = Expected::new();
    let mut living = open(&vfs).expect("open");
    let id = living.namespace("n", "1").expect("namespace");
    for round in 0..3u8 {
        living.put(id, b"key 1", &[round]).expect("put");
        commit(&mut living, Durability::Relaxed).expect("commit");
    }
    let mut other = open(&vfs).expect("open");
    other.namespace("n", "1").expect("namespace");
    other.put(id, b"key 2", b"builds on round 2").expect("put");
    commit(&mut other, Durability::Relaxed).expect("commit");
    compact(&other, false).expect("compact");
    content.insert(b"key 1".to_vec(), vec![2]);
    content.insert(b"key 2".to_vec(), b"builds on round 2".to_vec());
    drop((living, other));
    assert_eq!(logs_of(&vfs), ["0.log"]);
    for length in (0..vfs.length("0.log")).step_by(32) {
        let damaged = vfs.fork();
        damaged.truncate("0.log", length);
        check_damaged(&damaged, &content, &format!("0.log cut to {length}"));
    }
}

/// A process that lives has old values in its log. Newer ones of another process are in a table, which is damaged. A
/// compaction removed the table, and the old values were found again.
#[test]
fn a_value_in_an_open_log_stays_a_miss_after_its_newer_one_was_damaged_and_compacted_away() {
    for old_bytes in [10, 20_000] {
        let scenario = || {
            let vfs = SimVfs::new();
            let mut living = open(&vfs).expect("open");
            put_all(&mut living, b"old", old_bytes);
            let mut other = open(&vfs).expect("open");
            put_all(&mut other, b"new", 100);
            drop(other);
            compact(&open(&vfs).expect("open"), true).expect("compact");
            let table =
                vfs.names().into_iter().rfind(|name| name.ends_with(".table")).expect("a table");
            (vfs, living, table)
        };
        let length = scenario().0.length(&scenario().2);
        let parts = 16;
        for part in 0..=parts {
            let (vfs, mut living, table) = scenario();
            match part {
                0 => vfs.erase(&table),
                _ => vfs.flip(&table, (part - 1) * length / parts, 3),
            }
            // The first one heals, and the second one finds no damage any more.
            for _ in 0..2 {
                let mut healing = open(&vfs).expect("open");
                let id = healing.namespace("n", "1").expect("namespace");
                dump(&healing, id);
                let _ = healing.store().verify(&|_, _| std::ops::ControlFlow::Continue(()));
                healing.put(id, b"healed", b"yes").expect("put");
                commit(&mut healing, Durability::Relaxed).expect("commit");
                compact(&healing, true).expect("compact");
            }
            living.store().refresh().expect("refresh");
            for handle in [&mut living, &mut open(&vfs).expect("open")] {
                let id = handle.namespace("n", "1").expect("namespace");
                for (key, value) in dump(handle, id).into_iter().filter(|(key, _)| key != b"healed")
                {
                    assert!(
                        value.starts_with(b"new"),
                        "part {part} of {table}: an older value of {key:?}"
                    );
                }
            }
        }
    }
}

/// Commits 100 values that begin with `text` and have that many bytes.
fn put_all(handle: &mut Handle, text: &[u8], bytes: usize) {
    let id = handle.namespace("n", "1").expect("namespace");
    for number in 0..100u32 {
        let mut value = [text, &number.to_le_bytes()].concat();
        value.resize(bytes, number as u8);
        handle.put(id, format!("key {number}").as_bytes(), &value).expect("put");
    }
    commit(handle, Durability::Durable).expect("commit");
}

/// A log was cut while another process had the cache open. That process did not compare the log with the end that its
/// own log had recorded, and did not notice that the log ended before what it had read: the entry before the lost one
/// came back.
#[test]
fn an_open_cache_does_not_return_an_older_value_after_the_log_of_the_newer_one_was_cut() {
    for has_read_more in [false, true] {
        let vfs = SimVfs::new();
        let mut writer = open(&vfs).expect("open");
        let id = writer.namespace("n", "1").expect("namespace");
        let mut put = |value: &[u8]| {
            writer.put(id, b"key", value).expect("put");
            commit(&mut writer, Durability::Durable).expect("commit");
            vfs.length("0.log")
        };
        let before = put(b"first");
        let mut reader = open_seeded(&vfs, 3);
        let id = reader.namespace("n", "1").expect("namespace");
        put(b"second");
        reader.put(id, b"other", b"value").expect("put");
        commit(&mut reader, Durability::Durable).expect("commit");
        if has_read_more {
            reader.store().refresh().expect("refresh");
            put(b"third");
        }
        vfs.truncate("0.log", before);
        reader.store().refresh().expect("refresh");
        assert_eq!(
            reader.get(id, b"key", <[u8]>::to_vec).expect("get"),
            None,
            "has read more: {has_read_more}"
        );
        assert!(!reader.store().status().damage.is_empty());
    }
}

/// Where the last row of a table is.
pub(crate) fn last_row(table: &[u8]) -> usize {
    let footer = &table[table.len() - 96..];
    u64::from_le_bytes(footer[56..64].try_into().expect("8 bytes")) as usize - 24
}
