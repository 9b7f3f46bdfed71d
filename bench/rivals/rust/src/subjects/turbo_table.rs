//! One table of turbo-persistence without its store, as in its own lookup bench.

use std::fs;
use std::path::Path;
use turbo_persistence::{
    BlockCache, BlockCacheLifecycle, BlockWeighter, Entry, EntryValue, MetaEntryFlags,
    SstLookupResult, StaticSortedFile, StaticSortedFileMetaData, hash_key,
    write_static_stored_file,
};
use varve_bench::{Entries, Opened, Subject, file_order};

/// Where values of four bytes are stored.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Values {
    /// In value blocks that entries share, as in its own bench.
    Shared,
    /// In the key block, as its store writes them.
    Inline,
}

/// A table with values of one kind.
pub(crate) struct TurboTable(pub(crate) Values);

impl Subject for TurboTable {
    fn name(&self) -> String {
        if self.0 == Values::Shared { "turbo-persistence" } else { "turbo-persistence-inline" }
            .to_owned()
    }

    fn takes_part(&self, id: &str) -> bool {
        id.starts_with("lookup/entries_")
    }

    fn open(&self, folder: &Path, block_cache_bytes: usize) -> Box<dyn Opened> {
        let cache = || {
            BlockCache::with(
                1_000,
                block_cache_bytes as u64,
                BlockWeighter,
                <_>::default(),
                BlockCacheLifecycle,
            )
        };
        let block_count =
            fs::read_to_string(folder.join("blocks")).ok().and_then(|count| count.parse().ok());
        let meta = |block_count| StaticSortedFileMetaData { sequence_number: 1, block_count };
        Box::new(OpenTable {
            folder: folder.to_owned(),
            values: self.0,
            table: block_count
                .map(|count| StaticSortedFile::open(folder, meta(count)).expect("opens")),
            keys_cache: cache(),
            values_cache: cache(),
        })
    }

    fn file_order(&self, keys: &[u8], key_bytes: usize) -> Vec<u32> {
        file_order(keys, key_bytes, |key| hash_key(&key))
    }
}

struct OpenTable {
    folder: std::path::PathBuf,
    values: Values,
    table: Option<StaticSortedFile>,
    keys_cache: BlockCache,
    values_cache: BlockCache,
}

struct Pair<'a>(u64, &'a [u8], &'a [u8], Values);

impl Entry for Pair<'_> {
    fn key_hash(&self) -> u64 {
        self.0
    }

    fn key_len(&self) -> usize {
        self.1.len()
    }

    fn write_key_to(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(self.1);
    }

    fn value(&self) -> EntryValue<'_> {
        match self.3 {
            Values::Shared => EntryValue::Small { value: self.2 },
            Values::Inline => EntryValue::Inline { value: self.2 },
        }
    }
}

impl Opened for OpenTable {
    fn commit(&mut self, entries: Entries<'_>, _durable: bool) {
        let mut pairs: Vec<_> = entries
            .iter()
            .map(|(key, value)| Pair(hash_key(&key), key, value, self.values))
            .collect();
        pairs.sort_by_key(|pair| pair.0);
        let file = self.folder.join("00000001.sst");
        let (meta, _) =
            write_static_stored_file(&pairs, &file, MetaEntryFlags::FRESH).expect("writes");
        fs::write(self.folder.join("blocks"), meta.block_count.to_string()).expect("writes");
    }

    fn lookup(&mut self, keys: &[u8], key_bytes: usize, order: &[u32]) -> usize {
        let table = self.table.as_ref().expect("a table");
        let found = |index: &&u32| {
            let start = **index as usize * key_bytes;
            let key = &keys[start..start + key_bytes];
            let hash = hash_key(&key);
            let result = table.lookup::<_, false>(hash, &key, &self.keys_cache, &self.values_cache);
            matches!(std::hint::black_box(result.expect("looks up")), SstLookupResult::Found(_))
        };
        order.iter().filter(found).count()
    }

    fn close(self: Box<Self>) {}
}
