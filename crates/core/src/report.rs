//! What the store reports. Plain numbers, which the bindings convert to JSON.

pub(crate) mod damage_list;
pub(crate) mod foreign_files;

use serde::{Deserialize, Serialize};

/// The outcome of one commit.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitReport {
    /// Entries put and deleted.
    pub entries: u64,
    /// Bytes appended to the log plus bytes of tables.
    pub bytes: u64,
    /// Whether a checkpoint or compaction is due: call `Store::compact` off the critical path.
    pub maintenance_due: bool,
}

/// The outcome of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct CompactReport {
    /// Whether a new manifest was published.
    pub changed: bool,
    /// Logs checkpointed into tables.
    pub logs_checkpointed: u64,
    /// Tables read and replaced.
    pub tables_merged: u64,
    /// Tables written.
    pub tables_written: u64,
    /// Entries dropped: overwritten, deleted, of an older version, evicted or damaged.
    pub entries_dropped: u64,
    /// Bytes of logs and tables before and after.
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// Blobs removed that no entry names any more.
    pub blobs_removed: u64,
    /// Files that have a name of the format and were not written by Varve, found so far. They stay.
    pub foreign_files: Vec<String>,
}

/// Sizes and counts of the whole cache.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct Stats {
    /// Number of the manifest that this process reads.
    pub manifest: u64,
    /// Files of the cache and their bytes.
    pub files: u64,
    pub bytes: u64,
    pub tables: u64,
    pub table_bytes: u64,
    pub logs: u64,
    pub log_bytes: u64,
    /// Blobs that entries name (large values, outputs) and their bytes; also counted in `files` and `bytes`.
    pub blobs: u64,
    pub blob_bytes: u64,
    pub namespaces: Vec<NamespaceStats>,
    /// The layers below, the newest first; none of the numbers above includes them, entries of namespaces do.
    pub layers: Vec<LayerReport>,
}

/// A layer below the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct LayerReport {
    pub path: String,
    /// 16 hex digits of the digest of its manifest; empty if it is not open. Layers with equal entries have equal ids.
    pub id: String,
    /// Why it is not open, so that its entries are misses; none = it is open.
    pub problem: Option<&'static str>,
    pub entries: u64,
    /// Keys that it hides in older layers.
    pub deletes: u64,
    /// Bytes of its tables and blobs.
    pub bytes: u64,
    /// Lookups that it has answered since this process opened the cache.
    pub hits: u64,
}

/// The outcome of sealing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct SealReport {
    /// 16 hex digits of the digest of the manifest: equal for equal entries.
    pub id: String,
    pub entries: u64,
    /// Keys that the layer hides in older ones.
    pub deletes: u64,
    /// Bytes of tables and blobs.
    pub bytes: u64,
    pub blobs: u64,
}

/// Sizes and counts of one namespace.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct NamespaceStats {
    pub name: String,
    pub version: String,
    /// Live entries.
    pub entries: u64,
    /// Bytes of their keys and values before compression.
    pub key_bytes: u64,
    pub value_bytes: u64,
    /// Entries that were not read after the day on which they were written, as far as usage records show, and bytes of
    /// their keys and values.
    pub never_used_entries: u64,
    pub never_used_bytes: u64,
    /// Tables of this namespace and their bytes on disk.
    pub tables: u64,
    pub table_bytes: u64,
    /// Bytes on disk of the blobs that its entries name. A blob counts for each of them.
    pub blob_bytes: u64,
    /// Times of the oldest and the newest write that are still known, milliseconds since 1970; 0 = unknown.
    pub oldest_ms: u64,
    pub newest_ms: u64,
}

/// The order in which entries are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names describe them")]
pub enum TopOrder {
    Largest,
    /// Used or written longest ago.
    Oldest,
    /// Only entries never used, largest first.
    NeverUsed,
}

/// An entry without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct TopEntry {
    pub namespace: String,
    pub key: Vec<u8>,
    pub value_bytes: u64,
    /// Approximate: never later than the write, or the start of its day.
    pub written_ms: u64,
    /// Start of the day of the last read; none = not read after the day on which it was written.
    pub used_ms: Option<u64>,
}

/// One place whose bytes do not match their checksum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct Damage {
    pub file: String,
    pub offset: u64,
    pub what: String,
    /// The namespace whose entries were there, if only one can have had any.
    pub namespace: Option<String>,
    /// Which of its keys are affected, as far as the rest of the file shows.
    pub keys: Option<DamagedKeys>,
    /// The layer with the file, by its path; none = the file is one of the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
}

/// The keys of a damaged block: those of a range of hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct DamagedKeys {
    /// Upper halves of the lowest and the highest hash.
    pub first_hash: u32,
    pub last_hash: u32,
    /// Number of entries; none = unknown.
    pub entries: Option<u64>,
    /// Keys with the first and the last hash; bytes that are not text as `\xNN`.
    pub first: Option<String>,
    pub last: Option<String>,
}

impl Damage {
    /// Damage whose keys are unknown.
    pub(crate) fn new(file: String, offset: u64, what: &str) -> Self {
        Self { file, offset, what: what.to_owned(), namespace: None, keys: None, layer: None }
    }

    /// The same in the layer of that path; in the cache if it is empty.
    pub(crate) fn in_layer(self, layer: &str) -> Self {
        Self { layer: Some(layer).filter(|layer| !layer.is_empty()).map(str::to_owned), ..self }
    }

    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        self.file == other.file && self.offset == other.offset && self.what == other.what
    }
}

/// The outcome of a repair.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct RepairReport {
    /// Whether every byte is sound now; in a dry run, whether it was found so.
    pub sound: bool,
    /// The damage found. Its entries are lost.
    pub damage: Vec<Damage>,
    /// A log or a manifest is damaged, so it is unknown which entries are the newest: all are lost.
    pub unrecoverable: bool,
    /// Files quarantined as `<name>.bad`; in a dry run, those that would be.
    pub quarantined: Vec<String>,
    /// Entries that could be read before and after.
    pub entries_before: u64,
    pub entries_after: u64,
    /// Damage that remains because its files belong to a writer that lives.
    pub remaining: Vec<Damage>,
    /// Files that have a name of the format and were not written by Varve. They stay.
    pub foreign_files: Vec<String>,
}

/// The outcome of reading every byte.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct VerifyReport {
    /// Whether every byte is sound.
    pub sound: bool,
    pub files: u64,
    pub bytes: u64,
    pub entries: u64,
    pub damage: Vec<Damage>,
}

/// The status of a store.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units describe the fields")]
pub struct Status {
    pub read_only: bool,
    /// Whether the cache has a secret, so that bytes written without it are refused.
    pub authenticated: bool,
    /// Number of this process's log; none = it has not written yet.
    pub writer: Option<u32>,
    pub manifest: u64,
    /// The layers below, the newest first.
    pub layers: Vec<LayerReport>,
    /// Damage found so far. Each place is a miss, never an error.
    pub damage: Vec<Damage>,
}
