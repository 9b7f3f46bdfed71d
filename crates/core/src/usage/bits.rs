//! Which entries of one table or memtable were read: a bit for each, set by lookups and never cleared.

use std::sync::atomic::{AtomicU64, Ordering};

const WORD_BITS: usize = u64::BITS as usize;

/// One bit for each entry.
#[derive(Debug, Default)]
pub(crate) struct UsageBits {
    words: Vec<AtomicU64>,
}

impl UsageBits {
    pub(crate) fn new(count: usize) -> Self {
        let mut bits = Self::default();
        bits.grow(count);
        bits
    }

    /// Makes room for this many entries.
    pub(crate) fn grow(&mut self, count: usize) {
        let words = count.div_ceil(WORD_BITS);
        if self.words.len() < words {
            // At least double, so that growing by one is cheap on average.
            self.words.resize_with(words.max(self.words.len() * 2), AtomicU64::default);
        }
    }

    /// Sets a bit. It is read first, because it is usually set already and a write would cost the other threads their
    /// cached copy.
    #[inline]
    pub(crate) fn set(&self, index: usize) {
        if let Some(word) = self.words.get(index / WORD_BITS) {
            let bit = 1 << (index % WORD_BITS);
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// Number of bits set.
    pub(crate) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
    }

    /// Positions of the bits set, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = word.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let lowest = rest.trailing_zeros() as usize;
                rest &= rest.checked_sub(1)?;
                Some(at * WORD_BITS + lowest)
            })
        })
    }
}
