//! The sequence number of a commit: a hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014). The
//! lowest bits of the writer's number break ties. It is one u64, so that of two entries the one with the larger number
//! is newer, for every reader.
//!
//! ```text
//! | ticks of 8 us since 2026: 48 bits | rank, the lowest bits of the writer's number: 16 bits |
//! ```
//! A commit gets the later of the clock and the tick after the last commit that its process has read. So it is newer
//! than everything its process has read, whatever the clocks show. It is newer than earlier commits of other processes
//! if the clocks agree. A tick is shorter than a commit, so no process runs ahead of the clock.
//!
//! Open logs have different ranks (`writer/claim.rs`), so no two commits have the same number. Number 0 is older than
//! every commit: entries of a table that was compacted while no other process wrote.

use crate::platform::clock::Clock;

const RANK_BITS: u32 = 16;

/// Highest number of a writer.
pub(crate) const WRITER_MAX: u32 = (1 << 24) - 1;

const TICKS_MAX: u64 = (1 << (64 - RANK_BITS)) - 1;

/// Clocks that show a later time are ignored: ticks for 2^40 commits are left above.
const CLOCK_TICKS_MAX: u64 = TICKS_MAX - (1 << 40);

/// A log is begun only if this many ticks are left.
const TICKS_LEFT: u64 = 1 << 39;

/// Microseconds from 1970 to 2026-01-01, where ticks begin.
const EPOCH_US: u64 = 1_767_225_600_000_000;

const TICK_US: u64 = 8;

/// Bits in which all numbers of one writer are equal.
pub(crate) const SEQUENCE_SHIFT: u8 = RANK_BITS as u8;

fn ticks(clock: &Clock) -> u64 {
    let ticks = clock.now_us().saturating_sub(EPOCH_US) / TICK_US;
    if ticks > CLOCK_TICKS_MAX { 0 } else { ticks }
}

/// Distinguishes the commits of writers whose logs are open at the same time.
pub(crate) fn rank_of_writer(writer: u32) -> u16 {
    writer as u16
}

/// The rank of the commit's writer.
pub(crate) fn rank_of(sequence: u64) -> u16 {
    sequence as u16
}

/// The sequence number of the next commit by `writer`, after everything up to `last`; `None` = there is none left.
pub(crate) fn next_sequence(last: u64, clock: &Clock, writer: u32) -> Option<u64> {
    let ticks = ticks(clock).max((last >> RANK_BITS) + 1);
    (ticks <= TICKS_MAX).then(|| ticks << RANK_BITS | u64::from(rank_of_writer(writer)))
}

/// Whether so few numbers are left after `last` that no clock and no process can have used the others.
pub(crate) fn is_used_up(last: u64) -> bool {
    last >> RANK_BITS > TICKS_MAX - TICKS_LEFT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(now_us: u64) -> Clock {
        Clock::new(move || now_us)
    }

    #[test]
    fn a_commit_is_newer_than_all_its_process_has_read_whatever_the_clock_shows() {
        let seen = next_sequence(0, &at(EPOCH_US + (1 << 50)), 7).unwrap();
        for clock in [Clock::default(), at(0), at(EPOCH_US), at(EPOCH_US + (1 << 50)), at(u64::MAX)]
        {
            let next = next_sequence(seen, &clock, 3).unwrap();
            assert_eq!((next >> RANK_BITS, rank_of(next)), ((seen >> RANK_BITS) + 1, 3));
        }
    }

    #[test]
    fn a_commit_is_newer_than_an_unread_one_made_a_tick_before() {
        let one = next_sequence(0, &at(EPOCH_US + 800), u32::from(u16::MAX)).unwrap();
        let two = next_sequence(0, &at(EPOCH_US + 800 + TICK_US), 0).unwrap();
        assert!(two > one);
    }

    #[test]
    fn a_clock_beyond_the_range_leaves_room_for_commits() {
        let last = CLOCK_TICKS_MAX << RANK_BITS;
        assert!(next_sequence(last, &at(u64::MAX), 1).is_some());
        assert!(next_sequence(u64::MAX, &at(0), 1).is_none());
    }
}
