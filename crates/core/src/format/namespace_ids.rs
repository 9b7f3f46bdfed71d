//! Identities of namespaces: one for each pair of name and version, with a number by which states find it. It lives as
//! long as a handle, a batch or a state refers to it; then its number is reused. So a process may use any number of
//! versions one after the other, and a number never stands for two at once.

use crate::error::{Error, Result};
use crate::format::NAME_BYTES_MAX;
use crate::platform::sync::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, Weak};

/// Begins the names of the namespaces that Varve keeps about a cache, such as the history of builds.
const RESERVED: &str = "varve:";

/// All identities in use in one store.
#[derive(Debug, Default)]
pub(crate) struct NamespaceIds {
    in_use: Arc<Mutex<InUse>>,
}

#[derive(Debug, Default)]
struct InUse {
    /// Identities by name and version.
    ids: HashMap<String, HashMap<String, Weak<NamespaceId>>>,
    /// Numbers below `numbers` that are not in use.
    free: Vec<u32>,
    numbers: u32,
}

/// Name and version of a namespace.
pub(crate) struct NamespaceId {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) version: String,
    in_use: Arc<Mutex<InUse>>,
}

impl NamespaceIds {
    /// The identity of a name and a version.
    pub(crate) fn id(&self, name: &str, version: &str) -> Result<Arc<NamespaceId>> {
        for (field, text) in [("namespace", name), ("version", version)] {
            if text.len() > NAME_BYTES_MAX {
                return Err(Error::TooLong {
                    field,
                    bytes: text.len() as u64,
                    bytes_max: NAME_BYTES_MAX as u64,
                }
                .boxed());
            }
        }
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) =
            in_use.ids.get(name).and_then(|versions| versions.get(version)).and_then(Weak::upgrade)
        {
            return Ok(id);
        }
        let number = in_use.free.pop().unwrap_or_else(|| {
            in_use.numbers += 1;
            in_use.numbers - 1
        });
        let (name, version, shared) =
            (name.to_owned(), version.to_owned(), Arc::clone(&self.in_use));
        let id = Arc::new(NamespaceId { number, name, version, in_use: shared });
        in_use
            .ids
            .entry(id.name.clone())
            .or_default()
            .insert(id.version.clone(), Arc::downgrade(&id));
        Ok(id)
    }

    /// Number of identities in use, and most that were in use at the same time.
    #[cfg(test)]
    fn counts(&self) -> (usize, u32) {
        let in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        (in_use.ids.values().map(HashMap::len).sum(), in_use.numbers)
    }
}

impl NamespaceId {
    /// Whether Varve put its entries, and not the caller.
    pub(crate) fn is_reserved(&self) -> bool {
        self.name.starts_with(RESERVED)
    }

    /// Name and version, as usage records have them.
    pub(crate) fn space(&self) -> (String, String) {
        (self.name.clone(), self.version.clone())
    }
}

impl Drop for NamespaceId {
    fn drop(&mut self) {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(versions) = in_use.ids.get_mut(&self.name) {
            // Another thread may have created a new identity of this pair since the last reference to this one was
            // dropped.
            if versions.get(&self.version).is_some_and(|id| std::ptr::eq(id.as_ptr(), self)) {
                versions.remove(&self.version);
            }
            if versions.is_empty() {
                in_use.ids.remove(&self.name);
            }
        }
        in_use.free.push(self.number);
    }
}

impl fmt::Debug for NamespaceId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} '{}' '{}'", self.number, self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_identity_lives_while_referred_to_and_its_number_is_reused_afterwards() {
        let ids = NamespaceIds::default();
        let first = ids.id("n", "1").unwrap();
        let same = ids.id("n", "1").unwrap();
        let second = ids.id("n", "2").unwrap();
        assert!(Arc::ptr_eq(&first, &same));
        assert_ne!(first.number, second.number);
        drop(first);
        assert_eq!(ids.counts(), (2, 2), "it is in use");
        drop(same);
        assert_eq!(ids.counts(), (1, 2));
        let third = ids.id("other", "1").unwrap();
        assert_ne!(third.number, second.number);
        assert_eq!(ids.counts(), (2, 2), "the number of the first is used again");
    }
}
