//! The damage found so far. Each place is listed once, so that it is reported once and quarantined at the next commit.

use crate::report::Damage;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Most places listed; further ones are not counted.
const PLACES_MAX: usize = 256;

/// A list that all parts of a store add to.
#[derive(Debug, Default)]
pub(crate) struct DamageList {
    places: Mutex<Vec<Damage>>,
    /// Number of places, which can be read without the lock.
    count: AtomicU32,
    /// How many places a commit has reported, and how many a finished compaction has quarantined.
    reported: AtomicU32,
    merged: AtomicU32,
}

impl DamageList {
    pub(crate) fn add(&self, place: Damage) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() < PLACES_MAX && !places.iter().any(|known| known.is_same_place(&place)) {
            places.push(place);
            self.count.store(places.len() as u32, Ordering::Release);
        }
    }

    /// Whether there are places that an earlier call has not seen.
    pub(crate) fn is_news(&self) -> bool {
        let count = self.count();
        self.reported.swap(count, Ordering::AcqRel) < count
    }

    /// Records that a compaction which knew the first `count` places has finished, so that these are repaired.
    pub(crate) fn merged(&self, count: u32) {
        self.merged.fetch_max(count, Ordering::AcqRel);
    }

    /// Whether known damage remains in the cache.
    pub(crate) fn is_left(&self) -> bool {
        self.count() > self.merged.load(Ordering::Acquire)
    }

    pub(crate) fn places(&self) -> Vec<Damage> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Whether this file has damage.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.count() > 0
            && self
                .places
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .any(|place| place.file == file)
    }
}
