//! Many lookups in one state, whatever other threads commit meanwhile. Results are returned in the order of the keys.
//! After the first value that is a blob, results are kept until all keys were looked up. Reading a blob takes long, and
//! commits need the lock on the state.

use crate::blobs::each_in_parallel;
use crate::error::Result;
use crate::platform::sync::RwLockReadGuard;
use crate::read::lookup::lookup;
use crate::state::State;
use crate::state::context::Context;
use crate::store::Store;

/// Blobs that each thread reads before their values are passed on: more would be held in memory at the same time.
const READS_PER_THREAD: usize = 4;

/// Lookups in one namespace of one state.
pub(crate) struct MultiGet<'s, E> {
    store: &'s Store,
    context: &'s Context,
    id: u32,
    state: RwLockReadGuard<'s, State>,
    each: E,
    deferred: Vec<Deferred>,
}

/// A result that follows one that is not read yet.
enum Deferred {
    Known(Option<Vec<u8>>),
    File { hash: u64, key: Vec<u8>, refs: Vec<u8> },
}

impl<'s, E: FnMut(Option<&[u8]>)> MultiGet<'s, E> {
    pub(crate) fn new(
        store: &'s Store,
        context: &'s Context,
        id: u32,
        state: RwLockReadGuard<'s, State>,
        each: E,
    ) -> Self {
        Self { store, context, id, state, each, deferred: Vec::new() }
    }

    /// Adds a result that is already known.
    pub(crate) fn add(&mut self, value: Option<&[u8]>) {
        if self.deferred.is_empty() {
            (self.each)(value);
        } else {
            self.deferred.push(Deferred::Known(value.map(<[u8]>::to_vec)));
        }
    }

    /// Looks a key up and adds the result.
    pub(crate) fn look_up(&mut self, hash: u64, key: &[u8]) {
        let Self { state, id, each, deferred, .. } = self;
        match lookup(state, *id, hash, key) {
            Some(hit) if hit.names_blobs => deferred.push(match hit.read(<[u8]>::to_vec) {
                Some(refs) => Deferred::File { hash, key: key.to_vec(), refs },
                None => Deferred::Known(None),
            }),
            hit if deferred.is_empty() => {
                if hit.and_then(|hit| hit.read(|value| each(Some(value)))).is_none() {
                    each(None);
                }
            }
            hit => deferred.push(Deferred::Known(hit.and_then(|hit| hit.read(<[u8]>::to_vec)))),
        }
    }

    /// Returns the results that were kept.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { store, context, id, state, mut each, deferred } = self;
        store.after_reads(context, id, state)?;
        let pool = &*context.pool;
        for round in deferred.chunks(READS_PER_THREAD * pool.threads()) {
            let read = each_in_parallel(pool, round, |answer| match answer {
                Deferred::Known(_) => Ok(None),
                Deferred::File { hash, key, refs } => store.blob_value(id, *hash, key, refs),
            })?;
            for (answer, read) in round.iter().zip(read) {
                match answer {
                    Deferred::Known(value) => each(value.as_deref()),
                    Deferred::File { .. } => each(read.as_deref()),
                }
            }
        }
        Ok(())
    }
}
