//! Loads the directory and the blocks of a table from its file, and reports what is damaged.

use super::{Found, Keys, Loaded, Table};
use crate::format::checksum::Kind;
use crate::format::file_start::TABLE_START;
use crate::format::lz4;
use crate::format::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::platform::failpoints;
use crate::platform::vfs::File;
use crate::report::{Damage, DamagedKeys};
use crate::table::StoredBlock;
use crate::table::directory::{
    BlockRow, Blocks, Directory, FOOTER_BYTES, Footer, PAGE_BYTES_MAX, PAGE_ROWS, PagePlace,
};
use crate::table::key_block::{ENTRIES_MAX, KeyBlock};
use crate::usage::UsageBits;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Most bytes of a block: one long value, or the longest possible keys.
const BLOCK_BYTES_MAX: usize =
    if VALUE_BYTES_MAX > KEYS_BYTES_MAX { VALUE_BYTES_MAX } else { KEYS_BYTES_MAX };
const KEYS_BYTES_MAX: usize = ENTRIES_MAX * (KEY_BYTES_MAX + 64) + 64;

/// How often a failing read is tried.
const READS: u32 = 3;

impl Table {
    /// Reads a key block from the file; `None` = damaged.
    pub(crate) fn read_keys(&self, index: usize) -> Option<Keys> {
        let read = self.try_block(self.key_row(index)?);
        if read.is_none() {
            self.report_keys(index, None);
        }
        let bytes = read?;
        let layout = KeyBlock::parse(&bytes);
        if layout.is_none() {
            self.damaged_layout(index);
        }
        layout.map(|layout| Keys { bytes, layout })
    }

    /// Reads a value block from the file; `None` = damaged.
    pub(crate) fn read_values(&self, index: usize) -> Option<Box<[u8]>> {
        self.values_of(index, |row| self.try_block(row))
    }

    /// Reads a value block into `target`, which has its length; `None` = damaged.
    pub(super) fn read_values_into(&self, index: usize, target: &mut [u8]) -> Option<()> {
        self.values_of(index, |row| self.read_block(row, target))
    }

    /// Reads a value block as it is stored to the start of `target`, and verifies it; `None` = damaged.
    pub(crate) fn read_stored<'t>(
        &self,
        index: usize,
        target: &'t mut Vec<u8>,
    ) -> Option<StoredBlock<'t>> {
        self.values_of(index, |row| {
            let bytes = row.stored_bytes as usize;
            if target.len() < bytes {
                target.try_reserve_exact(bytes - target.len()).ok()?;
                target.resize(bytes, 0);
            }
            let stored = target.get_mut(..bytes)?;
            self.fill(row, stored)?;
            self.count_scanned(bytes);
            Some(StoredBlock { stored, raw_bytes: row.raw_bytes as usize })
        })
    }

    /// Calls `use_values` with a value block that is not cached; `None` = damaged.
    pub(super) fn with_values<R>(
        &self,
        index: usize,
        use_values: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let spare = &self.cache.spare;
        self.values_of(index, |row| {
            self.with_stored(row, |stored| {
                if !row.is_packed() {
                    return Some(use_values(stored));
                }
                spare.with(row.raw_bytes as usize, |raw| {
                    lz4::unpack_into(stored, raw)?;
                    Some(use_values(raw))
                })
            })
        })
    }

    /// What `read` makes of a value block; reports the block if it is damaged.
    fn values_of<R>(&self, index: usize, read: impl FnOnce(BlockRow) -> Option<R>) -> Option<R> {
        let row = self.value_row(index)?;
        let values = read(row);
        if values.is_none() {
            self.report(row.offset, "block of values", None);
        }
        values
    }

    /// Repeats a failing read before the table counts as unreadable.
    fn retry<T>(&self, mut read: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        let mut outcome = read();
        for _ in 1..READS {
            match &outcome {
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => outcome = read(),
                _ => break,
            }
        }
        if outcome.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::UnexpectedEof) {
            self.unreadable.store(true, Ordering::Relaxed);
        }
        if outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            self.gone.store(true, Ordering::Relaxed);
        }
        outcome
    }

    pub(super) fn load(&self) -> Option<Loaded> {
        let loaded = self.file.as_ref().map(|file| self.retry(|| self.load_directory(&**file)));
        if let Some(Ok(Some(directory))) = loaded {
            let usage = Arc::new(UsageBits::new(directory.key_blocks * ENTRIES_MAX));
            return Some(Loaded::new(Arc::new(directory), usage));
        }
        let what = if self.file.is_none() { "missing file" } else { "directory of a table" };
        self.report(self.meta.bytes, what, None);
        None
    }

    /// Whether the file has the start of a table. Lookups do not read it.
    pub(crate) fn has_start(&self) -> bool {
        let start = |file: &Arc<dyn File>| {
            self.retry(|| Ok(*file.read(0, TABLE_START.len())? == *TABLE_START))
        };
        self.file.as_ref().is_some_and(|file| start(file).unwrap_or(false))
    }

    fn load_directory(&self, file: &dyn File) -> io::Result<Option<Directory>> {
        failpoints::panics("read-directory");
        let bytes = self.meta.bytes;
        if file.len()? != bytes || bytes < FOOTER_BYTES as u64 {
            return Ok(None);
        }
        let footer_offset = bytes - FOOTER_BYTES as u64;
        let Some(footer) =
            Footer::read(&file.read(footer_offset, FOOTER_BYTES)?, self.meta.root, &self.checksum)
        else {
            return Ok(None);
        };
        if footer.directory_offset.checked_add(footer.directory_bytes()) != Some(footer_offset) {
            return Ok(None);
        }
        if footer.rows_offset().is_none() {
            return Ok(None);
        }
        let found = file.read(footer.directory_offset, footer.directory_bytes() as usize)?;
        // A sparse file may describe a directory as long as itself.
        let mut directory = Vec::new();
        directory.try_reserve_exact(found.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        directory.extend_from_slice(&found);
        Ok(Directory::new(&directory, &footer, &self.checksum))
    }

    /// Reads a page of rows; `None` = damaged.
    #[cold]
    pub(super) fn read_rows(
        &self,
        directory: &Directory,
        blocks: Blocks,
        number: usize,
    ) -> Option<Vec<BlockRow>> {
        let page = directory.page(blocks, number)?;
        let rows = self.try_rows(directory, page);
        if rows.is_none() {
            let keys = (blocks == Blocks::Keys).then(|| {
                let first_hash = directory.first_hash(number * PAGE_ROWS).unwrap_or(0);
                let last_hash = directory.first_hash((number + 1) * PAGE_ROWS).unwrap_or(u32::MAX);
                DamagedKeys { first_hash, last_hash, ..DamagedKeys::default() }
            });
            self.report(page.offset, "rows of a table", keys);
        }
        rows
    }

    fn try_rows(&self, directory: &Directory, page: PagePlace) -> Option<Vec<BlockRow>> {
        failpoints::panics("read-rows");
        let file = self.file.as_ref()?;
        let mut bytes = [0; PAGE_BYTES_MAX];
        let bytes = bytes.get_mut(..page.bytes)?;
        self.retry(|| file.read_into(page.offset, bytes)).ok()?;
        directory.rows(page, bytes, &self.checksum)
    }

    /// A block as memory of its own; `None` = damaged.
    pub(in crate::table) fn try_block(&self, row: BlockRow) -> Option<Box<[u8]>> {
        if row.is_packed() {
            let raw = self.with_stored(row, |stored| lz4::unpack(stored, row.raw_bytes as usize));
            return raw.map(Vec::into_boxed_slice);
        }
        let mut block = Vec::new();
        block.try_reserve_exact(row.stored_bytes as usize).ok()?;
        block.resize(row.stored_bytes as usize, 0);
        self.fill(row, &mut block)?;
        Some(block.into_boxed_slice())
    }

    /// Reads a block into `target`, which has its length; `None` = damaged.
    fn read_block(&self, row: BlockRow, target: &mut [u8]) -> Option<()> {
        if row.is_packed() {
            return self.with_stored(row, |stored| lz4::unpack_into(stored, target));
        }
        self.fill(row, target)
    }

    /// Calls `use_stored` with the verified bytes of a block as they are stored.
    fn with_stored<R>(
        &self,
        row: BlockRow,
        use_stored: impl FnOnce(&[u8]) -> Option<R>,
    ) -> Option<R> {
        self.cache.spare.with(row.stored_bytes as usize, |stored| {
            self.fill(row, stored)?;
            use_stored(stored)
        })
    }

    /// Copies the stored bytes of a block and verifies the copy, in this order.
    fn fill(&self, row: BlockRow, target: &mut [u8]) -> Option<()> {
        failpoints::panics("read-block");
        if row.stored_bytes.max(row.raw_bytes) as usize > BLOCK_BYTES_MAX {
            return None;
        }
        let file = self.file.as_ref()?;
        self.retry(|| file.read_into(row.offset, target)).ok()?;
        (self.checksum.of_part(Kind::Block, row.offset, target) == row.checksum).then_some(())
    }

    pub(super) fn damaged_layout(&self, index: usize) -> Found<'static> {
        let offset = self.key_row(index).map_or(0, |row| row.offset);
        self.report(offset, "layout of a block of keys", self.hashes_of(index));
        Found::Damaged
    }

    /// Reports a damaged key block; `entries` is the number of entries that it had.
    pub(in crate::table) fn report_keys(&self, index: usize, entries: Option<u64>) {
        let Some(row) = self.key_row(index) else { return };
        self.report(
            row.offset,
            "block of keys",
            self.hashes_of(index).map(|keys| DamagedKeys { entries, ..keys }),
        );
    }

    pub(in crate::table) fn report(&self, offset: u64, what: &str, keys: Option<DamagedKeys>) {
        if self.gone.load(Ordering::Relaxed) {
            return;
        }
        let namespace = Some(self.origin.namespace.to_string());
        let place = Damage::new(self.origin.name_of(self.meta.name), offset, what)
            .in_layer(&self.origin.layer);
        self.damage.add(Damage { namespace, keys, ..place });
    }

    /// The range of hashes in a key block.
    fn hashes_of(&self, index: usize) -> Option<DamagedKeys> {
        let (first_hash, last_hash) = self.directory()?.bounds(index);
        Some(DamagedKeys { first_hash, last_hash, ..DamagedKeys::default() })
    }
}
