//! Reads a table from front to back, as compaction does: block after block, nothing kept longer than needed.

use super::key_block::{KeyBlock, Stored};
use super::reader::{Table, Value};
use crate::block_cache::BlockCache;
use crate::format::hash::key_hash;
use std::sync::Arc;

/// The entry a scan stands at.
#[derive(Debug)]
pub(crate) struct ScanEntry<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) order: u64,
    pub(crate) stored: Stored<'a>,
}

/// A position in a table.
#[derive(Debug)]
pub(crate) struct TableScan {
    table: Arc<Table>,
    blocks: Arc<BlockCache>,
    block_index: usize,
    block: Option<(Arc<[u8]>, KeyBlock)>,
    entry_index: usize,
    /// Hash of the entry the scan stands at; `None` at the end.
    pub(crate) hash: Option<u64>,
    /// Ranges of hashes, end excluded (`None` = to the last), whose entries are lost with a damaged block.
    pub(crate) holes: Vec<(u64, Option<u64>)>,
}

impl TableScan {
    /// Begins at the first entry whose hash is not below `from`.
    pub(crate) fn new(table: Arc<Table>, blocks: Arc<BlockCache>, from: u64) -> Self {
        let start = table.directory().map(|directory| directory.key_block_of(from).unwrap_or(0));
        let mut scan = Self {
            block_index: start.unwrap_or(0),
            holes: if start.is_none() { vec![(0, None)] } else { Vec::new() },
            table,
            blocks,
            block: None,
            entry_index: 0,
            hash: None,
        };
        if start.is_some() {
            scan.load();
            while scan.hash.is_some_and(|hash| hash < from) {
                scan.next();
            }
        }
        scan
    }

    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The entry the scan stands at.
    pub(crate) fn entry(&self) -> Option<ScanEntry<'_>> {
        let (block, layout) = self.block.as_ref()?;
        let (key, stored) = layout.entry(block, self.entry_index)?;
        let order = self.table.meta.order_base.saturating_add(layout.order(block, self.entry_index)?);
        Some(ScanEntry { key, order, stored })
    }

    /// Bytes of a placed value of the entry the scan stands at; `None` = damaged.
    pub(crate) fn value(&self, block: u32, offset: u32, bytes: u32) -> Option<Value> {
        self.table.value(&self.blocks, block as usize, offset as usize, bytes as usize)
    }

    /// Goes to the next entry.
    pub(crate) fn next(&mut self) {
        self.entry_index += 1;
        let more = self.block.as_ref().is_some_and(|(_, layout)| self.entry_index < layout.count);
        if more {
            self.hash = self.entry_hash();
            if self.hash.is_none() {
                self.skip_block();
            }
        } else {
            self.block_index += 1;
            self.load();
        }
    }

    fn entry_hash(&self) -> Option<u64> {
        self.entry().map(|entry| key_hash(entry.key))
    }

    /// Loads the block at `block_index`, or the next one that can be read.
    fn load(&mut self) {
        loop {
            self.block = None;
            self.entry_index = 0;
            self.hash = None;
            let key_blocks = self.table.directory().map_or(0, |directory| directory.key_blocks);
            if self.block_index >= key_blocks {
                return;
            }
            let block = self.table.key_block(&self.blocks, self.block_index);
            self.block = block.and_then(|block| KeyBlock::parse(&block).map(|layout| (block, layout)));
            self.hash = self.entry_hash();
            if self.hash.is_some() {
                return;
            }
            self.add_hole();
            self.block_index += 1;
        }
    }

    fn skip_block(&mut self) {
        self.add_hole();
        self.block_index += 1;
        self.load();
    }

    fn add_hole(&mut self) {
        if let Some(directory) = self.table.directory() {
            let next = self.block_index + 1;
            let end = (next < directory.key_blocks).then(|| directory.first_hash(next));
            self.holes.push((directory.first_hash(self.block_index), end));
        }
    }
}
