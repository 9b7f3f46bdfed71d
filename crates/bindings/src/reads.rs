//! Lookups of many keys, which JavaScript packs one after another.

use crate::failure::{Failure, Result};
use crate::packed::Values;
use varve_core::PendingReads;
use varve_core::failpoints;

/// Lookups of many keys, for any thread.
#[derive(Debug)]
pub struct Reads(PendingReads);

impl Reads {
    pub(crate) fn new(reads: PendingReads) -> Self {
        Self(reads)
    }

    /// The answer of `get_many`.
    pub fn run(self) -> Result<Vec<u8>> {
        failpoints::panics("reads-run");
        Values::collect(self.0.count(), |each| self.0.run(each))
    }
}

/// The keys in `packed`; `ends` has the end of each.
pub(crate) fn split_keys<'k>(packed: &'k [u8], ends: &[u32]) -> Result<Vec<&'k [u8]>> {
    let mut start = 0;
    let mut keys = Vec::with_capacity(ends.len());
    for &end in ends {
        let key = packed.get(start..end as usize);
        keys.push(key.ok_or_else(|| Failure::argument("the ends of the keys are out of order"))?);
        start = end as usize;
    }
    Ok(keys)
}
