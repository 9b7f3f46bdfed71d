//! The order of commits: a Lamport sequence, ties broken by the number of the writer. One u64, so that the newest of
//! two entries is the one with the larger number, for every reader the same.
//!
//! ```text
//! | sequence: 40 bits | writer: 24 bits |
//! ```
//! 0 is older than every commit: entries of a table that was compacted while nobody else wrote.

use crate::error::{Error, Result};

const WRITER_BITS: u32 = 24;

/// Highest number of a writer.
pub(crate) const WRITER_MAX: u32 = (1 << WRITER_BITS) - 1;

const SEQUENCE_MAX: u64 = (1 << (64 - WRITER_BITS)) - 1;

/// Bits by which orders of one writer differ at least.
pub(crate) const ORDER_SHIFT: u8 = WRITER_BITS as u8;

/// The order of the commit that follows everything up to `last`, by `writer`.
pub(crate) fn next_order(last: u64, writer: u32) -> Result<u64> {
    let sequence = (last >> WRITER_BITS) + 1;
    if sequence > SEQUENCE_MAX {
        return Err(Error::Exhausted { field: "commits", limit: SEQUENCE_MAX });
    }
    Ok(sequence << WRITER_BITS | u64::from(writer & WRITER_MAX))
}
