//! What a store must be able to do to be measured.

use crate::data::Entries;
use std::fs::File;
use std::path::Path;

/// A store under test.
pub trait Subject {
    /// Its name in results.
    fn name(&self) -> String;

    /// Whether it takes part in the workload of this id.
    fn takes_part(&self, id: &str) -> bool {
        !id.starts_with("export/") && !id.starts_with("files/")
    }

    /// Opens the folder, which may be empty. `block_cache_bytes` 0 = every lookup reads and checks its blocks again.
    fn open(&self, folder: &Path, block_cache_bytes: usize) -> Box<dyn Opened>;

    /// The same, and nothing is merged unless `compact` is called.
    fn open_quiet(&self, folder: &Path, block_cache_bytes: usize) -> Box<dyn Opened> {
        self.open(folder, block_cache_bytes)
    }

    /// The numbers of the keys, of `key_bytes` each, in the order of a table.
    fn file_order(&self, _keys: &[u8], _key_bytes: usize) -> Vec<u32> {
        unreachable!("{} takes no part in lookups", self.name())
    }
}

/// An open store.
pub trait Opened {
    /// One atomic commit. Durable = it survives the loss of power when this returns; else the death of the process.
    fn commit(&mut self, entries: Entries<'_>, durable: bool);

    /// Merges everything, or what is due; nothing, where there is no such thing.
    fn compact(&mut self, _full: bool) {}

    /// Looks up keys of `key_bytes` each in the order given; returns how many were found.
    fn lookup(&mut self, _keys: &[u8], _key_bytes: usize, _order: &[u32]) -> usize {
        unreachable!("a subject that takes no part in lookups")
    }

    /// Writes all entries as JSON.
    fn export(&mut self, _target: &mut File) {
        unreachable!("a subject that takes no part in exports")
    }

    /// Takes the files of a .tar; how many they are.
    fn import_tar(&mut self, _archive: &[u8]) -> usize {
        unreachable!("a subject that takes no part in files")
    }

    /// Closes in an orderly way; all committed survives the loss of power afterwards.
    fn close(self: Box<Self>);
}

/// The numbers of the keys by `hash`.
pub fn file_order(keys: &[u8], key_bytes: usize, hash: impl Fn(&[u8]) -> u64) -> Vec<u32> {
    let keys: Vec<&[u8]> = keys.chunks_exact(key_bytes).collect();
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by_cached_key(|index| hash(keys[*index as usize]));
    order
}
