//! A hash index whose keys are stored elsewhere: the caller reads the key of a slot. Key hashes are xxh3, so their
//! lower half serves as the bucket without further mixing.
//!
//! Hashes are not secret: an attacker can choose keys with one hash, or one bucket. The cost of a lookup is limited
//! nevertheless. A key is in one of at most `PROBES_MAX` consecutive buckets; if all are taken, the key goes to an
//! ordered map.

use std::collections::BTreeMap;

/// The tag of a free bucket.
const FREE: u8 = 0;

/// Most buckets that a key may be in. At most half of all buckets are taken, so among a million keys with random hashes
/// only a few need more.
const PROBES_MAX: usize = 64;

const BUCKETS_MIN: usize = 8;

/// Slots by key.
#[derive(Debug)]
pub(crate) struct HashIndex<T> {
    /// Some bits of the hash for each bucket, stored apart because a miss reads nothing else. The number of buckets is
    /// a power of two.
    tags: Vec<u8>,
    /// The number of the slot in each bucket.
    numbers: Vec<u32>,
    slots: Vec<Slot<T>>,
    /// Numbers of the slots whose keys found all their buckets taken.
    crowded: BTreeMap<Box<[u8]>, u32>,
}

#[derive(Clone, Copy, Debug)]
struct Slot<T> {
    /// Lower half of the hash.
    place: u32,
    value: T,
}

impl<T> Default for HashIndex<T> {
    fn default() -> Self {
        Self { tags: Vec::new(), numbers: Vec::new(), slots: Vec::new(), crowded: BTreeMap::new() }
    }
}

impl<T: Copy> HashIndex<T> {
    /// The value of `key`.
    #[inline]
    pub(crate) fn find<'k>(
        &self,
        hash: u64,
        key: &[u8],
        key_of: impl Fn(&T) -> Option<&'k [u8]>,
    ) -> Option<T> {
        self.find_at(hash, key, key_of).map(|(_, value)| value)
    }

    /// The number of the slot and the value of `key`.
    #[inline]
    pub(crate) fn find_at<'k>(
        &self,
        hash: u64,
        key: &[u8],
        key_of: impl Fn(&T) -> Option<&'k [u8]>,
    ) -> Option<(usize, T)> {
        let (tag, place) = (tag_of(hash), hash as u32);
        let mask = self.tags.len().wrapping_sub(1);
        let mut at = place as usize & mask;
        for _ in 0..PROBES_MAX {
            let other = *self.tags.get(at)?;
            if other == FREE {
                break;
            }
            if other == tag
                && let Some(number) = self.numbers.get(at)
                && let Some(slot) = self.slots.get(*number as usize)
                && slot.place == place
                && key_of(&slot.value) == Some(key)
            {
                return Some((*number as usize, slot.value));
            }
            at = (at + 1) & mask;
        }
        if self.crowded.is_empty() { None } else { self.find_crowded(key) }
    }

    #[cold]
    fn find_crowded(&self, key: &[u8]) -> Option<(usize, T)> {
        let slot = *self.crowded.get(key)? as usize;
        Some((slot, self.get(slot)?))
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The value in the slot of that number.
    pub(crate) fn get(&self, slot: usize) -> Option<T> {
        self.slots.get(slot).map(|slot| slot.value)
    }

    /// The value of `key` to change; it is added as `value` if absent.
    pub(crate) fn entry<'k>(
        &mut self,
        hash: u64,
        key: &[u8],
        key_of: impl Fn(&T) -> Option<&'k [u8]>,
        value: T,
    ) -> &mut T {
        let slot = match self.find_at(hash, key, &key_of) {
            Some((slot, _)) => slot,
            None => self.add(hash, key, key_of, value),
        };
        match self.slots.get_mut(slot) {
            Some(slot) => &mut slot.value,
            None => unreachable!("the slot was found or added just now"),
        }
    }

    fn add<'k>(
        &mut self,
        hash: u64,
        key: &[u8],
        key_of: impl Fn(&T) -> Option<&'k [u8]>,
        value: T,
    ) -> usize {
        let number = self.slots.len();
        if (number - self.crowded.len()) * 2 >= self.tags.len() {
            self.grow(key_of);
        }
        let place = hash as u32;
        self.slots.push(Slot { place, value });
        self.settle(tag_of(hash), place, number as u32, || Some(key));
        number
    }

    #[cold]
    fn grow<'k>(&mut self, key_of: impl Fn(&T) -> Option<&'k [u8]>) {
        let count = (self.tags.len() * 2).max(BUCKETS_MIN);
        let tags = std::mem::replace(&mut self.tags, vec![FREE; count]);
        let numbers = std::mem::replace(&mut self.numbers, vec![0; count]);
        for (tag, number) in tags.into_iter().zip(numbers).filter(|(tag, _)| *tag != FREE) {
            if let Some(Slot { place, value }) = self.slots.get(number as usize).copied() {
                self.settle(tag, place, number, || key_of(&value));
            }
        }
    }

    /// Puts a slot into a bucket.
    fn settle<'k>(
        &mut self,
        tag: u8,
        place: u32,
        number: u32,
        key: impl FnOnce() -> Option<&'k [u8]>,
    ) {
        let mask = self.tags.len().wrapping_sub(1);
        let mut at = place as usize & mask;
        for _ in 0..PROBES_MAX {
            if let (Some(free @ &mut FREE), Some(target)) =
                (self.tags.get_mut(at), self.numbers.get_mut(at))
            {
                (*free, *target) = (tag, number);
                return;
            }
            at = (at + 1) & mask;
        }
        self.crowded.extend(key().map(|key| (key.into(), number)));
    }
}

/// Bits of the hash that do not choose the bucket.
#[inline]
fn tag_of(hash: u64) -> u8 {
    (hash >> 57) as u8 | 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::hash::key_hash;
    use std::cell::Cell;

    /// Adds keys, finds those and others; no lookup reads more keys than a key has buckets.
    fn check(hash_of: impl Fn(u32) -> u64) -> HashIndex<u32> {
        const COUNT: u32 = 10_000;
        let keys: Vec<[u8; 4]> = (0..COUNT * 2).map(u32::to_le_bytes).collect();
        let key_of = |number: &u32| keys.get(*number as usize).map(<[u8; 4]>::as_slice);
        let find = |map: &HashIndex<u32>, number: u32| {
            let read = Cell::new(0);
            let counted = |other: &u32| {
                read.set(read.get() + 1);
                key_of(other)
            };
            let found = map.find(hash_of(number), &number.to_le_bytes(), counted);
            assert!(read.get() <= PROBES_MAX, "{} keys read for key {number}", read.get());
            found
        };
        let mut map = HashIndex::default();
        for number in 0..COUNT {
            let key = &keys[number as usize];
            assert_eq!(find(&map, number), None, "{number} before it is added");
            assert_eq!(*map.entry(hash_of(number), key, key_of, number), number);
            assert_eq!(*map.entry(hash_of(number), key, key_of, u32::MAX), number, "it has a slot");
        }
        for number in 0..COUNT * 2 {
            assert_eq!(find(&map, number), (number < COUNT).then_some(number));
        }
        assert_eq!(map.len(), COUNT as usize);
        map
    }

    #[test]
    fn the_hash_index_finds_every_key_for_any_distribution_of_hashes() {
        let mut random = fastrand::Rng::with_seed(7);
        let hashes: Vec<u64> = (0..20_000).map(|_| random.u64(..)).collect();
        for mask in [u64::MAX, 0xFFFF, 0xFFFF_FFFF_0000_0000, 0xFFFF_0000, 3, 0] {
            check(|number| hashes[number as usize] & mask);
        }
    }

    #[test]
    fn lookups_read_few_keys_even_if_an_attacker_chose_keys_of_one_hash() {
        let chosen = check(|_| 7);
        assert_eq!(chosen.crowded.len(), chosen.len() - PROBES_MAX, "one hash");
        assert!(
            chosen.tags.len() <= 4 * PROBES_MAX,
            "{} buckets for {PROBES_MAX} keys",
            chosen.tags.len()
        );
        assert!(check(|number| u64::from(number) << 32).crowded.len() > 9_000, "one place");
        let usual = check(|number| key_hash(&number.to_le_bytes()));
        assert!(
            usual.crowded.is_empty(),
            "{} of 10,000 keys that were not chosen",
            usual.crowded.len()
        );
    }
}
