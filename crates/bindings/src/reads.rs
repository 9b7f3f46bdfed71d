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

    /// The values, packed.
    pub fn run(self) -> Result<Vec<u8>> {
        failpoints::panics("reads-run");
        Values::collect(self.0.count(), |each| self.0.run(each))
    }
}

/// A namespace, a cursor in it, and about how many bytes a page from there has.
pub type PagePlace = (u32, u64, u64);

/// Keys, packed one after another, and the end of each.
#[derive(Clone, Copy, Debug)]
pub struct PackedKeys<'k> {
    /// The bytes of all keys.
    pub packed: &'k [u8],
    /// The end of each key in them.
    pub ends: &'k [u32],
}

impl<'k> PackedKeys<'k> {
    /// The key of that number.
    pub(crate) fn get(self, index: usize) -> Result<&'k [u8]> {
        let start = index.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before));
        let range =
            start.zip(self.ends.get(index)).map(|(start, end)| *start as usize..*end as usize);
        let key = range.and_then(|range| self.packed.get(range));
        key.ok_or_else(|| Failure::argument("the ends of the keys are out of order"))
    }

    /// All keys.
    pub(crate) fn all(self) -> Result<Vec<&'k [u8]>> {
        (0..self.ends.len()).map(|index| self.get(index)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::PackedKeys;
    use crate::failure::Result;
    use crate::handle::JsHandle;
    use std::sync::Arc;
    use varve_core::vfs::MemVfs;
    use varve_core::{Options, SerialPool, Store};

    #[test]
    fn lookups_of_many_keys_stop_at_the_value_that_does_not_fit_and_go_on_from_there() -> Result<()>
    {
        let store =
            Store::open(Arc::new(MemVfs::default()), Arc::new(SerialPool), Options::default())?;
        let mut handle = JsHandle::new(&store, *b"abcd");
        let namespace = handle.namespace("n", "1")?;
        handle.put(namespace, 1, b"first")?;
        handle.put(namespace, 2, b"second value")?;
        let keys = PackedKeys { packed: b"a?aba", ends: &[1, 2, 4, 5] };
        let (mut target, mut lengths) = ([0; 16], [0; 4]);
        assert_eq!(handle.get_many(namespace, keys, 0, &mut target, &mut lengths)?, 2);
        assert_eq!((&target[..5], lengths), (&b"first"[..], [5, -1, 12, 0]));
        let mut long = [0; 12];
        assert_eq!((handle.read(&mut long)?, &long), (12, b"second value"));
        assert_eq!(handle.get_many(namespace, keys, 2, &mut target, &mut lengths)?, 3);
        assert_eq!(handle.get_many(namespace, keys, 3, &mut target, &mut lengths)?, 4);
        assert_eq!((&target[..5], lengths), (&b"first"[..], [5, -1, 12, 5]));
        Ok(())
    }
}
