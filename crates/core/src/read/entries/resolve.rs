//! Finds the newest entry of each key in a range.

use super::gather::{BATCH_SEQUENCE, Range, Row};
use crate::format::hash_sort::{Item, hash_of, same_hash};
use crate::table::{Hole, NAMES_BLOBS, OWN_BLOCK_BYTES, ScanStored, Table, ValueBytes};
use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::ops::ControlFlow;

/// If more entries share one hash, they are sorted in place.
const ROWS_MAX: usize = 1 << 12;

/// Receives the newest entry of each key.
pub(crate) type EachKey<'e> = dyn FnMut(Visit<'_>) -> ControlFlow<()> + 'e;

/// Visits the keys of ranges.
#[derive(Debug)]
pub(crate) struct Entries {
    hidden_below: u64,
    values: Values,
}

/// The newest entry of a key.
#[derive(Debug)]
pub(crate) struct Visit<'v> {
    pub(crate) hash: u32,
    pub(crate) key: &'v [u8],
    pub(crate) sequence: u64,
    /// Number of older entries with the same key.
    pub(crate) shadowed: u64,
    /// Whether the entry is invisible: it is of another version, or an unreadable part of a table may have overwritten
    /// it.
    pub(crate) is_hidden: bool,
    row: Row<'v>,
    values: &'v mut Values,
}

impl<'v> Visit<'v> {
    /// The value; `None` = deleted or unreadable.
    #[inline]
    pub(crate) fn value(self) -> Option<&'v [u8]> {
        match self.row.stored {
            ScanStored::Deleted => None,
            ScanStored::Inline(bytes) | ScanStored::WithBlobs(bytes) => Some(bytes),
            ScanStored::Placed { block, offset, bytes } => {
                self.values.read(&self.row, block & !NAMES_BLOBS, offset, bytes)
            }
        }
    }

    /// The value for another table; `None` = deleted or unreadable. A block that has only this value stays as it is.
    #[inline]
    pub(crate) fn stored_value(self) -> Option<ValueBytes<'v, 'static>> {
        match self.row.alone_in_block() {
            Some((table, block)) => {
                table.read_stored(block, &mut self.values.stored).map(ValueBytes::Block)
            }
            None => self.value().map(ValueBytes::Passing),
        }
    }

    /// Whether the value names blobs.
    #[inline]
    pub(crate) fn names_blobs(&self) -> bool {
        match self.row.stored {
            ScanStored::Placed { block, .. } => block & NAMES_BLOBS != 0,
            ScanStored::WithBlobs(_) => true,
            ScanStored::Inline(_) | ScanStored::Deleted => false,
        }
    }

    /// Bytes that the value takes in its table or log, without reading it; `None` = deleted.
    pub(crate) fn stored_bytes(&self) -> Option<u64> {
        let bytes = self.row.stored.bytes()? as u64;
        let (ScanStored::Placed { block, .. }, Some((table, _))) =
            (self.row.stored, self.row.table)
        else {
            return Some(bytes);
        };
        let block = table.value_row((block & !NAMES_BLOBS) as usize);
        Some(block.map_or(bytes, |block| {
            bytes * u64::from(block.stored_bytes) / u64::from(block.raw_bytes.max(1))
        }))
    }

    /// The time of the oldest commit of the entry's table; `None` = the entry is in a log.
    pub(crate) fn table_ms(&self) -> Option<u64> {
        self.row.table.map(|(table, _)| table.meta.oldest_ms)
    }

    /// The level of its table; 0 = the cache itself.
    pub(crate) fn level(&self) -> u32 {
        self.row.level()
    }

    /// Length of the value, without reading it; `None` = deleted.
    pub(crate) fn value_bytes(&self) -> Option<usize> {
        self.row.stored.bytes()
    }
}

impl Entries {
    pub(crate) fn new(hidden_below: u64) -> Self {
        Self { hidden_below: hidden_below.min(BATCH_SEQUENCE), values: Values::default() }
    }

    /// Calls `each` for every key of a range, until it breaks.
    pub(crate) fn visit(&mut self, range: &Range<'_>, each: &mut EachKey<'_>) -> ControlFlow<()> {
        let mut rows = Vec::new();
        for items in range.rest().chunk_by(same_hash) {
            let hash = items.first().map_or(0, |item| hash_of(*item));
            if let [one] = items {
                if let Some(row) = range.row(*one) {
                    self.step(range, hash, row, 0, each)?;
                }
                continue;
            }
            if let Some(items) = range.many_by_key(hash, items) {
                for items in items.chunk_by(|left, right| same_key_of(range, *left, *right)) {
                    let (newest, older) =
                        (items.first().and_then(|item| range.row(*item)), items.len() as u64 - 1);
                    newest.map_or(ControlFlow::Continue(()), |row| {
                        self.step(range, hash, row, older, each)
                    })?;
                }
                continue;
            }
            by_key(range, items, &mut rows);
            for rows in rows.chunk_by(same_key) {
                if let [newest, older @ ..] = rows {
                    self.step(range, hash, *newest, older.len() as u64, each)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn step<'v>(
        &'v mut self,
        range: &'v Range<'_>,
        hash: u32,
        row: Row<'v>,
        shadowed: u64,
        each: &mut EachKey<'_>,
    ) -> ControlFlow<()> {
        let is_same = |hole: &Hole, table: &Table| {
            table.origin.level == hole.level && table.meta.name == hole.table
        };
        let is_lost = |hole: &Hole| {
            hole.may_have_newer(hash, row.level(), row.sequence)
                && row.table.is_none_or(|(table, _)| !is_same(hole, table))
        };
        let is_hidden = row.is_below(self.hidden_below) || range.holes.iter().any(is_lost);
        let Row { key, sequence, .. } = row;
        each(Visit { hash, key, sequence, shadowed, is_hidden, row, values: &mut self.values })
    }
}

impl<'r> Row<'r> {
    pub(super) fn level(&self) -> u32 {
        self.table.map_or(0, |(table, _)| table.origin.level)
    }

    /// The block that has this value and no other. A value that names blobs is none: it is read, not only copied.
    #[inline]
    fn alone_in_block(&self) -> Option<(&'r Table, usize)> {
        let (ScanStored::Placed { block, offset: 0, bytes }, Some((table, _))) =
            (self.stored, self.table)
        else {
            return None;
        };
        if (bytes as usize) < OWN_BLOCK_BYTES || block & NAMES_BLOBS != 0 {
            return None;
        }
        let row = table.value_row(block as usize)?;
        (row.raw_bytes == bytes).then_some((table, block as usize))
    }

    /// Whether the sequence number hides the entry; it is one of the cache, and has no meaning for layers.
    fn is_below(&self, hidden_below: u64) -> bool {
        self.sequence < hidden_below && self.level() == 0
    }
}

/// Bytes of keys and values in a range, and how many of them are garbage, for each source that is a table. Garbage is
/// overwritten entries and deletes.
pub(crate) fn garbage(range: &Range<'_>, sources: usize) -> Vec<(u64, u64)> {
    let mut counts = vec![(0, 0); sources];
    let mut count = |row: &Row<'_>, is_newest: bool| {
        let Some((all, garbage)) =
            row.table.and_then(|(_, source)| counts.get_mut(source as usize))
        else {
            return;
        };
        let value_bytes = row.stored.bytes();
        let bytes = row.key.len() as u64 + value_bytes.unwrap_or(0) as u64;
        *all += bytes;
        *garbage += if is_newest && value_bytes.is_some() { 0 } else { bytes };
    };
    let mut rows = Vec::new();
    for items in range.rest().chunk_by(same_hash) {
        let hash = items.first().map_or(0, |item| hash_of(*item));
        if let Some(items) = range.many_by_key(hash, items) {
            let mut key = None;
            for row in items.iter().filter_map(|item| range.row(*item)) {
                count(&row, key.replace(row.key) != Some(row.key));
            }
            continue;
        }
        by_key(range, items, &mut rows);
        for rows in rows.chunk_by(same_key) {
            rows.iter().enumerate().for_each(|(age, row)| count(row, age == 0));
        }
    }
    counts
}

/// Entries of one hash sorted by key and newest first; of one commit, the entry added last comes first.
fn by_key<'r>(range: &'r Range<'_>, items: &[Item], rows: &mut Vec<Row<'r>>) {
    rows.clear();
    rows.extend(items.iter().rev().filter_map(|item| range.row(*item)));
    rows.sort_by(by_key_and_age);
}

impl Range<'_> {
    /// The items that were not visited yet.
    fn rest(&self) -> &[Item] {
        self.items.get(self.passed..).unwrap_or_default()
    }

    /// Items of one hash sorted as `by_key` does, if they are many: rows of all of them would take many times their
    /// memory. Only a forger, or a key written again and again, makes so many. `None` = they are few.
    fn many_by_key<'i>(&self, hash: u32, items: &'i [Item]) -> Option<Cow<'i, [Item]>> {
        if self.by_key == Some(hash) {
            return Some(items.into());
        }
        (items.len() > ROWS_MAX).then(|| self.sorted(items).into())
    }

    fn sorted(&self, items: &[Item]) -> Vec<Item> {
        let mut sorted = Vec::with_capacity(items.len());
        sorted.extend(items.iter().filter(|item| self.row(**item).is_some()));
        // For equal rows the item itself shows which came last, so the sort needs no second copy.
        sorted.sort_unstable_by(|left, right| match (self.row(*left), self.row(*right)) {
            (Some(left_row), Some(right_row)) => {
                by_key_and_age(&left_row, &right_row).then(right.cmp(left))
            }
            _ => right.cmp(left),
        });
        sorted
    }

    /// Skips all entries up to a key of a hash. Many entries of that hash are sorted once and in place, so the next
    /// visit begins after the key without sorting again.
    pub(crate) fn pass(&mut self, hash: u32, key: &[u8]) {
        let start = self.passed + self.rest().partition_point(|item| hash_of(*item) < hash);
        let length = self
            .items
            .get(start..)
            .unwrap_or_default()
            .partition_point(|item| hash_of(*item) == hash);
        self.passed = start;
        if self.by_key != Some(hash) {
            let items = self.items.get(start..start + length).unwrap_or_default();
            if items.len() <= ROWS_MAX {
                return;
            }
            let sorted = self.sorted(items);
            self.items.splice(start..start + length, sorted);
            self.by_key = Some(hash);
        }
        let is_before = |item: &Item| {
            hash_of(*item) == hash && self.row(*item).is_some_and(|row| row.key <= key)
        };
        self.passed += self.rest().partition_point(is_before);
    }
}

fn by_key_and_age(left: &Row<'_>, right: &Row<'_>) -> Ordering {
    let age = |row: &Row<'_>| (Reverse(row.level()), row.sequence);
    left.key.cmp(right.key).then_with(|| age(right).cmp(&age(left)))
}

fn same_key_of(range: &Range<'_>, left: Item, right: Item) -> bool {
    range.row(left).zip(range.row(right)).is_some_and(|(left, right)| left.key == right.key)
}

fn same_key(left: &Row<'_>, right: &Row<'_>) -> bool {
    left.key == right.key
}

#[derive(Debug, Default)]
struct Values {
    /// A block that has one value, as it is stored.
    stored: Vec<u8>,
    /// The value block read last from each source; the next value is usually in the same block.
    last: Vec<Option<(u32, Box<[u8]>)>>,
}

impl Values {
    fn read(&mut self, row: &Row<'_>, block: u32, offset: u32, bytes: u32) -> Option<&[u8]> {
        let (table, source) = row.table?;
        let source = source as usize;
        if self.last.len() <= source {
            self.last.resize_with(source + 1, || None);
        }
        let last = self.last.get_mut(source)?;
        if last.as_ref().is_none_or(|(index, _)| *index != block) {
            *last = table.read_values(block as usize).map(|bytes| (block, bytes));
            table.count_scanned(last.as_ref().map_or(0, |(_, bytes)| bytes.len()));
        }
        let (_, all) = last.as_ref()?;
        let start = offset as usize;
        all.get(start..start.checked_add(bytes as usize)?)
    }
}
