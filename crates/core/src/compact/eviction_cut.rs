//! Which entries leave a cache that is over its cap: the least recently used ones. Pure: numbers in, a cut out.
//!
//! What this process wrote or read leaves last, whatever its day. Below that, by the day on which an entry was last
//! used or written; of one day those of the oldest commit first, as far as commits are still told apart; of one commit
//! a part of all, by hash.

use crate::usage::Day;
use std::collections::BTreeMap;

/// Where an entry stands in the order in which they leave: the lowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    /// This process wrote or read it.
    pub(crate) is_own: bool,
    pub(crate) day: Day,
    pub(crate) order: u64,
}

/// What is below leaves, and of what is at it a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    rank: Rank,
    /// Of 2^32.
    part: u64,
    salt: u32,
}

impl Cut {
    /// Whether anything of that rank leaves.
    pub(crate) fn reaches(&self, rank: Rank) -> bool {
        rank <= self.rank
    }

    pub(crate) fn takes(&self, rank: Rank, hash: u32) -> bool {
        rank < self.rank || (rank == self.rank && u64::from(spread(hash ^ self.salt)) < self.part)
    }
}

/// Bits of a hash in another order: what the last cut left of a rank lies above its part, not above that of the next.
fn spread(hash: u32) -> u32 {
    let mixed = (hash ^ (hash >> 16)).wrapping_mul(0x85EB_CA6B);
    let mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xC2B2_AE35);
    mixed ^ (mixed >> 16)
}

/// The lowest cut that takes `excess` bytes, about. `salt` is another one for each cut of a cache.
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

    fn rank(is_own: bool, day: Day, order: u64) -> Rank {
        Rank { is_own, day, order }
    }

    #[test]
    fn the_oldest_day_leaves_first_and_what_is_ours_last() {
        let ranks = [rank(false, 1, 9), rank(false, 2, 0), rank(false, 2, 7), rank(true, 0, 0)];
        let bytes: BTreeMap<Rank, u64> = ranks.iter().map(|rank| (*rank, 100)).collect();
        let taken = |excess| {
            let cut = cut(&bytes, excess, 7);
            let share = |rank: &Rank| {
                let hashes = (0..1_000u32).map(|at| at.wrapping_mul(4_294_967));
                hashes.filter(|hash| cut.is_some_and(|cut| cut.takes(*rank, *hash))).count() / 10
            };
            ranks.iter().map(share).collect::<Vec<_>>()
        };
        assert_eq!(taken(0), [0, 0, 0, 0]);
        assert_eq!(taken(100), [100, 0, 0, 0]);
        assert_eq!(taken(200), [100, 100, 0, 0]);
        assert_eq!(taken(300), [100, 100, 100, 0]);
        assert_eq!(taken(1_000), [100, 100, 100, 100]);
        let half = taken(150);
        assert!(half[0] == 100 && (45..=55).contains(&half[1]) && half[2..] == [0, 0], "{half:?}");
    }
}
