//! Damage met so far: every place once, so that each is told once and set aside at the next commit.

use crate::report::Damage;
use std::sync::{Mutex, PoisonError};

/// More places than this are counted as one heap of rubble.
const PLACES_MAX: usize = 256;

/// A list that all parts of a store add to.
#[derive(Debug, Default)]
pub(crate) struct DamageList {
    places: Mutex<Vec<Damage>>,
}

impl DamageList {
    pub(crate) fn add(&self, file: String, offset: u64, what: &str) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let known = places.iter().any(|place| place.file == file && place.offset == offset && place.what == what);
        if !known && places.len() < PLACES_MAX {
            places.push(Damage { file, offset, what: what.to_owned() });
        }
    }

    pub(crate) fn places(&self) -> Vec<Damage> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
