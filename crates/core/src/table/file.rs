//! The file of a table being written. Blocks get their places here, and with them their checksums.

use super::TableMeta;
use super::directory::{BlockRow, Footer, write_rows};
use super::stretch::{RowOf, Stretch};
use crate::format::blob_refs::write_blob_ref;
use crate::format::checksum::{Checksum, Kind};
use crate::format::digest::BlobRef;
use crate::format::file_names::TableName;
use crate::format::file_start::TABLE_START;
use crate::platform::vfs::File;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// Places stretches of blocks one after the other.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) name: TableName,
    checksum: Checksum,
    file: Arc<dyn File>,
    /// Offset of the next block.
    offset: u64,
    /// Whether the file has its start.
    begun: bool,
    key_rows: Vec<BlockRow>,
    value_rows: Vec<BlockRow>,
}

/// What follows the blocks of a table, and what its description has.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(super) first_hashes: Vec<u8>,
    /// Blobs that its entries name.
    pub(super) blobs: BTreeSet<BlobRef>,
    /// Without the numbers of blocks and the directory.
    pub(super) footer: Footer,
    pub(super) first_hash: u32,
    pub(super) last_hash: u32,
}

impl TableFile {
    pub(crate) fn new(name: TableName, file: Arc<dyn File>, checksum: Checksum) -> Self {
        let offset = TABLE_START.len() as u64;
        let (key_rows, value_rows) = (Vec::new(), Vec::new());
        Self { name, checksum, file, offset, begun: false, key_rows, value_rows }
    }

    /// Writes the next stretch, which is packed.
    pub(crate) fn place(&mut self, stretch: &Stretch<'_>) -> io::Result<()> {
        self.add_rows(stretch);
        self.append(&stretch.parts())
    }

    fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        if self.begun {
            return self.file.append(parts);
        }
        let mut begun = Vec::with_capacity(parts.len() + 1);
        begun.push(&TABLE_START[..]);
        begun.extend_from_slice(parts);
        self.file.append(&begun)?;
        self.begun = true;
        Ok(())
    }

    /// Writes the last stretch and the rest, syncs the file and returns its description.
    pub(crate) fn finish(
        mut self,
        stretch: &Stretch<'_>,
        ending: Ending,
        sequence_base: u64,
        (oldest_ms, newest_ms): (u64, u64),
    ) -> io::Result<TableMeta> {
        self.add_rows(stretch);
        let Ending { first_hashes: mut directory, blobs, footer, first_hash, last_hash } = ending;
        let (mut rows, place) = (Vec::new(), (self.offset, &self.checksum));
        write_rows(&self.key_rows, place, &mut rows, &mut directory);
        write_rows(&self.value_rows, place, &mut rows, &mut directory);
        blobs.iter().for_each(|file| write_blob_ref(file, &mut directory));
        let directory_offset = self.offset + rows.len() as u64;
        let footer = Footer {
            key_blocks: self.key_rows.len() as u32,
            value_blocks: self.value_rows.len() as u32,
            blobs: blobs.len() as u32,
            directory_offset,
            directory_checksum: self.checksum.of_part(Kind::Directory, 0, &directory),
            ..footer
        };
        let (end, root) = footer.write(&self.checksum);
        let mut parts = stretch.parts();
        parts.extend([rows.as_slice(), &directory, &end]);
        self.append(&parts)?;
        self.file.sync()?;
        Ok(TableMeta {
            name: self.name,
            bytes: directory_offset + (directory.len() + end.len()) as u64,
            root,
            entries: footer.entries,
            deletes: footer.deletes,
            sequence_base,
            sequence_min: sequence_base + footer.sequence_min,
            sequence_max: sequence_base + footer.sequence_max,
            key_bytes: footer.key_bytes,
            value_bytes: footer.value_bytes,
            blob_bytes: blobs.iter().map(|file| file.bytes).sum(),
            oldest_ms,
            newest_ms,
            first_hash,
            last_hash,
        })
    }

    fn add_rows(&mut self, stretch: &Stretch<'_>) {
        for (row_of, raw_bytes, stored) in stretch.blocks() {
            let row = BlockRow {
                checksum: self.checksum.of_part(Kind::Block, self.offset, stored),
                offset: self.offset,
                stored_bytes: stored.len() as u32,
                raw_bytes: raw_bytes as u32,
            };
            self.offset += stored.len() as u64;
            match row_of {
                RowOf::Keys => self.key_rows.push(row),
                RowOf::Values(number) => self.set_value_row(number as usize, row),
            }
        }
    }

    /// A block of shared values may be placed after blocks with a higher number.
    fn set_value_row(&mut self, number: usize, row: BlockRow) {
        if self.value_rows.len() <= number {
            self.value_rows.resize(number + 1, row);
        }
        if let Some(kept) = self.value_rows.get_mut(number) {
            *kept = row;
        }
    }
}
