//! turbo-persistence, the complete store.

use std::path::Path;
use turbo_persistence::{CompactConfig, SerialScheduler, TurboPersistence, hash_key};
use varve_bench::{Entries, Opened, Subject, file_order};

const MIB: u64 = 1 << 20;

/// The partial compaction that its own bench and its users configure.
const PARTIAL: CompactConfig = CompactConfig {
    min_merge_count: 3,
    optimal_merge_count: 8,
    max_merge_count: 64,
    max_merge_bytes: 512 * MIB,
    min_merge_duplication_bytes: 50 * MIB,
    optimal_merge_duplication_bytes: 100 * MIB,
    max_merge_segment_count: 16,
};

/// The store as its users open it, without other threads.
pub(crate) struct Turbo;

impl Subject for Turbo {
    fn name(&self) -> String {
        "turbo-persistence".to_owned()
    }

    fn takes_part(&self, id: &str) -> bool {
        let is_too_long = id.contains("items_10M"); // fails at commit 65,495: vm.max_map_count
        !id.starts_with("lookup/entries_") && !id.starts_with("export/") && !is_too_long
    }

    fn open(&self, folder: &Path, _block_cache_bytes: usize) -> Box<dyn Opened> {
        Box::new(OpenTurbo(TurboPersistence::open(folder.to_owned()).expect("opens")))
    }

    fn file_order(&self, keys: &[u8], key_bytes: usize) -> Vec<u32> {
        file_order(keys, key_bytes, |key| hash_key(&key))
    }
}

struct OpenTurbo(TurboPersistence<SerialScheduler, 1>);

impl Opened for OpenTurbo {
    /// It only has durable commits.
    fn commit(&mut self, entries: Entries<'_>, _durable: bool) {
        // Keys of a constant length are its fastest form.
        match entries.key_bytes {
            4 => self.write::<4>(entries),
            8 => self.write::<8>(entries),
            16 => self.write::<16>(entries),
            other => panic!("no keys of {other} bytes"),
        }
    }

    fn compact(&mut self, full: bool) {
        if full {
            self.0.full_compact().expect("compacts");
        } else {
            self.0.compact(&PARTIAL).expect("compacts");
        }
    }

    fn lookup(&mut self, keys: &[u8], key_bytes: usize, order: &[u32]) -> usize {
        let found = |index: &&u32| {
            let start = **index as usize * key_bytes;
            let value = self.0.get(0, &&keys[start..start + key_bytes]).expect("looks up");
            std::hint::black_box(value).is_some()
        };
        order.iter().filter(found).count()
    }

    fn close(self: Box<Self>) {
        self.0.shutdown().expect("closes");
    }
}

impl OpenTurbo {
    fn write<const KEY_BYTES: usize>(&self, entries: Entries<'_>) {
        let batch = self.0.write_batch::<[u8; KEY_BYTES]>().expect("a batch");
        for (key, value) in entries.iter() {
            batch.put(0, key.try_into().expect("as many bytes"), value.into()).expect("puts");
        }
        self.0.commit_write_batch(batch).expect("commits");
    }
}
