//! What the store tells about itself. Plain numbers; the doors turn them into JSON.

pub(crate) mod damage_list;

use serde::{Deserialize, Serialize};

/// The outcome of one commit.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitReport {
    /// Entries put and deleted.
    pub entries: u64,
    /// Bytes appended to the log plus bytes of tables.
    pub bytes: u64,
    /// Whether folding or compaction is due: call `Store::compact` off the critical path.
    pub maintenance_due: bool,
}

/// The outcome of folding and compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units of the fields say it")]
pub struct CompactReport {
    /// Whether a new manifest was published.
    pub changed: bool,
    /// Logs folded into tables.
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
    /// Blobs removed because no entry names them any more.
    pub blobs_removed: u64,
}

/// Sizes and counts of the whole cache.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units of the fields say it")]
pub struct Stats {
    /// Number of the manifest this handle reads.
    pub manifest: u64,
    /// Files in the folder and their bytes.
    pub files: u64,
    pub bytes: u64,
    pub tables: u64,
    pub table_bytes: u64,
    pub logs: u64,
    pub log_bytes: u64,
    /// Blobs that entries name (large values, outputs) and their bytes; `files` and `bytes` include them.
    pub blobs: u64,
    pub blob_bytes: u64,
    pub namespaces: Vec<NamespaceStats>,
}

/// Sizes and counts of one namespace.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units of the fields say it")]
pub struct NamespaceStats {
    pub name: String,
    pub version: String,
    /// Live entries.
    pub entries: u64,
    /// Bytes of their keys and values before compression.
    pub key_bytes: u64,
    pub value_bytes: u64,
    /// Entries that were read on no day after the one on which they were written, as far as use records tell, and bytes
    /// of their keys and values.
    pub never_used_entries: u64,
    pub never_used_bytes: u64,
    /// Tables of this namespace and their bytes on disk.
    pub tables: u64,
    pub table_bytes: u64,
    /// Time of the oldest and newest write still told apart, milliseconds since 1970; 0 = unknown.
    pub oldest_ms: u64,
    pub newest_ms: u64,
}

/// What comes first among the entries of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum TopOrder {
    Largest,
    /// Used or written longest ago.
    Oldest,
    /// Only those, the largest first.
    NeverUsed,
}

/// An entry without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "names and units of the fields say it")]
pub struct TopEntry {
    pub namespace: String,
    pub key: Vec<u8>,
    pub value_bytes: u64,
    /// About: not later than it was, or the beginning of the day.
    pub written_ms: u64,
    /// Beginning of the day on which it was last read; none where that was on no day after the one it was written on.
    pub used_ms: Option<u64>,
}

/// One place whose bytes do not match their checksum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units of the fields say it")]
pub struct Damage {
    pub file: String,
    pub offset: u64,
    pub what: String,
    /// Whose entries were there, where only one namespace can have had any.
    pub namespace: Option<String>,
    /// Which of its keys, as far as the rest of the file tells.
    pub keys: Option<DamagedKeys>,
}

/// Keys whose entries were in a damaged block: those of a range of hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units of the fields say it")]
pub struct DamagedKeys {
    /// Upper halves of the hashes; both belong to the range.
    pub first_hash: u32,
    pub last_hash: u32,
    /// How many entries; none = not known.
    pub entries: Option<u64>,
    /// Of the first and the last hash; bytes that are no text as `\xNN`.
    pub first: Option<String>,
    pub last: Option<String>,
}

impl Damage {
    /// Damage of which nothing else is known.
    pub(crate) fn new(file: String, offset: u64, what: &str) -> Self {
        Self { file, offset, what: what.to_owned(), namespace: None, keys: None }
    }

    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        self.file == other.file && self.offset == other.offset && self.what == other.what
    }
}

/// The outcome of a repair.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units of the fields say it")]
pub struct RepairReport {
    /// Whether every byte is sound now; of a dry run, whether it was found so.
    pub sound: bool,
    /// What was found. The entries there are lost.
    pub damage: Vec<Damage>,
    /// A log or a manifest is damaged, so nothing tells which entries are the newest: all are lost.
    pub unrecoverable: bool,
    /// Files renamed to `<name>.bad`; a dry run lists those it would rename.
    pub quarantined: Vec<String>,
    /// Entries that could be read before and after.
    pub entries_before: u64,
    pub entries_after: u64,
    /// Damage that is still there: its files belong to a writer that lives.
    pub remaining: Vec<Damage>,
}

/// The outcome of reading every byte.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units of the fields say it")]
pub struct VerifyReport {
    /// Whether every byte is sound.
    pub sound: bool,
    pub files: u64,
    pub bytes: u64,
    pub entries: u64,
    pub damage: Vec<Damage>,
}

/// How this store stands.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names and units of the fields say it")]
pub struct Status {
    pub read_only: bool,
    /// Whether only entries that were written with the secret count.
    pub authenticated: bool,
    /// Number of this process's log; none while it has written nothing.
    pub writer: Option<u32>,
    pub manifest: u64,
    /// Damage met so far. Each cost a miss, never an error.
    pub damage: Vec<Damage>,
}
