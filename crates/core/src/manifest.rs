//! The manifest: which tables are live and which logs are not yet folded. `manifest-<n+1>` is published by creating it
//! only if it does not exist: the one compare-and-swap of the store. Whoever loses starts again from the new manifest.
//!
//! ```text
//! one frame (kind VMAN, tag = format), file number = n; body:
//! u64 id of the cache | u64 last order | u32 next writer
//! u32 count | count x open log                           logs that are not folded yet
//! u32 count | count x namespace                          sorted by name
//! open log: u32 writer | u64 id | u64 from | u64 end      it counts from `from` on and went to `end` at least
//! namespace: text name | text version | u64 latest order | u64 hidden below | u32 count | count x table (104 bytes)
//! ```
//! Every log below `next writer` that is not listed is done, whatever files of it may still lie about; those from it on
//! count whole. What counts must carry the id: a log of another cache may have the same number.

mod publish;

pub(crate) use publish::{Published, publish, publish_as};

use crate::format::bytes::{Reader, put_text};
use crate::table::TableMeta;

/// The committed state of a folder, as far as it is folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Number in the file's name; 0 = there is none yet.
    pub(crate) number: u64,
    /// A random number that logs of this cache carry.
    pub(crate) id: u64,
    /// Newest order that was seen when it was written.
    pub(crate) last_order: u64,
    /// Numbers of writers below this are used up.
    pub(crate) next_writer: u32,
    pub(crate) open_logs: Vec<OpenLog>,
    pub(crate) namespaces: Vec<ManifestNamespace>,
}

/// A log that still counts, from an offset on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenLog {
    pub(crate) writer: u32,
    /// What its start says: the id of the cache, but for a writer that lived on when the cache got another one.
    pub(crate) id: u64,
    pub(crate) from: u64,
    /// It went this far when the manifest was written; commits that are folded may rest on it.
    pub(crate) end: u64,
}

/// One namespace at its current version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManifestNamespace {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Order of its newest commit.
    pub(crate) latest: u64,
    /// Entries of lower order are of another version, evicted or lost: nobody sees them.
    pub(crate) hidden_below: u64,
    pub(crate) tables: Vec<TableMeta>,
}

impl Manifest {
    /// Whether it is the first of a cache, as far as its content says.
    pub(crate) fn is_first(&self) -> bool {
        *self == Self { number: self.number, id: self.id, ..Self::default() }
    }

    /// What is known of the log of `writer`; `None` = it is folded.
    pub(crate) fn open_log(&self, writer: u32) -> Option<OpenLog> {
        let listed = self.open_logs.iter().find(|log| log.writer == writer).copied();
        listed.or_else(|| (writer >= self.next_writer).then_some(OpenLog { writer, id: self.id, from: 0, end: 0 }))
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &TableMeta> {
        self.namespaces.iter().flat_map(|namespace| &namespace.tables)
    }

    /// Bytes of all tables.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.tables().map(|table| table.bytes).sum()
    }

    /// The same with the files they name; one that several tables name counts for each.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.table_bytes().saturating_add(self.tables().map(|table| table.file_bytes).sum())
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.last_order.to_le_bytes());
        out.extend_from_slice(&self.next_writer.to_le_bytes());
        out.extend_from_slice(&(self.open_logs.len() as u32).to_le_bytes());
        for log in &self.open_logs {
            out.extend_from_slice(&log.writer.to_le_bytes());
            for number in [log.id, log.from, log.end] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        out.extend_from_slice(&(self.namespaces.len() as u32).to_le_bytes());
        for namespace in &self.namespaces {
            put_text(&mut out, &namespace.name);
            put_text(&mut out, &namespace.version);
            out.extend_from_slice(&namespace.latest.to_le_bytes());
            out.extend_from_slice(&namespace.hidden_below.to_le_bytes());
            out.extend_from_slice(&(namespace.tables.len() as u32).to_le_bytes());
            for table in &namespace.tables {
                table.write(&mut out);
            }
        }
        out
    }

    /// Reads a body whose checksum was good.
    pub(crate) fn read(number: u64, body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let (id, last_order, next_writer) = (reader.u64()?, reader.u64()?, reader.u32()?);
        let mut manifest = Self { number, id, last_order, next_writer, ..Self::default() };
        for _ in 0..reader.u32()? {
            let (writer, id, from, end) = (reader.u32()?, reader.u64()?, reader.amount()?, reader.amount()?);
            manifest.open_logs.push(OpenLog { writer, id, from, end });
        }
        for _ in 0..reader.u32()? {
            let (name, version) = (reader.text()?.to_owned(), reader.text()?.to_owned());
            let (latest, hidden_below) = (reader.u64()?, reader.u64()?);
            let mut tables = Vec::new();
            for _ in 0..reader.u32()? {
                tables.push(TableMeta::read(&mut reader)?);
            }
            manifest.namespaces.push(ManifestNamespace { name, version, latest, hidden_below, tables });
        }
        reader.is_empty().then_some(manifest)
    }
}
