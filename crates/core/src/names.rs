//! Numbers for namespaces, the same for the life of a store: one for each pair of name and version.

use crate::error::{Error, Result};
use crate::format::NAME_BYTES_MAX;
use crate::format::entry::NAMESPACES_MAX;
use crate::sync::RwLock;
use crate::sync::atomic::{AtomicUsize, Ordering};
use std::sync::PoisonError;

/// All namespaces that this process has heard of.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: RwLock<Vec<(String, String)>>,
    count: AtomicUsize,
}

impl Names {
    /// The number of a namespace.
    pub(crate) fn id(&self, name: &str, version: &str) -> Result<u16> {
        for (field, text) in [("namespace", name), ("version", version)] {
            if text.len() > NAME_BYTES_MAX {
                return Err(Error::TooLong { field, bytes: text.len() as u64, bytes_max: NAME_BYTES_MAX as u64 });
            }
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().position(|(other, other_version)| other == name && other_version == version);
        let id = found.unwrap_or(known.len());
        if id >= NAMESPACES_MAX {
            return Err(Error::Exhausted { field: "namespaces of one process", limit: NAMESPACES_MAX as u64 });
        }
        if found.is_none() {
            known.push((name.to_owned(), version.to_owned()));
            self.count.store(known.len(), Ordering::Release);
        }
        Ok(id as u16)
    }

    /// Name and version of a number.
    pub(crate) fn get(&self, id: u16) -> Option<(String, String)> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(usize::from(id)).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }
}
