//! An index of the tables that may have a key. Without it a lookup reads every table, so the cost of a miss grows with
//! their number. For every key it has 32 bits of the hash and the number of the table, about 5 bytes. It exists in
//! memory only, and is built once the tables read in vain have cost as much as building it.

use crate::format::hash_sort;
use crate::format::hash_sort::{Item, hash_of, item};
use crate::table::Table;

/// Bits of the hash that choose a bucket; at least 16, because a fingerprint has the other 16.
const BUCKET_BITS_MIN: u32 = 16;
const BUCKET_BITS_MAX: u32 = 24;

/// Average number of keys in a bucket, as a power of two.
const BUCKET_KEYS_BITS: u32 = 2;

/// Buckets with more entries are searched by bisection. Only keys chosen by an attacker fill a bucket so far.
const CROWDED: usize = 64;

/// Most tables that an index can number.
const TABLES_MAX: usize = 1 << 16;

/// Which tables have which keys.
#[derive(Debug)]
pub(crate) struct TableIndex {
    bucket_bits: u32,
    /// First entry of each bucket, then the end of the last one.
    starts: Vec<u32>,
    /// Fingerprint in the upper half, number of the table in the lower half; sorted, without duplicates.
    entries: Vec<u32>,
}

impl TableIndex {
    /// Size in bytes of an index of this many keys.
    pub(crate) fn bytes_for(keys: u64) -> u64 {
        keys * 4 + (4u64 << bucket_bits(keys))
    }

    /// Builds the index of the tables that can be read whole, and reports for each table whether it is covered.
    pub(crate) fn new<'t>(tables: impl Iterator<Item = &'t Table>) -> (Self, Vec<bool>) {
        let (mut items, mut covered) = (Vec::new(), Vec::new());
        for (number, table) in tables.enumerate() {
            let before = items.len();
            let is_covered =
                number < TABLES_MAX && table.hashes(|hash| items.push(item(hash, number as u32)));
            if !is_covered {
                items.truncate(before);
            }
            covered.push(is_covered);
        }
        hash_sort::sort(&mut items, &mut Vec::new());
        // An attacker can choose many keys of one hash; they share one entry.
        items.dedup();
        (Self::from_sorted(&items), covered)
    }

    fn from_sorted(items: &[Item]) -> Self {
        let bucket_bits = bucket_bits(items.len() as u64);
        let mut starts = Vec::with_capacity((1 << bucket_bits) + 1);
        let mut entries = Vec::with_capacity(items.len());
        for item in items {
            while starts.len() <= bucket_of(hash_of(*item), bucket_bits) {
                starts.push(entries.len() as u32);
            }
            entries.push(fingerprint(hash_of(*item), bucket_bits) | (*item as u32));
        }
        starts.resize((1 << bucket_bits) + 1, entries.len() as u32);
        Self { bucket_bits, starts, entries }
    }

    /// Numbers of the tables that may have a key of this hash, ascending.
    #[inline]
    pub(crate) fn tables_of(&self, hash: u32) -> impl Iterator<Item = usize> {
        let bucket = bucket_of(hash, self.bucket_bits);
        let bounds = self.starts.get(bucket..bucket + 2);
        let range = bounds.and_then(|bounds| bounds.first().zip(bounds.last()));
        let entries =
            range.and_then(|(start, end)| self.entries.get(*start as usize..*end as usize));
        let mut entries = entries.unwrap_or_default();
        let wanted = fingerprint(hash, self.bucket_bits);
        if entries.len() > CROWDED {
            let start = entries.partition_point(|entry| *entry < wanted);
            let end = entries.partition_point(|entry| *entry <= wanted | !FINGERPRINT);
            entries = entries.get(start..end).unwrap_or_default();
        }
        let matching = move |entry: &&u32| **entry & FINGERPRINT == wanted;
        entries.iter().filter(matching).map(|entry| (*entry & !FINGERPRINT) as usize)
    }
}

const FINGERPRINT: u32 = 0xFFFF_0000;

#[inline]
fn bucket_of(hash: u32, bucket_bits: u32) -> usize {
    (hash >> (32 - bucket_bits)) as usize
}

#[inline]
fn fingerprint(hash: u32, bucket_bits: u32) -> u32 {
    (hash << bucket_bits) & FINGERPRINT
}

fn bucket_bits(keys: u64) -> u32 {
    keys.max(1).ilog2().saturating_sub(BUCKET_KEYS_BITS).clamp(BUCKET_BITS_MIN, BUCKET_BITS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_finds_the_tables_of_keys_that_share_a_bucket() {
        let mut random = fastrand::Rng::with_seed(2);
        let mut items: Vec<Item> = (0..50_000)
            .map(|_| item(0x1234_0000 | random.u32(..0x1_0000), random.u32(..9)))
            .collect();
        items.sort_unstable();
        items.dedup();
        let index = TableIndex::from_sorted(&items);
        for same in items.chunk_by(hash_sort::same_hash) {
            let expected: Vec<usize> = same.iter().map(|item| *item as u32 as usize).collect();
            assert_eq!(index.tables_of(hash_of(same[0])).collect::<Vec<_>>(), expected);
        }
        assert_eq!(index.tables_of(0x1233_FFFF).count() + index.tables_of(0x1235_0000).count(), 0);
    }

    #[test]
    fn the_index_names_the_tables_of_every_key_and_hardly_any_others() {
        let mut random = fastrand::Rng::with_seed(1);
        for count in [0, 1, 100, 300_000] {
            let keys: Vec<(u32, u32)> =
                (0..count).map(|_| (random.u32(..), random.u32(..200))).collect();
            let mut items: Vec<Item> =
                keys.iter().map(|(hash, table)| item(*hash, *table)).collect();
            items.sort_unstable();
            let index = TableIndex::from_sorted(&items);
            for (hash, table) in &keys {
                assert!(index.tables_of(*hash).any(|found| found == *table as usize));
                assert!(index.tables_of(*hash).is_sorted());
            }
            let strays: usize = (0..10_000).map(|_| index.tables_of(random.u32(..)).count()).sum();
            assert!(strays <= 10, "{strays} of 10,000 absent keys, {count} keys");
        }
    }
}
