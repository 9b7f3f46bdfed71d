//! Repair: afterwards every file is sound and every entry that could be read before is still there. A dry run writes
//! nothing.

use crate::history::{Expected, commit, compact, dump, open, open_with_blobs};
use std::ops::ControlFlow;
use varve_core::testing::sim::SimVfs;
use varve_core::{Durability, Handle, RepairReport, VerifyReport};

fn repair(handle: &Handle, dry_run: bool) -> RepairReport {
    handle.store().repair(dry_run, &|_, _| ControlFlow::Continue(())).expect("repair")
}

fn verify(handle: &Handle) -> VerifyReport {
    handle.store().verify(&|_, _| ControlFlow::Continue(())).expect("verify")
}

fn get(handle: &Handle, id: u32, key: &[u8]) -> Option<Vec<u8>> {
    handle.get(id, key, <[u8]>::to_vec).expect("get")
}

/// One table with several key and value blocks, and a log with one entry.
fn cache(blob_bytes_min: usize) -> (SimVfs, Expected) {
    let vfs = SimVfs::new();
    let mut handle = open_with_blobs(&vfs, blob_bytes_min).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let mut content = Expected::new();
    for number in 0..2_000_u32 {
        let key = format!("key {number}").into_bytes();
        let value = format!("value {number} ").repeat(1 + number as usize % 7).into_bytes();
        handle.put(id, &key, &value).expect("put");
        content.insert(key, value);
    }
    commit(&mut handle, Durability::Durable).expect("commit");
    compact(&handle, true).expect("compact");
    handle.put(id, b"later", b"value").expect("put");
    content.insert(b"later".to_vec(), b"value".to_vec());
    commit(&mut handle, Durability::Durable).expect("commit");
    drop(handle);
    (vfs, content)
}

fn table_of(vfs: &SimVfs) -> String {
    vfs.names().into_iter().find(|name| name.ends_with(".table")).expect("a table")
}

/// Repairs and checks the guarantees of every repair. Returns the report.
fn check(vfs: &SimVfs, content: &Expected, context: &str) -> RepairReport {
    // Reading damaged blobs quarantines them, so it is done in a copy.
    let mut reader = open(&vfs.fork()).expect("open");
    let id = reader.namespace("n", "1").expect("namespace");
    let readable: Expected =
        content.keys().filter_map(|key| Some((key.clone(), get(&reader, id, key)?))).collect();
    drop(reader);
    let handle = open(vfs).expect("open");
    let before: Vec<_> = vfs.names().into_iter().map(|name| (vfs.contents(&name), name)).collect();
    let planned = repair(&handle, true);
    assert!(!planned.sound && !planned.damage.is_empty(), "{context}: {planned:?}");
    let after: Vec<_> = vfs.names().into_iter().map(|name| (vfs.contents(&name), name)).collect();
    assert!(before == after, "{context}: a dry run writes");
    let done = repair(&handle, false);
    assert!(done.sound && done.remaining.is_empty(), "{context}: {done:?}");
    assert_eq!(done.quarantined, planned.quarantined, "{context}");
    for name in done.quarantined.iter().filter(|name| !name.contains('/')) {
        assert!(
            vfs.names().contains(&format!("{name}.bad")),
            "{context}: {name} is not quarantined: {:?}",
            vfs.names()
        );
    }
    let again = repair(&handle, false);
    assert!(
        again.sound && again.damage.is_empty() && again.quarantined.is_empty(),
        "{context}: {again:?}"
    );
    drop(handle);
    let mut handle = open(vfs).expect("open");
    let id = handle.namespace("n", "1").expect("namespace");
    let kept = dump(&handle, id);
    assert!(kept == readable, "{context}: {} entries before, {} after", readable.len(), kept.len());
    assert!(
        kept.iter().all(|(key, value)| content.get(key) == Some(value)),
        "{context}: a value that was never written"
    );
    assert_eq!(done.entries_after, kept.len() as u64, "{context}");
    done
}

#[test]
fn repair_of_a_damaged_table_keeps_every_readable_entry() {
    let (vfs, content) = cache(1 << 20);
    let table = table_of(&vfs);
    let bytes = vfs.length(&table);
    let mut random = fastrand::Rng::with_seed(5);
    let (mut partly, mut named) = (0, 0);
    for _ in 0..60 {
        let damaged = vfs.fork();
        let byte = random.u64(..bytes);
        damaged.flip(&table, byte, random.u32(..8));
        let report = check(&damaged, &content, &format!("byte {byte} of {table}"));
        assert!(!report.unrecoverable);
        assert_eq!(report.quarantined, [table.as_str()]);
        partly += u32::from(report.entries_after > 1);
        assert!(
            report.damage.iter().all(|place| place.namespace.as_deref() == Some("n")),
            "{report:?}"
        );
        let lost: u64 = report.damage.iter().filter_map(|place| place.keys.as_ref()?.entries).sum();
        if report.damage.iter().all(|place| place.what.starts_with("block")) {
            assert_eq!(lost, content.len() as u64 - report.entries_after, "{report:?}");
            named += u32::from(
                report
                    .damage
                    .iter()
                    .any(|place| place.keys.as_ref().is_some_and(|k| k.first.is_some())),
            );
        }
    }
    assert!(partly > 50, "{partly} of 60 kept entries");
    assert!(named > 10, "{named} of 60 reported keys");
}

/// Lookups do not read the start of a table, and a verification reads what no lookup has.
#[test]
fn damage_that_only_a_verification_has_met_is_repaired_by_the_next_commit() {
    let (vfs, _) = cache(1 << 20);
    let table = table_of(&vfs);
    for byte in [0, 1, 4, 7, 8, 40, vfs.length(&table) / 2] {
        let damaged = vfs.fork();
        damaged.flip(&table, byte, 3);
        let mut handle = open(&damaged).expect("open");
        assert!(!verify(&handle).sound, "byte {byte}");
        let id = handle.namespace("n", "1").expect("namespace");
        handle.put(id, b"after", b"value").expect("put");
        commit(&mut handle, Durability::Relaxed).expect("commit");
        handle.store().close().expect("close");
        let report = verify(&open(&damaged).expect("open"));
        assert!(report.sound, "byte {byte}: {report:?}");
    }
}

/// A damaged log may have held a newer value of any key, so an older value must not be returned.
#[test]
fn repair_of_a_damaged_log_or_manifest_reports_that_everything_is_lost() {
    let (vfs, content) = cache(1 << 20);
    for name in vfs.names().into_iter().filter(|name| !name.ends_with(".table")) {
        let damaged = vfs.fork();
        damaged.flip(&name, vfs.length(&name) - 1, 3);
        let report = check(&damaged, &content, &name);
        assert!(report.unrecoverable, "{name}: {report:?}");
        assert_eq!(report.entries_after, 0, "{name}");
    }
}

#[test]
fn repair_of_a_missing_table_or_a_damaged_blob_loses_its_own_entries_only() {
    let (vfs, content) = cache(40);
    let table = table_of(&vfs);
    let files: Vec<String> =
        vfs.names().into_iter().filter(|name| name.starts_with("files/")).collect();
    assert!(files.len() > 100, "{}", files.len());
    for (index, name) in files.iter().take(3).enumerate() {
        let damaged = vfs.fork();
        match index {
            0 => damaged.flip(name, 1, 1),
            1 => damaged.truncate(name, 3),
            _ => damaged.erase(name),
        }
        let report = check(&damaged, &content, name);
        assert!(
            report.entries_before == content.len() as u64
                && report.entries_after + 1 == report.entries_before
        );
        assert_eq!(report.quarantined.len(), usize::from(index < 2), "{report:?}");
    }
    let damaged = vfs.fork();
    damaged.erase(&table);
    let report = check(&damaged, &content, "no table");
    assert!(report.quarantined.is_empty() && report.entries_after <= 1, "{report:?}");
}
