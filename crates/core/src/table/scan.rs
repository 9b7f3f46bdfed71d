//! Reads a table from front to back, as compaction does; blocks are not cached.

use super::TableMeta;
use super::reader::{Keys, Table};
use crate::format::file_names::TableName;
use std::sync::Arc;

/// A range of hashes whose entries are lost in a damaged block; the end is excluded (`None` = up to the last hash).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hole {
    pub(crate) start: u32,
    pub(crate) end: Option<u32>,
    /// Entries up to this sequence number may have been overwritten in the block, except those of the same table, which
    /// has a key only once.
    pub(crate) sequence_max: u64,
    pub(crate) level: u32,
    pub(crate) table: TableName,
}

impl Hole {
    /// Whether a lost entry may be newer than one with that hash and sequence number, in another table of that level or
    /// in a log.
    pub(crate) fn may_have_newer(&self, hash: u32, level: u32, sequence: u64) -> bool {
        let is_older = level > self.level || level == self.level && sequence <= self.sequence_max;
        is_older && self.start <= hash && self.end.is_none_or(|end| hash < end)
    }
}

/// A position in a table.
#[derive(Debug)]
pub(crate) struct TableScan {
    table: Arc<Table>,
    next_block: usize,
}

impl TableScan {
    /// Begins at the first block that may have a hash from `from` on.
    pub(crate) fn new(table: Arc<Table>, from: u32) -> Self {
        let next_block = table.directory().map_or(0, |directory| directory.first_block_of(from));
        Self { table, next_block }
    }

    /// The next block that can be read; `holes` receives those that cannot.
    pub(crate) fn next(&mut self, holes: &mut Vec<Hole>) -> Option<Keys> {
        let TableMeta { sequence_max, name: table, first_hash, last_hash, .. } = self.table.meta;
        let level = self.table.origin.level;
        let Some(directory) = self.table.directory() else {
            if self.next_block == 0 {
                holes.push(Hole {
                    start: first_hash,
                    end: last_hash.checked_add(1),
                    sequence_max,
                    level,
                    table,
                });
                self.next_block = 1;
            }
            return None;
        };
        while self.next_block < directory.key_blocks {
            let index = self.next_block;
            self.next_block += 1;
            if let Some(keys) = self.table.read_keys(index) {
                self.table.count_scanned(keys.bytes.len());
                return Some(keys);
            }
            let start = directory.first_hash(index).unwrap_or(0);
            // This block may have entries with the first hash of the next one.
            let end = directory.first_hash(index + 1).and_then(|next| next.checked_add(1));
            holes.push(Hole { start, end, sequence_max, level, table });
        }
        None
    }

    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }
}
