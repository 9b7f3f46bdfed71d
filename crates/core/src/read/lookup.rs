//! Finds the newest entry of a key: first in the memtable, then in the tables from the newest to the oldest. It stops
//! once no table can have a newer one, and goes on with the layers if the cache has no entry of the key. A table that
//! cannot be read ends the search, because an older value must not take its place.

use crate::format::entry::Kind;
use crate::format::hash::upper;
use crate::platform::failpoints;
use crate::state::State;
use crate::table::{Found, Value};

/// The value of a key.
#[derive(Debug)]
pub(crate) struct Hit<'a> {
    place: Place<'a>,
    /// Whether the value names blobs: see `format/blob_refs.rs`.
    pub(crate) names_blobs: bool,
}

#[derive(Debug)]
enum Place<'a> {
    Memtable(&'a [u8]),
    Table(Value<'a>),
}

impl Hit<'_> {
    /// What `use_bytes` makes of the value; `None` = damaged.
    #[inline]
    pub(crate) fn read<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> Option<R> {
        match &self.place {
            Place::Memtable(bytes) => Some(use_bytes(bytes)),
            Place::Table(value) => value.read(use_bytes),
        }
    }

    /// Copies the value to the start of `target` if it fits there, and returns its length; `None` = damaged.
    #[inline]
    pub(crate) fn read_into(&self, target: &mut [u8]) -> Option<usize> {
        match &self.place {
            Place::Memtable(bytes) => Some(copy_fitting(bytes, target)),
            Place::Table(value) => {
                let bytes = value.len();
                target
                    .get_mut(..bytes)
                    .map_or(Some(()), |target| value.copy_to(target))
                    .map(|()| bytes)
            }
        }
    }
}

/// Copies `value` to the start of `target` if it fits there, and returns its length.
#[inline]
pub(crate) fn copy_fitting(value: &[u8], target: &mut [u8]) -> usize {
    if let Some(target) = target.get_mut(..value.len()) {
        target.copy_from_slice(value);
    }
    value.len()
}

/// The value of `key`; `None` is a miss.
#[inline]
pub(crate) fn lookup<'a>(state: &'a State, id: u32, hash: u64, key: &[u8]) -> Option<Hit<'a>> {
    failpoints::panics("lookup");
    if state.unrecoverable {
        return None;
    }
    let Some(namespace) = state.namespace(id) else { return in_layers(state, id, hash, key) };
    let mut best_sequence = None;
    let mut best = None;
    if let Some(found) = state.memtable_get(namespace, hash, key)
        && found.sequence >= namespace.hidden_below
    {
        best_sequence = Some(found.sequence);
        let entry = found.entry()?;
        let names_blobs = entry.kind == Kind::PutWithBlobs;
        best = entry.live_value().map(|value| Hit { place: Place::Memtable(value), names_blobs });
    }
    let mut wasted = 0;
    for live in namespace.selector.tables(&namespace.tables, upper(hash)) {
        let newest = live.table.meta.sequence_max;
        if newest < namespace.hidden_below
            || best_sequence.is_some_and(|sequence| sequence >= newest)
        {
            break;
        }
        if !live.table.meta.spans(upper(hash)) {
            continue;
        }
        let (sequence, value) = match live.table.get(hash, key) {
            Found::Miss => {
                wasted += 1;
                continue;
            }
            Found::Damaged => return None,
            Found::Deleted { sequence } => (sequence, None),
            Found::Value { sequence, value, names_blobs } => {
                (sequence, Some(Hit { place: Place::Table(value), names_blobs }))
            }
        };
        if sequence >= namespace.hidden_below && best_sequence.is_none_or(|best| sequence > best) {
            best_sequence = Some(sequence);
            best = value;
        }
    }
    // A lookup without an index reads at least one table.
    if wasted > 1 {
        namespace.selector.count_wasted(wasted);
    }
    if best_sequence.is_none() && !namespace.hides_layers {
        in_layers(state, id, hash, key)
    } else {
        best
    }
}

/// The value of a key that the cache itself does not have.
fn in_layers<'a>(state: &'a State, id: u32, hash: u64, key: &[u8]) -> Option<Hit<'a>> {
    match state.layers.answer(id, hash, key) {
        Found::Value { value, names_blobs, .. } => {
            Some(Hit { place: Place::Table(value), names_blobs })
        }
        Found::Miss | Found::Deleted { .. } | Found::Damaged => None,
    }
}
