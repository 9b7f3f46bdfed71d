//! Finds the newest entry of a key: first in the memtable, then in the tables from the newest to the oldest, until no
//! table can have a newer one. A table that cannot be read ends the search, because an older value must not take its
//! place.

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
    pub(crate) is_filed: bool,
}

#[derive(Debug)]
enum Place<'a> {
    Memory(&'a [u8]),
    Table(Value<'a>),
}

impl Hit<'_> {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.place {
            Place::Memory(bytes) => bytes,
            Place::Table(value) => value.bytes(),
        }
    }
}

/// The value of `key`; `None` is a miss.
#[inline]
pub(crate) fn lookup<'a>(state: &'a State, id: u32, hash: u64, key: &[u8]) -> Option<Hit<'a>> {
    failpoints::panics("lookup");
    let namespace = state.namespace(id).filter(|_| !state.lost)?;
    let mut best_order = None;
    let mut best = None;
    if let Some(found) = state.memory_get(namespace, hash, key)
        && found.order >= namespace.hidden_below
    {
        best_order = Some(found.order);
        let entry = found.entry()?;
        let is_filed = entry.kind == Kind::PutFiled;
        best = entry.live_value().map(|value| Hit { place: Place::Memory(value), is_filed });
    }
    let mut wasted = 0;
    for live in namespace.which.tables(&namespace.tables, upper(hash)) {
        let newest = live.table.meta.order_max;
        if newest < namespace.hidden_below || best_order.is_some_and(|order| order >= newest) {
            break;
        }
        let (order, value) = match live.table.get(hash, key) {
            Found::Miss => {
                wasted += 1;
                continue;
            }
            Found::Damaged => return None,
            Found::Deleted { order } => (order, None),
            Found::Value { order, value, is_filed } => (order, Some(Hit { place: Place::Table(value), is_filed })),
        };
        if order >= namespace.hidden_below && best_order.is_none_or(|best| order > best) {
            best_order = Some(order);
            best = value;
        }
    }
    // A lookup without an index reads at least one table.
    if wasted > 1 {
        namespace.which.count_wasted(wasted);
    }
    best
}
