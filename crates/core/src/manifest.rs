//! The manifest lists the live tables and the logs that are not checkpointed yet. A process publishes `manifest-<n+1>`
//! by creating that name, which fails if it exists: the only compare-and-swap between processes
//! (`manifest/publish.rs`). The process that loses begins again from the new manifest.
//!
//! ```text
//! one frame (kind VMAN, tag = format), file number = n; body:
//! u64 id of the cache | u64 id of this manifest | u64 parent | u64 last sequence number | u32 next writer
//! u32 1 = there were layers below the cache, 0 = there were none
//! u32 count | count x log                                logs that are not checkpointed yet
//! u32 count | count x log                                checkpointed by this manifest and not by its parent
//! u32 count | count x namespace                          sorted by name
//! log: u32 writer | u64 id | u64 end                     it has at least `end` bytes
//! namespace: text name | text version | u64 latest sequence number | u64 hidden below
//!            | u32 1 = it hides layers, 0 = it does not | u32 count | count x table (112 bytes)
//! ```
//! `parent` is the id of the manifest that this one was built on. It is 0 for the first manifest of a cache, and after
//! a reset.
//!
//! A log below `next writer` that is not listed is done, even if its files still exist. A log from `next writer` on
//! counts if it was begun on this manifest or its parent (`state/lineage.rs`).

mod publish;

pub(crate) use publish::{Published, encode, publish, publish_as};

use crate::format::bytes::{Reader, put_text};
use crate::format::digest::Digest;
use crate::format::file_names::FileName;
use crate::platform::vfs::{Stat, Vfs};
use crate::table::TableMeta;
use std::io;

/// The committed state of a cache without the entries of open logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Number in the file's name; 0 = there is no manifest yet.
    pub(crate) number: u64,
    /// A random number of the cache; the MACs of its other files depend on it.
    pub(crate) cache_id: u64,
    /// A random number of this manifest, which logs begun on it name as their base.
    pub(crate) id: u64,
    /// The id of the manifest that it was built on.
    pub(crate) parent: u64,
    /// Highest sequence number known when the manifest was written.
    pub(crate) last_sequence: u64,
    /// Writers below this number are used.
    pub(crate) next_writer: u32,
    /// Whether a log or a compaction had layers below the cache. Then deletes may hide entries of layers.
    pub(crate) layered: bool,
    pub(crate) open_logs: Vec<KnownLog>,
    /// Logs whose entries moved into the tables of this manifest.
    pub(crate) checkpointed_logs: Vec<KnownLog>,
    pub(crate) namespaces: Vec<ManifestNamespace>,
}

/// The file of a manifest, as it was before the manifest was read; number 0 = there was none. Another copy of the
/// cache, or one that was created again, may have another manifest under the same number.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ManifestFile {
    pub(crate) number: u64,
    pub(crate) stat: Stat,
}

impl ManifestFile {
    /// Whether its name still has this file; true if there was none.
    pub(crate) fn is_in_place(&self, vfs: &dyn Vfs) -> io::Result<bool> {
        Ok(self.number == 0 || vfs.stat(&self.name())? == Some(self.stat))
    }

    pub(crate) fn name(&self) -> String {
        FileName::Manifest(self.number).to_string()
    }
}

/// A log as another file refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownLog {
    pub(crate) writer: u32,
    /// A random number in the log's start. It differs for a log of the same number in another cache or in a copy of
    /// this one.
    pub(crate) id: u64,
    /// The log had this many bytes when it was referred to, and commits elsewhere may rest on them; 0 = it had no
    /// commits.
    pub(crate) end: u64,
}

impl KnownLog {
    /// Bytes of one encoded reference.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ManifestNamespace {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Sequence number of its newest commit.
    pub(crate) latest: u64,
    /// Entries below this sequence number are hidden: they are of another version, evicted, or unrecoverable.
    pub(crate) hidden_below: u64,
    /// Whether it hides the layers below: nothing shows any more which of their keys it had.
    pub(crate) hides_layers: bool,
    pub(crate) tables: Vec<TableMeta>,
}

impl Manifest {
    /// Whether its content is that of the first manifest of a cache.
    pub(crate) fn is_first(&self) -> bool {
        let Self { number, cache_id, id, .. } = *self;
        *self == Self { number, cache_id, id, ..Self::default() }
    }

    /// Whether it is the manifest of a sealed layer. Other caches have an id, which is never 0.
    pub(crate) fn is_layer(&self) -> bool {
        self.number == 1 && self.cache_id == 0
    }

    /// The digest of the content by which reports name a layer.
    pub(crate) fn layer_id(&self) -> String {
        Digest::of(&self.write()).to_string().chars().take(16).collect()
    }

    /// Whether a log of that number may count. Otherwise it is checkpointed, or it never had a commit.
    pub(crate) fn is_open(&self, writer: u32) -> bool {
        writer >= self.next_writer || self.open_logs.iter().any(|log| log.writer == writer)
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &TableMeta> {
        self.namespaces.iter().flat_map(|namespace| &namespace.tables)
    }

    /// The highest sequence number that anything in it has. In a sound manifest that is its last one; in a planted one,
    /// commits below the others would never be seen.
    pub(crate) fn sequence_max(&self) -> u64 {
        let namespaces =
            self.namespaces.iter().map(|one| one.latest.max(one.hidden_below.saturating_sub(1)));
        namespaces
            .chain(self.tables().map(|table| table.sequence_max))
            .fold(self.last_sequence, u64::max)
    }

    /// Bytes of all tables.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.tables().map(|table| table.bytes).sum()
    }

    /// Bytes of all tables and of the blobs they name. A blob counts once for each table that names it.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.table_bytes().saturating_add(self.tables().map(|table| table.blob_bytes).sum())
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [self.cache_id, self.id, self.parent, self.last_sequence] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.next_writer.to_le_bytes());
        out.extend_from_slice(&u32::from(self.layered).to_le_bytes());
        KnownLog::write_all(&self.open_logs, &mut out);
        KnownLog::write_all(&self.checkpointed_logs, &mut out);
        out.extend_from_slice(&(self.namespaces.len() as u32).to_le_bytes());
        for namespace in &self.namespaces {
            put_text(&mut out, &namespace.name);
            put_text(&mut out, &namespace.version);
            out.extend_from_slice(&namespace.latest.to_le_bytes());
            out.extend_from_slice(&namespace.hidden_below.to_le_bytes());
            out.extend_from_slice(&u32::from(namespace.hides_layers).to_le_bytes());
            out.extend_from_slice(&(namespace.tables.len() as u32).to_le_bytes());
            for table in &namespace.tables {
                table.write(&mut out);
            }
        }
        out
    }

    /// Reads a body whose checksum was correct.
    pub(crate) fn read(number: u64, body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let (cache_id, id, parent) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let (last_sequence, next_writer, layered) =
            (reader.u64()?, reader.u32()?, reader.u32()? != 0);
        let mut manifest = Self {
            number,
            cache_id,
            id,
            parent,
            last_sequence,
            next_writer,
            layered,
            ..Self::default()
        };
        manifest.open_logs = KnownLog::read_all(&mut reader)?;
        manifest.checkpointed_logs = KnownLog::read_all(&mut reader)?;
        for _ in 0..reader.u32()? {
            let (name, version) = (reader.text()?.to_owned(), reader.text()?.to_owned());
            let (latest, hidden_below, hides_layers) =
                (reader.u64()?, reader.u64()?, reader.u32()? != 0);
            let mut tables = Vec::new();
            for _ in 0..reader.u32()? {
                tables.push(TableMeta::read(&mut reader)?);
            }
            manifest.namespaces.push(ManifestNamespace {
                name,
                version,
                latest,
                hidden_below,
                hides_layers,
                tables,
            });
        }
        reader.is_empty().then_some(manifest)
    }
}
