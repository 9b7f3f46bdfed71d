//! Files with a name of the format that Varve did not write. They stay, and are reported.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Most names listed.
const NAMES_MAX: usize = 256;

/// A list that all parts of a store add to.
#[derive(Debug, Default)]
pub(crate) struct ForeignFiles {
    names: Mutex<BTreeSet<String>>,
}

impl ForeignFiles {
    pub(crate) fn add(&self, name: &str) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() < NAMES_MAX {
            names.insert(name.to_owned());
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
