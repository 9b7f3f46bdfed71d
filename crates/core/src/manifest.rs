//! The manifest: which tables are live and which logs are not yet folded. `manifest-<n+1>` is published by creating it
//! only if it does not exist: the one compare-and-swap of the store. Whoever loses starts again from the new manifest.
//!
//! ```text
//! one frame (kind VMAN, tag = format), file number = n; body:
//! u64 id of the cache | u64 id of this manifest | u64 parent | u64 last order | u32 next writer
//! u32 count | count x log                                logs that are not folded yet
//! u32 count | count x log                                logs that this manifest has folded and its parent had not
//! u32 count | count x namespace                          sorted by name
//! log: u32 writer | u64 id | u64 end                     it went to `end` at least
//! namespace: text name | text version | u64 latest order | u64 hidden below | u32 count | count x table (104 bytes)
//! ```
//! `parent` is the id of the manifest that this one was built on; 0 for the first, and for one that starts afresh.
//!
//! Every log below `next writer` that is not listed is done, whatever files of it may still lie about. Those from it on
//! count if they were begun on this manifest or its parent (`state/lineage.rs`).

mod publish;

pub(crate) use publish::{Published, publish, publish_as};

use crate::format::bytes::{Reader, put_text};
use crate::table::TableMeta;

/// The committed state of a folder, as far as it is folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Number in the file's name; 0 = there is none yet.
    pub(crate) number: u64,
    /// A random number of the cache; the keyed checksums of its other files depend on it.
    pub(crate) cache_id: u64,
    /// A random number of this manifest, which the logs that are begun on it carry.
    pub(crate) id: u64,
    /// The id of the manifest it was built on.
    pub(crate) parent: u64,
    /// Newest order that was seen when it was written.
    pub(crate) last_order: u64,
    /// Numbers of writers below this are used up.
    pub(crate) next_writer: u32,
    pub(crate) open_logs: Vec<KnownLog>,
    /// What became part of this manifest.
    pub(crate) folded_logs: Vec<KnownLog>,
    pub(crate) namespaces: Vec<ManifestNamespace>,
}

/// A log as another file refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownLog {
    pub(crate) writer: u32,
    /// A random number, which its start carries: a log of another cache, or of a copy of this one, may have the number.
    pub(crate) id: u64,
    /// It went this far at that time, and commits elsewhere may rest on it; 0 if it had no commits.
    pub(crate) end: u64,
}

impl KnownLog {
    /// Bytes of one.
    const BYTES: usize = 20;

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.writer.to_le_bytes());
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&self.end.to_le_bytes());
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self { writer: reader.u32()?, id: reader.u64()?, end: reader.amount()? })
    }

    fn write_all(logs: &[Self], out: &mut Vec<u8>) {
        out.reserve(logs.len() * Self::BYTES);
        out.extend_from_slice(&(logs.len() as u32).to_le_bytes());
        logs.iter().for_each(|log| log.write(out));
    }

    fn read_all(reader: &mut Reader<'_>) -> Option<Vec<Self>> {
        (0..reader.u32()?).map(|_| Self::read(reader)).collect()
    }
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
        let Self { number, cache_id, id, .. } = *self;
        *self == Self { number, cache_id, id, ..Self::default() }
    }

    /// Whether a log of that number may count; those that may not are folded, or were never of use.
    pub(crate) fn is_open(&self, writer: u32) -> bool {
        writer >= self.next_writer || self.open_logs.iter().any(|log| log.writer == writer)
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
        for number in [self.cache_id, self.id, self.parent, self.last_order] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.next_writer.to_le_bytes());
        KnownLog::write_all(&self.open_logs, &mut out);
        KnownLog::write_all(&self.folded_logs, &mut out);
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
        let (cache_id, id, parent) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let (last_order, next_writer) = (reader.u64()?, reader.u32()?);
        let mut manifest = Self { number, cache_id, id, parent, last_order, next_writer, ..Self::default() };
        manifest.open_logs = KnownLog::read_all(&mut reader)?;
        manifest.folded_logs = KnownLog::read_all(&mut reader)?;
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
