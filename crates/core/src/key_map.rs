//! A map by key hash whose keys live elsewhere: the caller says whether a slot is the key that is meant. Hashes are
//! xxh3 already, so the map takes them as they are.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const NO_SLOT: u32 = u32::MAX;

/// Slots by key hash; keys of equal hash are chained.
#[derive(Debug)]
pub(crate) struct KeyMap<T> {
    first: HashMap<u64, u32, BuildHasherDefault<AsIs>>,
    slots: Vec<Slot<T>>,
}

#[derive(Debug)]
struct Slot<T> {
    next: u32,
    value: T,
}

impl<T> Default for KeyMap<T> {
    fn default() -> Self {
        Self { first: HashMap::default(), slots: Vec::new() }
    }
}

impl<T: Copy> KeyMap<T> {
    /// The slot of this hash for which `is_key` holds.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_key: impl Fn(&T) -> bool) -> Option<T> {
        self.find_at(hash, is_key).map(|(_, value)| value)
    }

    /// The same with the number of the slot.
    #[inline]
    pub(crate) fn find_at(&self, hash: u64, is_key: impl Fn(&T) -> bool) -> Option<(usize, T)> {
        let mut index = *self.first.get(&hash)?;
        while let Some(slot) = self.slots.get(index as usize) {
            if is_key(&slot.value) {
                return Some((index as usize, slot.value));
            }
            index = slot.next;
        }
        None
    }

    /// How many slots there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The slot of that number.
    pub(crate) fn get(&self, index: usize) -> Option<T> {
        self.slots.get(index).map(|slot| slot.value)
    }

    /// The slot to change, or a new one with `value` where there is none.
    pub(crate) fn entry(&mut self, hash: u64, is_key: impl Fn(&T) -> bool, value: T) -> (&mut T, bool) {
        let first = *self.first.entry(hash).or_insert(NO_SLOT);
        let mut index = first;
        while let Some(slot) = self.slots.get(index as usize) {
            if is_key(&slot.value) {
                break;
            }
            index = slot.next;
        }
        let is_new = index == NO_SLOT;
        if is_new {
            index = self.slots.len() as u32;
            self.slots.push(Slot { next: first, value });
            self.first.insert(hash, index);
        }
        match self.slots.get_mut(index as usize) {
            Some(slot) => (&mut slot.value, is_new),
            None => unreachable!("the slot was found or pushed just now"),
        }
    }
}

/// Takes a u64 that is a hash already.
#[derive(Debug, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        debug_assert!(false, "only u64 keys: {bytes:?}");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_equal_hash_are_kept_apart() {
        let mut map = KeyMap::default();
        for value in 0..1_000u32 {
            let (slot, is_new) = map.entry(u64::from(value % 3), |other| *other == value, value);
            assert!(is_new && *slot == value);
        }
        for value in 0..1_000u32 {
            assert_eq!(map.find(u64::from(value % 3), |other| *other == value), Some(value));
        }
        assert_eq!(map.find(1, |other| *other == 0), None);
    }
}
