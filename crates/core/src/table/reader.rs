//! Reads a table: one block of keys, then at most one block of values. A block is copied first and the copy is
//! verified, so that whatever happens to the file later cannot change what was found good.

use super::TableMeta;
use super::directory::{BlockRow, Directory, FOOTER_BYTES, Footer};
use super::key_block::{KeyBlock, Stored};
use crate::block_cache::{BlockCache, BlockId};
use crate::damage::DamageList;
use crate::format::hash::checksum;
use crate::vfs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// A table that is open for reading.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) meta: TableMeta,
    /// Tells tables apart in the block cache, also over several stores.
    id: u64,
    /// `None` = the file is missing.
    file: Option<Arc<dyn File>>,
    /// `None` = damaged.
    directory: OnceLock<Option<Directory>>,
    damage: Arc<DamageList>,
}

/// What a table has for a key.
#[derive(Debug)]
pub(crate) enum Found {
    Miss,
    Value {
        order: u64,
        value: Value,
    },
    Deleted {
        order: u64,
    },
    /// It may have had something, newer than any other table: nobody may answer instead.
    Damaged,
}

/// Bytes of a value inside the block they came from.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    block: Arc<[u8]>,
    start: usize,
    end: usize,
}

impl Value {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.block.get(self.start..self.end).unwrap_or_default()
    }
}

impl Table {
    pub(crate) fn new(meta: TableMeta, file: Option<Arc<dyn File>>, damage: Arc<DamageList>) -> Self {
        Self { meta, id: NEXT_ID.fetch_add(1, Ordering::Relaxed), file, directory: OnceLock::new(), damage }
    }

    /// The newest entry of `key` in this table.
    pub(crate) fn get(&self, blocks: &BlockCache, hash: u64, key: &[u8]) -> Found {
        let Some(directory) = self.directory() else { return Found::Damaged };
        let Some(index) = directory.key_block_of(hash) else { return Found::Miss };
        let Some(block) = self.key_block(blocks, index) else { return Found::Damaged };
        let Some(layout) = KeyBlock::parse(&block) else { return self.damaged_layout(index) };
        let Some(at) = layout.find(&block, hash, key) else { return Found::Miss };
        let (Some(order), Some((_, stored))) = (layout.order(&block, at), layout.entry(&block, at)) else {
            return self.damaged_layout(index);
        };
        let order = self.meta.order_base.saturating_add(order);
        match stored {
            Stored::Deleted => Found::Deleted { order },
            Stored::Inline(bytes) => {
                let start = bytes.as_ptr().addr() - block.as_ptr().addr();
                let end = start + bytes.len();
                Found::Value { order, value: Value { block: Arc::clone(&block), start, end } }
            }
            Stored::Placed { block: index, offset, bytes } => {
                match self.value(blocks, index as usize, offset as usize, bytes as usize) {
                    Some(value) => Found::Value { order, value },
                    None => Found::Damaged,
                }
            }
        }
    }

    /// Bytes of a placed value; `None` = damaged.
    pub(crate) fn value(&self, blocks: &BlockCache, index: usize, offset: usize, bytes: usize) -> Option<Value> {
        let directory = self.directory()?;
        let id = BlockId { table: self.id, index: index as u32, holds_keys: false };
        let block = match blocks.get(id) {
            Some(block) => block,
            None => {
                let block = self.block(directory.value_row(index)?, "block of values")?;
                blocks.insert(id, &block);
                block
            }
        };
        let end = offset.checked_add(bytes).filter(|end| *end <= block.len())?;
        Some(Value { block, start: offset, end })
    }

    /// A verified key block; `None` = damaged.
    pub(crate) fn key_block(&self, blocks: &BlockCache, index: usize) -> Option<Arc<[u8]>> {
        let id = BlockId { table: self.id, index: index as u32, holds_keys: true };
        if let Some(block) = blocks.get(id) {
            return Some(block);
        }
        let block = self.block(self.directory()?.key_row(index)?, "block of keys")?;
        blocks.insert(id, &block);
        Some(block)
    }

    /// The directories, read at the first use; `None` = damaged.
    pub(crate) fn directory(&self) -> Option<&Directory> {
        let load = || {
            let loaded = self.file.as_ref().map(|file| self.load_directory(&**file));
            if let Some(Ok(Some(directory))) = loaded {
                return Some(directory);
            }
            let what = if self.file.is_none() { "missing file" } else { "directory of a table" };
            self.damage.add(self.meta.name.to_string(), self.meta.bytes, what);
            None
        };
        self.directory.get_or_init(load).as_ref()
    }

    fn load_directory(&self, file: &dyn File) -> io::Result<Option<Directory>> {
        let bytes = self.meta.bytes;
        if file.len()? != bytes || bytes < FOOTER_BYTES as u64 {
            return Ok(None);
        }
        let footer_offset = bytes - FOOTER_BYTES as u64;
        let Some(footer) = Footer::read(&file.read(footer_offset, FOOTER_BYTES)?, self.meta.root) else {
            return Ok(None);
        };
        if footer.directory_offset.checked_add(footer.directory_bytes()) != Some(footer_offset) {
            return Ok(None);
        }
        let directory = file.read(footer.directory_offset, footer.directory_bytes() as usize)?.into_owned();
        Ok(Directory::new(directory, &footer))
    }

    /// Reads, copies, verifies and unpacks a block, in this order.
    fn block(&self, row: BlockRow, what: &str) -> Option<Arc<[u8]>> {
        let block = self.try_block(row);
        if block.is_none() {
            self.damage.add(self.meta.name.to_string(), row.offset, what);
        }
        block
    }

    fn try_block(&self, row: BlockRow) -> Option<Arc<[u8]>> {
        let stored = self.file.as_ref()?.read(row.offset, row.stored_bytes as usize).ok()?;
        if row.stored_bytes == row.raw_bytes {
            let copy: Arc<[u8]> = Arc::from(&*stored);
            return (checksum(row.offset, &copy) == row.checksum).then_some(copy);
        }
        let copy = stored.into_owned();
        if checksum(row.offset, &copy) != row.checksum {
            return None;
        }
        let raw = lz4_flex::block::decompress(&copy, row.raw_bytes as usize).ok()?;
        (raw.len() == row.raw_bytes as usize).then(|| Arc::from(raw))
    }

    fn damaged_layout(&self, index: usize) -> Found {
        self.damage.add(self.meta.name.to_string(), index as u64, "layout of a block of keys");
        Found::Damaged
    }

    /// Reads every byte. Calls `each` with bytes read; damage goes to the list.
    pub(crate) fn verify(&self, each: &mut dyn FnMut(u64) -> bool) -> bool {
        let Some(directory) = self.directory() else { return true };
        let mut place = 0;
        let mut rows: Vec<(BlockRow, &str)> = Vec::new();
        rows.extend(
            (0..directory.key_blocks).filter_map(|index| directory.key_row(index)).map(|row| (row, "block of keys")),
        );
        rows.extend(
            (0..directory.value_blocks)
                .filter_map(|index| directory.value_row(index))
                .map(|row| (row, "block of values")),
        );
        rows.sort_unstable_by_key(|(row, _)| row.offset);
        for (row, what) in rows {
            if row.offset != place {
                self.damage.add(self.meta.name.to_string(), place, "gap between blocks");
            }
            place = row.offset + u64::from(row.stored_bytes);
            self.block(row, what);
            if !each(u64::from(row.stored_bytes)) {
                return false;
            }
        }
        true
    }
}
