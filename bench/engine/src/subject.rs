//! The operations that a store needs to be measured.

use crate::data::Entries;
use std::fs::File;
use std::path::Path;

/// A store to measure.
pub trait Subject {
    /// The name in results.
    fn name(&self) -> String;

    /// Whether the subject runs the workload of this id.
    fn takes_part(&self, id: &str) -> bool {
        !id.starts_with("export/") && !id.starts_with("files/")
    }

    /// Opens the directory, which may be empty. With a `block_cache_bytes` of 0, every lookup reads and verifies its
    /// blocks again.
    fn open(&self, folder: &Path, block_cache_bytes: usize) -> Box<dyn Opened>;

    /// Like `open`, but merges only when `compact` is called.
    fn open_quiet(&self, folder: &Path, block_cache_bytes: usize) -> Box<dyn Opened> {
        self.open(folder, block_cache_bytes)
    }

    /// The indexes of the keys, of `key_bytes` each, in the order of a table.
    fn file_order(&self, _keys: &[u8], _key_bytes: usize) -> Vec<u32> {
        unreachable!("{} does not run lookups", self.name())
    }
}

/// An open store.
pub trait Opened {
    /// Makes one atomic commit. A durable commit survives a power failure once this returns, any other a process crash.
    fn commit(&mut self, entries: Entries<'_>, durable: bool);

    /// Merges all tables, or those that are due. Does nothing if the store has no compaction.
    fn compact(&mut self, _full: bool) {}

    /// Looks up keys of `key_bytes` each in the given order. Returns how many were found.
    fn lookup(&mut self, _keys: &[u8], _key_bytes: usize, _order: &[u32]) -> usize {
        unreachable!("this subject does not run lookups")
    }

    /// Writes all entries as JSON.
    fn export(&mut self, _target: &mut File) {
        unreachable!("this subject does not run exports")
    }

    /// Imports the files of a .tar. Returns their number.
    fn import_tar(&mut self, _archive: &[u8]) -> usize {
        unreachable!("this subject does not import archives")
    }

    /// Closes the store. All commits then survive a power failure.
    fn close(self: Box<Self>);
}

/// The indexes of the keys in the order of `hash`.
pub fn file_order(keys: &[u8], key_bytes: usize, hash: impl Fn(&[u8]) -> u64) -> Vec<u32> {
    let keys: Vec<&[u8]> = keys.chunks_exact(key_bytes).collect();
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by_cached_key(|index| hash(keys[*index as usize]));
    order
}
