//! Many lookups in one state, whatever other threads commit meanwhile. Results are returned in the order of the keys.
//! After the first value that is a blob, results are kept until all keys were looked up: reading a blob takes long, and
//! commits need the lock on the state.

use crate::error::Result;
use crate::platform::sync::RwLockReadGuard;
use crate::read::lookup::lookup;
use crate::state::State;
use crate::state::context::Context;
use crate::store::Store;

/// Lookups in one namespace of one state.
pub(crate) struct Reader<'s, E> {
    store: &'s Store,
    context: &'s Context,
    id: u32,
    state: RwLockReadGuard<'s, State>,
    each: E,
    waiting: Vec<Waiting>,
}

/// A result that follows one that is not read yet.
enum Waiting {
    Known(Option<Vec<u8>>),
    File { hash: u64, key: Vec<u8>, filed: Vec<u8> },
}

impl<'s, E: FnMut(Option<&[u8]>)> Reader<'s, E> {
    pub(crate) fn new(
        store: &'s Store,
        context: &'s Context,
        id: u32,
        state: RwLockReadGuard<'s, State>,
        each: E,
    ) -> Self {
        Self { store, context, id, state, each, waiting: Vec::new() }
    }

    /// Adds a result that is already known.
    pub(crate) fn answer(&mut self, value: Option<&[u8]>) {
        if self.waiting.is_empty() {
            (self.each)(value);
        } else {
            self.waiting.push(Waiting::Known(value.map(<[u8]>::to_vec)));
        }
    }

    /// Looks a key up and adds the result.
    pub(crate) fn ask(&mut self, hash: u64, key: &[u8]) {
        let Self { state, id, each, waiting, .. } = self;
        match lookup(state, *id, hash, key) {
            Some(hit) if hit.is_filed => {
                waiting.push(Waiting::File { hash, key: key.to_vec(), filed: hit.bytes().to_vec() });
            }
            hit if waiting.is_empty() => each(hit.as_ref().map(|hit| hit.bytes())),
            hit => waiting.push(Waiting::Known(hit.map(|hit| hit.bytes().to_vec()))),
        }
    }

    /// Returns the results that were kept.
    pub(crate) fn end(self) -> Result<()> {
        let Self { store, context, id, state, mut each, waiting } = self;
        store.tidy_after_reads(context, id, state)?;
        for answer in waiting {
            match answer {
                Waiting::Known(value) => each(value.as_deref()),
                Waiting::File { hash, key, filed } => each(store.filed_value(id, hash, &key, &filed)?.as_deref()),
            }
        }
        Ok(())
    }
}
