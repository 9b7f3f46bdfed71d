//! A store on counting files, for the workloads.

use crate::files::CountingVfs;
use std::ops::ControlFlow;
use std::sync::Arc;
use varve_bench::{Entries, random};
use varve_core::{CompactReport, Durability, Handle, Options, SerialPool, Store};

const SEED: u64 = 42;

/// Opens the directory. Dropping the handle leaves the directory as after a crash, since closing would merge.
pub(crate) fn open(folder: &CountingVfs) -> (Handle, u32) {
    open_with(folder, 512 << 20)
}

/// Like `open`, with a block cache of `block_cache_bytes`.
pub(crate) fn open_with(folder: &CountingVfs, block_cache_bytes: usize) -> (Handle, u32) {
    let options = Options { block_cache_bytes, bytes_max: 64 << 30, ..Options::default() };
    let store =
        Store::open(Arc::new(folder.clone()), Arc::new(SerialPool), options).expect("opens");
    let mut handle = store.handle();
    let namespace = handle.namespace("guard", "1").expect("a namespace");
    (handle, namespace)
}

/// Makes one commit.
pub(crate) fn commit(
    handle: &mut Handle,
    namespace: u32,
    entries: Entries<'_>,
    durability: Durability,
) {
    for (key, value) in entries.iter() {
        handle.put(namespace, key, value).expect("puts");
    }
    handle
        .begin_commit()
        .expect("something to commit")
        .run(Some(durability), 1_000)
        .expect("commits");
}

pub(crate) fn compact(handle: &Handle, full: bool) -> CompactReport {
    handle.store().compact(full, &|_, _| ControlFlow::Continue(())).expect("compacts")
}

/// The keys and values of a workload.
pub(crate) struct Data {
    pub(crate) keys: Vec<u8>,
    values: Vec<u8>,
    key_bytes: usize,
    value_bytes: usize,
}

impl Data {
    pub(crate) fn new(count: usize, key_bytes: usize, value_bytes: usize) -> Self {
        let keys = random(SEED, count, key_bytes);
        Self { keys, values: random(SEED + 1, count, value_bytes), key_bytes, value_bytes }
    }

    pub(crate) fn entries(&self) -> Entries<'_> {
        let Self { keys, values, key_bytes, value_bytes } = self;
        Entries { keys, key_bytes: *key_bytes, values, value_bytes: *value_bytes }
    }
}

/// Keys of 32 bytes with equal hashes, as an attacker can choose them: their first eight bytes make a factor of xxh3
/// zero, so the next eight do not matter.
pub(crate) fn keys_of_one_hash(count: u64) -> Vec<u8> {
    let first = 0xbe4b_a423_396c_feb8_u64.to_le_bytes();
    (0..count).flat_map(|number| [first, number.to_le_bytes(), [7; 8], [7; 8]]).flatten().collect()
}

/// Keys of 8 bytes that no `Data` contains.
pub(crate) fn absent_keys(count: usize) -> Vec<u8> {
    random(SEED + 7, count, 8)
}
