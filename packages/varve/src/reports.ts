/**
 * What a cache tells about itself. Counts are numbers of things, sizes are bytes, times are milliseconds since 1970.
 * The engine fills these from `crates/core/src/report.rs`; the field names are the same in `varve <command> --json`.
 */

/** The outcome of one commit. */
export interface CommitReport {
  /** Entries put and deleted. */
  readonly entries: number
  /** Bytes appended to the log plus bytes of tables. */
  readonly bytes: number
  /** There only where the folder cannot be written: what was put is kept in this process, see `CacheStatus.degraded`. */
  readonly inMemory?: boolean
  /** Whether folding or compaction is due. The cache sees to it by itself, off the critical path. */
  readonly maintenanceDue: boolean
}

/** The outcome of folding and compaction. */
export interface CompactReport {
  /** Whether a new manifest was published. */
  readonly changed: boolean
  /** Logs folded into tables. */
  readonly logsCheckpointed: number
  /** Tables read and replaced. */
  readonly tablesMerged: number
  /** Tables written. */
  readonly tablesWritten: number
  /** Entries dropped: overwritten, deleted, of an older version, evicted or damaged. */
  readonly entriesDropped: number
  /** Contents of files that no entry named any more. */
  readonly blobsRemoved: number
  /** Bytes of all files before. */
  readonly bytesBefore: number
  /** Bytes of all files after. */
  readonly bytesAfter: number
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
  /** Entries taken, those included that overwrote one another. */
  readonly entries: number
  readonly namespaces: number
  /** Commits, each atomic: one for every 16 MiB of entries, about. */
  readonly commits: number
  /** Bytes read. */
  readonly bytes: number
}

/** Sizes and counts of the whole cache, exact. */
export interface Stats {
  /** Number of the manifest that was read. */
  readonly manifest: number
  /** Files in the folder. */
  readonly files: number
  /** Bytes of all files. */
  readonly bytes: number
  readonly tables: number
  readonly tableBytes: number
  readonly logs: number
  readonly logBytes: number
  /** Files of content that entries name (large values, outputs) and their bytes; counted in `files` and `bytes`, too. */
  readonly blobs: number
  readonly blobBytes: number
  readonly namespaces: readonly NamespaceStats[]
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
   * Entries that were read on no later day than the one they were written on, as far as is known: what was used more than
   * 90 days ago is forgotten.
   */
  readonly neverUsedEntries: number
  /** Bytes of their keys and values. */
  readonly neverUsedBytes: number
  /** Tables of this namespace. */
  readonly tables: number
  /** Bytes of these tables on disk. */
  readonly tableBytes: number
  /** Time of the oldest write still told apart, milliseconds since 1970; 0 = unknown. */
  readonly oldestMs: number
  /** Time of the newest write, milliseconds since 1970; 0 = unknown. */
  readonly newestMs: number
}

/** An entry as `varve top` shows it. */
export interface TopItem {
  readonly namespace: string
  readonly keyBase64: string
  readonly valueBytes: number
  /** About: no later than it was, or the beginning of that day; 0 = unknown. */
  readonly writtenMs: number
  /** Beginning of the day on which it was last read; null where it was read on no day after it was written. */
  readonly usedMs: number | null
}

/** One place whose bytes do not match their checksum. It costs the entries there, which are misses, and nothing else. */
export interface Damage {
  /** Name of the file below the cache's folder. */
  readonly file: string
  /** Byte in the file where the damaged unit begins. */
  readonly offset: number
  /** The damaged unit in words. */
  readonly what: string
  /** Whose entries were there; null where it may have been anybody's, as in a log or a manifest. */
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
}

/** The outcome of a repair. */
export interface RepairReport {
  /** Whether every byte is sound now; of a dry run, whether it was found so. */
  readonly sound: boolean
  /** What was found. The entries there are lost. */
  readonly damage: readonly Damage[]
  /** A log or manifest is damaged, so that nothing tells which entries are the newest: all are lost. */
  readonly unrecoverable: boolean
  /** Files renamed to `<name>.bad`; of a dry run, those that would be. */
  readonly quarantined: readonly string[]
  /** Entries that could be read before and after. */
  readonly entriesBefore: number
  readonly entriesAfter: number
  /** Damage that is still there, because its files belong to a build that runs. */
  readonly remaining: readonly Damage[]
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

/** How an engine's store stands. */
export interface EngineStatus {
  readonly readOnly: boolean
  /** Whether only entries that were written with the `secret` count. */
  readonly authenticated: boolean
  /** Number of this process's log; null while it has written nothing. */
  readonly writer: number | null
  readonly manifest: number
  /** Damage met so far. */
  readonly damage: readonly Damage[]
}
