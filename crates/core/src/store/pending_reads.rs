//! Lookups of many keys on another thread than the handle's, begun by
//! [`Handle::begin_reads`](crate::Handle::begin_reads).

use crate::error::Result;
use crate::format::hash::key_hash;
use crate::format::namespace_ids::NamespaceId;
use crate::store::Store;
use std::sync::Arc;

/// Lookups for any thread. What the handle had buffered is answered already; the rest sees the store when it is asked.
#[derive(Debug)]
pub struct PendingReads {
    pub(crate) store: Arc<Store>,
    pub(crate) namespace: Arc<NamespaceId>,
    pub(crate) questions: Vec<Question>,
}

/// One lookup.
#[derive(Debug)]
pub(crate) enum Question {
    /// What the handle had buffered: a value, or `None` where it was deleted.
    Answered(Option<Vec<u8>>),
    /// A key to ask the store for.
    Open(Vec<u8>),
}

impl PendingReads {
    /// How many keys there are.
    pub fn count(&self) -> usize {
        self.questions.len()
    }

    /// Calls `each` once per key, in their order, with the bytes of its entry, which live only for that call; `None` is
    /// a miss.
    pub fn run(self, each: impl FnMut(Option<&[u8]>)) -> Result<()> {
        let mut reader = self.store.reader(self.namespace.number, each)?;
        for question in &self.questions {
            match question {
                Question::Answered(value) => reader.answer(value.as_deref()),
                Question::Open(key) => reader.ask(key_hash(key), key),
            }
        }
        reader.end()
    }
}
