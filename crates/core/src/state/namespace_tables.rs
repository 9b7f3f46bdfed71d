//! Which tables of a namespace a lookup reads, newest first.

use super::table_index::TableIndex;
use crate::state::LiveTable;
use crate::table::Table;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An index pays once the tables read in vain, times this number, exceed all keys. Building it costs about 20 ns a key,
/// reading a table about 80 ns.
const KEYS_PER_WASTED: u64 = 4;

/// Fewest tables for which an index is built.
const TABLES_MIN: usize = 2;

/// Chooses the tables of a lookup: all of them, or those that the index names and those that are newer than it.
#[derive(Debug, Default)]
pub(crate) struct TableSelector {
    index: Option<TableIndex>,
    /// Positions of the tables in the index, by their number, and of all others; both newest first.
    indexed: Vec<u32>,
    fresh: Vec<u32>,
    /// Keys of all tables.
    keys: u64,
    wasted: AtomicU64,
}

/// Tables without an index and with one. Most lookups have none, so they take the first.
enum Chosen<'a, I> {
    All(std::slice::Iter<'a, LiveTable>),
    Indexed(I),
}

impl<'a, I: Iterator<Item = &'a LiveTable>> Iterator for Chosen<'a, I> {
    type Item = &'a LiveTable;

    #[inline]
    fn next(&mut self) -> Option<&'a LiveTable> {
        match self {
            Self::All(tables) => tables.next(),
            Self::Indexed(tables) => tables.next(),
        }
    }
}

impl TableSelector {
    /// The tables that may have a key of this hash, the newest first.
    #[inline]
    pub(crate) fn tables<'a>(
        &'a self,
        tables: &'a [LiveTable],
        hash: u32,
    ) -> impl Iterator<Item = &'a LiveTable> {
        let Some(index) = &self.index else { return Chosen::All(tables.iter()) };
        let position = |number: usize| self.indexed.get(number).copied();
        let mut named = index.tables_of(hash).filter_map(position).peekable();
        let mut fresh = self.fresh.iter().copied().peekable();
        let both = std::iter::from_fn(move || match (named.peek(), fresh.peek()) {
            (Some(named_next), Some(fresh_next)) if fresh_next < named_next => fresh.next(),
            (Some(_), _) => named.next(),
            (None, _) => fresh.next(),
        });
        Chosen::Indexed(both.filter_map(|position| tables.get(position as usize)))
    }

    /// Records that a table of this many keys was inserted at `position`.
    pub(crate) fn inserted(&mut self, position: usize, keys: u64) {
        self.keys += keys;
        if self.index.is_none() {
            return;
        }
        let position = position as u32;
        for other in self.indexed.iter_mut().chain(&mut self.fresh) {
            *other += u32::from(*other >= position);
        }
        let at = self.fresh.partition_point(|other| *other < position);
        self.fresh.insert(at, position);
    }

    /// Records that tables were read in vain.
    #[inline]
    pub(crate) fn count_wasted(&self, tables: u64) {
        self.wasted.fetch_add(tables, Ordering::Relaxed);
    }

    /// Whether an index costs less than the lookups that were wasted, and fits into `bytes_max`. Resets the count.
    pub(crate) fn is_due(&self, tables: &[LiveTable], bytes_max: usize) -> bool {
        let asked = if self.index.is_none() { tables.len() } else { self.fresh.len() };
        if asked < TABLES_MIN {
            return false;
        }
        let due = self.wasted.load(Ordering::Relaxed) > self.keys / KEYS_PER_WASTED
            && TableIndex::bytes_for(self.keys) <= bytes_max as u64;
        due && self.wasted.swap(0, Ordering::Relaxed) > 0
    }

    /// Installs an index of the tables `indexed`, if these are still all tables.
    pub(crate) fn install(
        &mut self,
        tables: &[LiveTable],
        indexed: &[Arc<Table>],
        index: TableIndex,
        covered: &[bool],
    ) {
        let same = tables.len() == indexed.len()
            && tables.iter().zip(indexed).all(|(live, table)| live.table.meta == table.meta);
        if !same {
            return;
        }
        let positions = 0..tables.len() as u32;
        self.indexed = positions.clone().collect();
        let is_covered =
            |position: &u32| covered.get(*position as usize).is_some_and(|covered| *covered);
        self.fresh = positions.filter(|position| !is_covered(position)).collect();
        self.index = Some(index);
    }
}
