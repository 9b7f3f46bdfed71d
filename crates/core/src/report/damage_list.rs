//! Damage met so far: every place once, so that each is told once and set aside at the next commit.

use crate::report::Damage;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// More places than this are counted as one heap of rubble.
const PLACES_MAX: usize = 256;

/// A list that all parts of a store add to.
#[derive(Debug, Default)]
pub(crate) struct DamageList {
    places: Mutex<Vec<Damage>>,
    /// How many there are, for those who only ask whether there is something new.
    count: AtomicU32,
    /// How many of them a commit has spoken of, and how many a compaction knew of that went through.
    told: AtomicU32,
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

    /// Whether there are places that this was not asked about before.
    pub(crate) fn is_news(&self) -> bool {
        let count = self.count();
        self.told.swap(count, Ordering::AcqRel) < count
    }

    /// A compaction that knew of the first `count` places went through: what was damaged there is gone.
    pub(crate) fn merged(&self, count: u32) {
        self.merged.fetch_max(count, Ordering::AcqRel);
    }

    /// Whether the folder still holds damage that is known.
    pub(crate) fn is_left(&self) -> bool {
        self.count() > self.merged.load(Ordering::Acquire)
    }

    pub(crate) fn places(&self) -> Vec<Damage> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Whether something in this file is damaged.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.count() > 0
            && self.places.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|place| place.file == file)
    }
}
