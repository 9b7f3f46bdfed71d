//! Steps of a history and the map of entries that the cache must hold. The safety suites use them, too.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use varve_core::testing::sim::SimVfs;
use varve_core::{Durability, Handle, Options, SerialPool, Store};

/// The entries that a namespace must hold: values by key.
pub(crate) type Expected = BTreeMap<Vec<u8>, Vec<u8>>;

/// Opens the directory as a new process does.
pub(crate) fn open(vfs: &SimVfs) -> varve_core::Result<Handle> {
    open_with_blobs(vfs, Options::default().blob_bytes_min)
}

/// Like [`open`], with values of at least `blob_bytes_min` in blobs.
pub(crate) fn open_with_blobs(vfs: &SimVfs, blob_bytes_min: usize) -> varve_core::Result<Handle> {
    open_with(vfs, Options { block_cache_bytes: 1 << 20, blob_bytes_min, ..Options::default() })
}

pub(crate) fn open_with(vfs: &SimVfs, options: Options) -> varve_core::Result<Handle> {
    Store::open(Arc::new(vfs.clone()), Arc::new(SerialPool), options).map(|store| store.handle())
}

/// Commits what is buffered.
pub(crate) fn commit(handle: &mut Handle, durability: Durability) -> varve_core::Result<()> {
    commit_at(handle, durability, 1_000)
}

pub(crate) fn commit_at(
    handle: &mut Handle,
    durability: Durability,
    now_ms: u64,
) -> varve_core::Result<()> {
    match handle.begin_commit() {
        Some(pending) => pending.run(Some(durability), now_ms).map(|_| ()),
        None => Ok(()),
    }
}

pub(crate) fn compact(
    handle: &Handle,
    full: bool,
) -> varve_core::Result<varve_core::CompactReport> {
    handle.store().compact(full, &|_, _| ControlFlow::Continue(()))
}

/// All entries of a namespace, scanned in small pages.
pub(crate) fn dump(handle: &Handle, namespace: u32) -> Expected {
    let mut found = Expected::new();
    let mut cursor = Some(0);
    while let Some(from) = cursor {
        cursor = handle
            .scan(namespace, from, 200, &mut |key, value| {
                let before = found.insert(key.to_vec(), value.to_vec());
                assert!(before.is_none(), "a scan shows each key once");
            })
            .expect("scan");
    }
    let lengths = lengths(handle, namespace);
    let is_shown = |(key, value): (&Vec<u8>, &Vec<u8>)| lengths.get(key) == Some(&value.len());
    assert!(found.iter().all(is_shown), "a scan of keys shows each of them");
    // A value that cannot be read, such as one whose blob is gone, is a miss; a scan of keys does not try.
    for key in lengths.keys().filter(|key| !found.contains_key(*key)) {
        assert_eq!(
            handle.get(namespace, key, <[u8]>::to_vec).expect("get"),
            None,
            "a scan shows each value"
        );
    }
    found
}

/// The same keys with the lengths of their values.
fn lengths(handle: &Handle, namespace: u32) -> BTreeMap<Vec<u8>, usize> {
    let mut found = BTreeMap::new();
    let mut cursor = Some(0);
    while let Some(from) = cursor {
        cursor = handle
            .scan_keys(namespace, from, 20, &mut |key, value_bytes| {
                assert!(
                    found.insert(key.to_vec(), value_bytes).is_none(),
                    "a scan shows each key once"
                );
            })
            .expect("scan of keys");
    }
    found
}

/// A key from a small set, so that histories overwrite entries. One key is long.
pub(crate) fn random_key(random: &mut fastrand::Rng) -> Vec<u8> {
    key(random.u32(..KEYS))
}

/// The number of keys that [`random_key`] chooses from.
pub(crate) const KEYS: u32 = 24;

pub(crate) fn key(number: u32) -> Vec<u8> {
    if number == KEYS - 1 { vec![b'k'; 300] } else { format!("key{number}").into_bytes() }
}

/// A value of any layout: empty, inline, in a shared block, in its own block, compressible or not.
pub(crate) fn random_value(random: &mut fastrand::Rng) -> Vec<u8> {
    match random.u32(..12) {
        0 => Vec::new(),
        1..6 => random.u64(..).to_le_bytes()[..random.usize(1..8)].to_vec(),
        6..9 => format!("value {} ", random.u32(..)).repeat(random.usize(1..40)).into_bytes(),
        9 => (0..random.usize(17..2_000)).map(|_| random.u8(..)).collect(),
        10 => vec![random.u8(..); random.usize(..9_000)],
        _ => (0..random.usize(..6_000)).map(|_| random.u8(..)).collect(),
    }
}
