//! A cache is used while a copy of it arrives, file by file: `cp -r`, `rsync`, an unpacked archive. What a process
//! found missing or cut may be whole later.

use crate::blobs::{get, put};
use crate::history::{commit, compact, open, open_with_blobs};
use varve_core::Durability;
use varve_core::testing::sim::SimVfs;

const BLOB_BYTES_MIN: usize = 64;

/// A closed cache with a table.
fn source() -> SimVfs {
    let vfs = SimVfs::new();
    let mut handle = open(&vfs).expect("open");
    put(&mut handle, b"key", b"value");
    compact(&handle, true).expect("compact");
    handle.store().close().expect("close");
    vfs
}

/// A copy of which the table has only `bytes` so far; `None` = it is not there yet. Returns its name and content, too.
fn without_table(source: &SimVfs, bytes: Option<usize>) -> (SimVfs, String, Vec<u8>) {
    let vfs = source.fork();
    let name = vfs.names().into_iter().find(|name| name.ends_with(".table")).expect("a table");
    let whole = vfs.contents(&name);
    match bytes {
        Some(bytes) => vfs.set_contents(&name, whole[..bytes].to_vec()),
        None => vfs.erase(&name),
    }
    (vfs, name, whole)
}

/// Regression: the open cache kept its view of the table for good, and its compaction wrote a manifest without it.
#[test]
fn a_table_that_arrives_after_the_manifest_is_found_after_a_refresh() {
    let source = source();
    for (bytes, reads) in
        [(None, false), (None, true), (Some(0), true), (Some(60), true), (Some(60), false)]
    {
        let (vfs, name, whole) = without_table(&source, bytes);
        let mut handle = open(&vfs).expect("open");
        if reads {
            assert_eq!(get(&mut handle, b"key"), None);
        }
        vfs.set_contents(&name, whole);
        handle.store().refresh().expect("refresh");
        assert_eq!(get(&mut handle, b"key").as_deref(), Some(&b"value"[..]), "{bytes:?}, {reads}");
    }
}

#[test]
fn a_table_that_arrives_after_the_manifest_is_not_compacted_away() {
    let source = source();
    for (bytes, reads) in
        [(None, false), (None, true), (Some(0), true), (Some(60), true), (Some(60), false)]
    {
        for full in [false, true] {
            let (vfs, name, whole) = without_table(&source, bytes);
            let mut handle = open(&vfs).expect("open");
            if reads {
                assert_eq!(get(&mut handle, b"key"), None);
            }
            vfs.set_contents(&name, whole);
            put(&mut handle, b"other", b"value");
            compact(&handle, full).expect("compact");
            handle.store().close().expect("close");
            let found = get(&mut open(&vfs).expect("open"), b"key");
            assert_eq!(found.as_deref(), Some(&b"value"[..]), "{bytes:?}, {reads}, {full}");
        }
    }
}

/// A file of the right length with other bytes: after a power failure, or while a program copies into a file of its
/// final length.
#[test]
fn a_large_value_is_stored_again_if_its_blob_has_the_right_length_and_other_bytes() {
    let value: Vec<u8> = (0..200).collect();
    for durability in [Durability::Relaxed, Durability::Durable] {
        let vfs = SimVfs::new();
        let mut writer = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
        put(&mut writer, b"first", &value);
        let name = vfs.names().into_iter().find(|name| name.starts_with("files/")).expect("a blob");
        vfs.set_contents(&name, vec![0; vfs.length(&name) as usize]);
        let id = writer.namespace("n", "1").expect("namespace");
        writer.put(id, b"again", &value).expect("put");
        commit(&mut writer, durability).expect("commit");
        let mut reader = open_with_blobs(&vfs, BLOB_BYTES_MIN).expect("open");
        assert_eq!(get(&mut reader, b"again"), Some(value.clone()), "{durability:?}");
    }
}

/// Regression: an earlier copy of a sealed log has the same start. The open cache kept what it had read of it, and new
/// processes saw damage.
#[test]
fn a_cache_notices_that_a_sealed_log_which_it_has_read_became_shorter() {
    let vfs = SimVfs::new();
    let mut first = open(&vfs).expect("open");
    put(&mut first, b"a", b"1");
    let log = vfs.names().into_iter().find(|name| name.ends_with(".log")).expect("a log");
    let older = vfs.contents(&log);
    put(&mut first, b"a", b"2");
    first.store().close().expect("close");
    let mut handle = open(&vfs).expect("open");
    assert_eq!(get(&mut handle, b"a").as_deref(), Some(&b"2"[..]));
    vfs.set_contents(&log, older);
    handle.store().refresh().expect("refresh");
    put(&mut handle, b"after", b"1");
    let mut reader = open(&vfs).expect("open");
    assert_eq!(get(&mut reader, b"after").as_deref(), Some(&b"1"[..]), "{:?}", vfs.names());
    assert_eq!(get(&mut reader, b"a"), get(&mut handle, b"a"));
}
