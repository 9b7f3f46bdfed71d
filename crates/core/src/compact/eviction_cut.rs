//! Which entries are evicted from a cache over its size limit: the least recently used ones. Pure: numbers in, a cut
//! out.
//!
//! Entries that this process wrote or read are evicted last, whatever their day. Otherwise the day of the last use or
//! the write decides. Of one day, entries of the oldest commit go first, as far as commits are still distinguished; of
//! one commit, a part chosen by hash.

use crate::usage::Day;
use std::collections::BTreeMap;

/// The position of an entry in the order of eviction, lowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// Whether this process wrote or read the entry.
    pub(crate) is_own: bool,
    pub(crate) day: Day,
    pub(crate) sequence: u64,
}

/// Ranks below are evicted, and a part of the entries of this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    rank: Rank,
    /// The evicted part of the rank, as a fraction of 2^32.
    part: u64,
    salt: u32,
}

impl Cut {
    /// Whether entries of that rank are evicted.
    pub(crate) fn reaches(&self, rank: Rank) -> bool {
        rank <= self.rank
    }

    pub(crate) fn evicts(&self, rank: Rank, hash: u32) -> bool {
        rank < self.rank || (rank == self.rank && u64::from(spread(hash ^ self.salt)) < self.part)
    }
}

/// Mixes a hash with another salt for each cut. Otherwise a later cut of the same rank would evict nothing, because the
/// earlier one left only the highest hashes.
fn spread(hash: u32) -> u32 {
    let mixed = (hash ^ (hash >> 16)).wrapping_mul(0x85EB_CA6B);
    let mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xC2B2_AE35);
    mixed ^ (mixed >> 16)
}

/// The lowest cut that evicts about `excess` bytes. `salt` differs for each cut of a cache.
pub(crate) fn cut(bytes: &BTreeMap<Rank, u64>, excess: u64, salt: u32) -> Option<Cut> {
    let mut rest = excess;
    if rest == 0 {
        return None;
    }
    for (rank, bytes) in bytes {
        if *bytes >= rest {
            let part = ((u128::from(rest) << 32) / u128::from(*bytes)) as u64;
            return Some(Cut { rank: *rank, part, salt });
        }
        rest -= bytes;
    }
    bytes.keys().next_back().map(|rank| Cut { rank: *rank, part: 1 << 32, salt })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(is_own: bool, day: Day, sequence: u64) -> Rank {
        Rank { is_own, day, sequence }
    }

    #[test]
    fn the_oldest_day_is_evicted_first_and_own_entries_last() {
        let ranks = [rank(false, 1, 9), rank(false, 2, 0), rank(false, 2, 7), rank(true, 0, 0)];
        let bytes: BTreeMap<Rank, u64> = ranks.iter().map(|rank| (*rank, 100)).collect();
        let evicted = |excess| {
            let cut = cut(&bytes, excess, 7);
            let share = |rank: &Rank| {
                let hashes = (0..1_000u32).map(|at| at.wrapping_mul(4_294_967));
                hashes.filter(|hash| cut.is_some_and(|cut| cut.evicts(*rank, *hash))).count() / 10
            };
            ranks.iter().map(share).collect::<Vec<_>>()
        };
        assert_eq!(evicted(0), [0, 0, 0, 0]);
        assert_eq!(evicted(100), [100, 0, 0, 0]);
        assert_eq!(evicted(200), [100, 100, 0, 0]);
        assert_eq!(evicted(300), [100, 100, 100, 0]);
        assert_eq!(evicted(1_000), [100, 100, 100, 100]);
        let half = evicted(150);
        assert!(half[0] == 100 && (45..=55).contains(&half[1]) && half[2..] == [0, 0], "{half:?}");
    }
}
