//! Which of many tables may have a key. Without it a lookup asks every table, and a miss costs as much as there are
//! tables. It holds of every key 32 bits of the hash, as the tables have them, and the number of its table: some 5
//! bytes. It lives in memory only and is made when the tables that were asked for nothing have cost as much as making
//! it does.

use crate::format::hash_sort;
use crate::format::hash_sort::{Item, hash_of, item};
use crate::table::Table;

/// Bits of the hash that choose a bucket. At least 16, so that a fingerprint has all others.
const BUCKET_BITS_MIN: u32 = 16;
const BUCKET_BITS_MAX: u32 = 24;

/// Keys of a bucket: this power of two, on average.
const BUCKET_KEYS_BITS: u32 = 2;

/// Entries of a bucket, above which it is bisected: no hashes but chosen ones make it so large.
const CROWDED: usize = 64;

/// Tables that fit.
const TABLES_MAX: usize = 1 << 16;

/// Where the keys of some tables are.
#[derive(Debug)]
pub(crate) struct TableIndex {
    bucket_bits: u32,
    /// First entry of each bucket, and the end of the last.
    starts: Vec<u32>,
    /// Fingerprint in the upper half, number of the table in the lower one, in order; each once.
    entries: Vec<u32>,
}

impl TableIndex {
    /// Bytes that an index of so many keys takes.
    pub(crate) fn bytes_for(keys: u64) -> u64 {
        keys * 4 + (4u64 << bucket_bits(keys))
    }

    /// The index of the tables that can be read whole, and of each table whether it is among them.
    pub(crate) fn new<'t>(tables: impl Iterator<Item = &'t Table>) -> (Self, Vec<bool>) {
        let (mut items, mut covered) = (Vec::new(), Vec::new());
        for (number, table) in tables.enumerate() {
            let before = items.len();
            let is_covered = number < TABLES_MAX && table.hashes(|hash| items.push(item(hash, number as u32)));
            if !is_covered {
                items.truncate(before);
            }
            covered.push(is_covered);
        }
        hash_sort::sort(&mut items, &mut Vec::new());
        // Of one hash an attacker can choose many keys; they are one entry.
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

    /// Numbers of the tables that may have a key of this hash, in ascending order.
    #[inline]
    pub(crate) fn tables_of(&self, hash: u32) -> impl Iterator<Item = usize> {
        let bucket = bucket_of(hash, self.bucket_bits);
        let bounds = self.starts.get(bucket..bucket + 2);
        let range = bounds.and_then(|bounds| bounds.first().zip(bounds.last()));
        let entries = range.and_then(|(start, end)| self.entries.get(*start as usize..*end as usize));
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
    fn hashes_that_an_attacker_chose_are_found_in_their_tables() {
        let mut random = fastrand::Rng::with_seed(2);
        let mut items: Vec<Item> =
            (0..50_000).map(|_| item(0x1234_0000 | random.u32(..0x1_0000), random.u32(..9))).collect();
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
    fn every_key_is_found_in_its_tables_and_hardly_any_in_others() {
        let mut random = fastrand::Rng::with_seed(1);
        for count in [0, 1, 100, 300_000] {
            let keys: Vec<(u32, u32)> = (0..count).map(|_| (random.u32(..), random.u32(..200))).collect();
            let mut items: Vec<Item> = keys.iter().map(|(hash, table)| item(*hash, *table)).collect();
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
