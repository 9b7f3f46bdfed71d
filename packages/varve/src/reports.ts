/**
 * Reports of a cache. Counts are numbers of things, sizes are bytes, times are milliseconds since 1970. The engine fills
 * them from `crates/core/src/report.rs`; `varve <command> --json` uses the same field names.
 */

/** The outcome of one commit. */
export interface CommitReport {
  /** Entries put and deleted. */
  readonly entries: number
  /** Bytes appended to the log plus bytes of tables. */
  readonly bytes: number
  /** Present only if the cache directory cannot be written: the entries stay in this process, see `CacheStatus.degraded`. */
  readonly inMemory?: boolean
  /** Whether a checkpoint or compaction is due. The cache starts it in the background. */
  readonly maintenanceDue: boolean
}

/** The outcome of checkpoints and compaction. */
export interface CompactReport {
  /** Whether a new manifest was published. */
  readonly changed: boolean
  /** Logs whose entries were moved into tables. */
  readonly logsCheckpointed: number
  /** Tables read and replaced. */
  readonly tablesMerged: number
  /** Tables written. */
  readonly tablesWritten: number
  /** Entries dropped: overwritten, deleted, of an older version, evicted or damaged. */
  readonly entriesDropped: number
  /** Blobs that were removed because no entry names them. */
  readonly blobsRemoved: number
  /** Bytes of all files before. */
  readonly bytesBefore: number
  /** Bytes of all files after. */
  readonly bytesAfter: number
  /** Files with a name of the format that Varve did not write. They stay as they are. */
  readonly foreignFiles: readonly string[]
}

/** The outcome of an export. */
export interface ExportReport {
  readonly entries: number
  /** Namespaces with at least one entry. */
  readonly namespaces: number
  /** Bytes written. */
  readonly bytes: number
}

/** The outcome of an import. */
export interface ImportReport {
  /** Entries imported; several entries for one key all count. */
  readonly entries: number
  readonly namespaces: number
  /** Commits, each atomic: one for every 16 MiB of entries, about. */
  readonly commits: number
  /** Bytes read. */
  readonly bytes: number
}

/** The outcome of sealing a layer. */
export interface SealReport {
  /** 16 hex digits of a digest: equal for equal entries that one engine sealed. */
  readonly id: string
  readonly entries: number
  /** Keys that the layer hides in the layers it was sealed since. */
  readonly deletes: number
  /** Bytes of all files, without the manifest. */
  readonly bytes: number
  readonly blobs: number
}

/** A layer below the cache. */
export interface LayerReport {
  /** Absolute path of its directory. */
  readonly path: string
  /** The id that sealing reported; empty if the layer is not open. */
  readonly id: string
  /** Why it is not open, so that its entries are misses; null if it is open. */
  readonly problem: string | null
  readonly entries: number
  /** Keys that it hides in older layers. */
  readonly deletes: number
  readonly bytes: number
  /** Lookups that it has answered since this process opened the cache. */
  readonly hits: number
}

/** Sizes and counts of the whole cache, exact. */
export interface Stats {
  /** Number of the manifest that was read. */
  readonly manifest: number
  /** Files in the cache directory. */
  readonly files: number
  /** Bytes of all files. */
  readonly bytes: number
  readonly tables: number
  readonly tableBytes: number
  readonly logs: number
  readonly logBytes: number
  /** Blobs that entries name (large values, files) and their bytes; `files` and `bytes` include them. */
  readonly blobs: number
  readonly blobBytes: number
  /** Namespaces of the cache and of its layers; entries, keys and values count what is visible, tables those of the cache. */
  readonly namespaces: readonly NamespaceStats[]
  /** The layers below, the newest first. No other size includes them. */
  readonly layers: readonly LayerReport[]
}

/** Sizes and counts of one namespace. */
export interface NamespaceStats {
  readonly name: string
  /** Version of the cache, version of the namespace and codec as one string: `'<cache>/<namespace> <codec>'`. */
  readonly version: string
  /** Live entries. */
  readonly entries: number
  /** Bytes of their keys before compression. */
  readonly keyBytes: number
  /** Bytes of their values before compression. */
  readonly valueBytes: number
  /**
   * Entries that were not read on a later day than the one they were written on. Usage records cover the last 90 days.
   */
  readonly neverUsedEntries: number
  /** Bytes of their keys and values. */
  readonly neverUsedBytes: number
  /** Tables of this namespace. */
  readonly tables: number
  /** Bytes of these tables on disk. */
  readonly tableBytes: number
  /** Bytes on disk of the blobs (large values, files) that its entries name. A blob counts for each of them. */
  readonly blobBytes: number
  /** Time of the oldest write that is still recorded, milliseconds since 1970; 0 = unknown. */
  readonly oldestMs: number
  /** Time of the newest write, milliseconds since 1970; 0 = unknown. */
  readonly newestMs: number
}

/** An entry in the output of `varve ls --sort`. */
export interface TopItem {
  readonly namespace: string
  readonly keyBase64: string
  readonly valueBytes: number
  /** A time at or before the write, at the earliest the beginning of that day; 0 = unknown. */
  readonly writtenMs: number
  /** Beginning of the day of the last read; null if the entry was not read on a later day than it was written. */
  readonly usedMs: number | null
}

/** One place whose bytes do not match their checksum. The entries there are misses; all others are unaffected. */
export interface Damage {
  /** Path of the file in the cache directory. */
  readonly file: string
  /** Offset in the file at which the damaged unit begins. */
  readonly offset: number
  /** The damaged unit in words. */
  readonly what: string
  /** The namespace of the entries there; null if it is unknown, as in a log or a manifest. */
  readonly namespace: string | null
  /** Which keys of it, if the rest of the file identifies them; otherwise null. */
  readonly keys: {
    /** Upper halves of the hashes of the first and the last key; `varve ls` lists keys in the order of their hashes. */
    readonly firstHash: number
    readonly lastHash: number
    /** Number of entries; null = unknown. */
    readonly entries: number | null
    /** The first and the last key, which `verify` finds if only values are damaged; other bytes than text as `\xNN`. */
    readonly first: string | null
    readonly last: string | null
  } | null
  /** Path of the layer that has the file; undefined for the files of the cache itself. */
  readonly layer?: string
}

/** The outcome of a repair. */
export interface RepairReport {
  /** Whether every byte is sound now; for a dry run, whether it was sound before. */
  readonly sound: boolean
  /** The damage that was found. The entries there are lost. */
  readonly damage: readonly Damage[]
  /** A log or manifest is damaged, so the newest entries are unknown and all entries are lost. */
  readonly unrecoverable: boolean
  /** Files renamed to `<name>.bad`; a dry run lists those it would rename. */
  readonly quarantined: readonly string[]
  /** Entries that could be read before and after. */
  readonly entriesBefore: number
  readonly entriesAfter: number
  /** Damage that remains, because its files belong to a running build. */
  readonly remaining: readonly Damage[]
  /** Files with a name of the format that Varve did not write. They stay as they are. */
  readonly foreignFiles: readonly string[]
}

/** The outcome of reading every byte. */
export interface VerifyReport {
  /** Whether every byte is sound. */
  readonly sound: boolean
  readonly files: number
  readonly bytes: number
  readonly entries: number
  readonly damage: readonly Damage[]
}

/** The state of an engine's store. */
export interface EngineStatus {
  readonly readOnly: boolean
  /** Whether only entries that were written with the `secret` count. */
  readonly authenticated: boolean
  /** Number of the log of this process; null before its first commit. */
  readonly writer: number | null
  readonly manifest: number
  /** The layers below, the newest first. */
  readonly layers: readonly LayerReport[]
  /** Damage detected so far. */
  readonly damage: readonly Damage[]
}
