/**
 * The interface of an engine. Two implement it, native and WebAssembly; `load.ts` chooses one, and no other module depends
 * on which. Hot calls pass bytes through one shared scratch buffer: the caller writes the key to its start, the
 * engine answers with a length and the value's bytes at its start. A crossing costs 20-30 ns this way, several times
 * less than with byte arrays as arguments.
 */
import type {
  CommitReport,
  CompactReport,
  Damage,
  EngineStatus,
  RepairReport,
  SealReport,
  Stats,
  TopItem,
  VerifyReport,
} from '../reports.ts'
import type { FileEntry } from '../values/manifest.ts'

export type {
  CommitReport,
  CompactReport,
  Damage,
  EngineStatus,
  NamespaceStats,
  RepairReport,
  SealReport,
  Stats,
  TopItem,
  VerifyReport,
} from '../reports.ts'

/** Options of the engine, all set. */
export interface EngineOptions {
  readonly durability: 'relaxed' | 'durable'
  readonly readOnly: boolean
  /** Size limit of the cache directory in bytes. */
  readonly maxBytes: number
  /** Secret of an authenticated cache, at least 32 bytes; undefined = none. */
  readonly secret: Uint8Array | undefined
  /** Absolute paths of the layers below, the newest first. */
  readonly layers: readonly string[]
}

/** `'none'`: entries in the memory of a process that can start no engine. */
export type EngineName = 'native' | 'wasm' | 'none'

export interface Engine<Name extends EngineName = 'native' | 'wasm'> {
  readonly name: Name
  /** Opens the cache in `directory` (absolute path; files live in its folder `folderName`). Rejects with an EngineError. */
  open(directory: string, options: EngineOptions): Promise<EngineStore>
  /** Name of the directory in the cache directory; each secret has its own, so that caches never share files. */
  folderName(secret: Uint8Array | undefined): string
}

/** What engines throw: an Error whose `code` is one of ErrorCode. */
export interface EngineError extends Error {
  readonly code: string
}

/** A page of entries: keys and values packed one after another; `keyEnds[i]` is the end of key i in `keys`. */
export interface EnginePage {
  readonly keys: Uint8Array
  readonly keyEnds: Uint32Array
  readonly values: Uint8Array
  readonly valueEnds: Uint32Array
  /** Where the next page begins; undefined at the end. */
  readonly next: bigint | undefined
}

/** A page of keys, packed as in EnginePage, with the lengths of values, which are not read. */
export type EngineKeys = Pick<EnginePage, 'keys' | 'keyEnds' | 'next'> & { readonly valueBytes: Uint32Array }

/** Folders of keys that are paths, packed as the keys of EnginePage. None at all stands for all folders. */
export type EngineFolders = Pick<EnginePage, 'keys' | 'keyEnds'>

/** The folders of the keys of a page: of each, the number of its entries, and the bytes of their keys and values. */
export type EngineSums = Pick<EnginePage, 'keys' | 'keyEnds' | 'next'> & {
  readonly entries: Float64Array
  readonly bytes: Float64Array
}

/** Answer of getManyAtOnce: values packed one after another, in memory that the caller owns; `lengths[i]` is -1 for a miss. */
export interface EngineValues {
  readonly values: Uint8Array
  readonly lengths: Int32Array
}

/** What a commit did. */
export interface EngineCommit {
  readonly report: CommitReport
  /** Bytes of its entries, before compression. */
  readonly batchBytes: number
  /** `damageCount()` after it. */
  readonly damageCount: number
}

/** One open cache as one thread of the host holds it. Every call may throw an EngineError. */
export interface EngineStore {
  /**
   * Shared memory, at least 128 KiB. Read this property before each use: WebAssembly memory moves when it grows (native:
   * always the same object).
   */
  readonly scratch: Uint8Array
  /** A number for a namespace; the same for the same name and version. */
  namespace(name: string, version: string): number

  /**
   * Key in scratch[0, keyBytes). Returns the value's length, -1 for a miss, -3 for a miss with new damage since the
   * last call of status(). A value that fits is in target from `start` on; a longer one is fetched with read(). The target
   * may be the scratch memory, which has moved if the array is empty after the call.
   */
  get(namespace: number, keyBytes: number, target: Uint8Array, start: number): number
  /**
   * get() of a key that is a string, in fewer calls: the value goes to `pool` from `start` on, or to the scratch memory if there is
   * none. UNFIT: the engine cannot write the key; put it into the scratch memory and call get(). Absent from an engine to which get()
   * is a call of JavaScript.
   */
  find?(namespace: number, key: string, pool: Uint8Array | undefined, start: number): number
  /**
   * Reads the value that the last get(), find() or getMany() found too long into target, which has its length. Returns what
   * get() does: another length if the value has changed meanwhile, so that target has to be another one.
   */
  read(target: Uint8Array): number
  /** Key in scratch[0, keyBytes). */
  has(namespace: number, keyBytes: number): boolean
  /** Key in scratch[0, keyBytes), buffered until commit. */
  put(namespace: number, keyBytes: number, value: Uint8Array): void
  /** Like put, for an entry that names files: `packed` is the result of `packWithBlobs` (values/manifest.ts). */
  putWithBlobs(namespace: number, keyBytes: number, packed: Uint8Array): void
  /** Key in scratch[0, keyBytes), buffered until commit. */
  delete(namespace: number, keyBytes: number): void
  /**
   * Keys packed as in EnginePage. Looks up keys[first], ... in one state, and writes the values to target from `start` on, each at
   * the next multiple of eight, until one does not fit. Returns the number of the first key without an answer; its length is in
   * `lengths`, too.
   */
  getMany(
    namespace: number,
    keys: Uint8Array,
    keyEnds: Uint32Array,
    first: number,
    target: Uint8Array,
    start: number,
    lengths: Int32Array,
  ): number
  /**
   * The values of all keys in one state, which take memory twice for a moment.
   */
  getManyAtOnce(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): EngineValues
  /**
   * Another number whenever a commit has become visible: lookups with the same number before and after them were in one state,
   * apart from what this thread has put.
   */
  revision(): number
  /**
   * The values of all keys, looked up on another thread if the engine has one. It sees what was put before the call, and perhaps what is put
   * meanwhile.
   */
  getManyAsync(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): Promise<EngineValues>
  /**
   * Entries in order of their key's hash from `cursor` (0n = first), about `bytesMax` bytes of them. Of these, the page has the entries in
   * `folders`. The folder of a key is the part up to its last `/` or `\` before a `?`, '' for a key that is not UTF-8.
   */
  scan(namespace: number, cursor: bigint, bytesMax: number, folders?: EngineFolders): EnginePage
  /** The same keys without reading values: `bytesMax` limits keys and lengths. */
  scanKeys(namespace: number, cursor: bigint, bytesMax: number, folders?: EngineFolders): EngineKeys
  /** Sums over the entries that scanKeys reads, by folder. */
  scanFolders(namespace: number, cursor: bigint, bytesMax: number): EngineSums

  /** Stores and restores files; its code loads at the first call. */
  files(): Promise<EngineFiles>

  /** Bytes buffered and not committed, without those of a commit under way. */
  pendingBytes(): number
  /** Puts and deletes of the same entries, overwritten ones included. */
  pendingEntries(): number
  /** Writes everything buffered as one atomic commit. A small relaxed commit is complete when the call returns; a promise is not. */
  commit(durability: 'relaxed' | 'durable'): EngineCommit | Promise<EngineCommit>
  /** Syncs commits, and records usage; see `used/` in `crates/core/FORMAT.md`. */
  flush(): Promise<void>

  /** Begins an export of the committed state and returns its number; several may run at the same time. */
  beginExport(options: EngineExport): number
  /** The next chunk: entries of 256 KiB or a little more. */
  exportChunk(transfer: number): EngineChunk
  /** Begins an import; a namespace that has another version here is refused unless `overwrite`. */
  beginImport(overwrite: boolean): number
  /** Reads the next piece of the input. Its entries are separate from other buffered entries. */
  feedImport(transfer: number, piece: Uint8Array): EngineImport
  /** Throws if the input is incomplete. */
  finishImport(transfer: number): void
  /** Commits what was fed since the last call, atomically; undefined if there is nothing. */
  commitImport(transfer: number): Promise<CommitReport | undefined>
  /** Ends an export or an import, complete or not. */
  endTransfer(transfer: number): void

  /** Makes visible what other processes committed; true if something changed. */
  refresh(): boolean
  /** Checkpoints and merges what is due, or everything if `full`. */
  compact(full: boolean, control: EngineControl): Promise<CompactReport>
  stats(): Promise<Stats>
  /** The first entries in some order. */
  top(options: EngineTop): Promise<readonly TopItem[]>
  verify(control: EngineControl): Promise<VerifyReport>
  repair(dryRun: boolean, control: EngineControl): Promise<RepairReport>
  /** Seals what is committed into a directory, without what the layers `since` have. All are absolute paths. */
  seal(target: string, since: readonly string[], control: EngineControl): Promise<SealReport>
  /** Number of places in `status().damage`; cheap. */
  damageCount(): number
  status(): EngineStatus
  /** Checkpoints what is due, seals the log, closes every file. Returns all detected damage. */
  close(): Promise<readonly Damage[]>
}

/** Which entries: `crates/bindings/src/top.rs`. */
export interface EngineTop {
  readonly order: 'largest' | 'oldest' | 'never-used'
  /** Of this namespace only; null = of all. */
  readonly namespace: string | null
  readonly limit: number
}

/** What to export: `crates/bindings/src/export.rs`. */
export interface EngineExport {
  /** Of this namespace only; null = of all. */
  readonly namespace: string | null
  /** One array, not one object a line. */
  readonly list: boolean
  readonly keysOnly: boolean
  /** Tags of the codecs whose values are text and JSON. */
  readonly textTag: string
  readonly jsonTag: string
}

/** A chunk of an export, and how far it is. */
export interface EngineChunk {
  readonly chunk: Uint8Array
  /** So far. */
  readonly entries: number
  readonly namespaces: number
  /** Bytes of keys and values, about: so far and in all. */
  readonly done: number
  readonly total: number
  /** Whether another chunk follows. */
  readonly more: boolean
}

/** How far an import is. */
export interface EngineImport {
  readonly entries: number
  readonly namespaces: number
  /** Bytes that are not committed yet. */
  readonly pendingBytes: number
}

export interface EngineControl {
  readonly signal: AbortSignal | undefined
  /** Called at most every 50 ms with bytes done and in all. */
  readonly onProgress: ((done: number, total: number) => void) | undefined
}

/** A content that is stored. */
export interface StoredContent {
  /** BLAKE3, 64 hex digits. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
}

/** A file that was read and stored. */
export interface StoredFile extends StoredContent {
  /** Whether any user may execute it. */
  readonly executable: boolean
}

/** How files get their content; see `RestoreOptions.mode`. */
export type RestoreMode = 'auto' | 'reflink' | 'hardlink' | 'copy'

/** What to restore, and where. */
export interface RestoreRequest {
  /** Writes nothing, and rejects with FILES_DAMAGED unless the cache has all contents. */
  readonly checkOnly?: boolean
  /** Absolute path of the root; created if it does not exist. */
  readonly target: string
  readonly mode: RestoreMode
  readonly files: readonly FileEntry[]
  /**
   * The present time on the clock of the target's file system, in whole milliseconds since 1970: a file that changed later, or shortly before,
   * may change again without a new time.
   */
  readonly atMs: number
}

/** The outcome, in numbers of files, links and directories. */
export interface RestoreAnswer {
  readonly unchanged: number
  readonly copied: number
  readonly cloned: number
  readonly linked: number
  /** The record to keep for this target; null if the present record still holds. */
  readonly restored: string | null
}

/** What an import takes; 0 is the engine's default. */
export interface ArchiveRequest {
  /** Symbolic links that stay inside are taken. */
  readonly links: boolean
  readonly maxBytes: number
  readonly maxFileBytes: number
  readonly maxFiles: number
  /** Bytes of the input, for progress. */
  readonly inputBytes: number
}

/** What was in an archive. */
export interface ImportAnswer {
  readonly files: readonly FileEntry[]
  readonly warnings: readonly string[]
}

/** An entry that is committed by itself. */
export interface AloneEntry {
  readonly namespace: string
  readonly version: string
  readonly key: string
  readonly value: string
}

/** Files of one open cache. Calls throw or reject with an EngineError. Progress counts files, that of an import bytes. */
export interface EngineFiles {
  /** Throws UNSAFE_PATH if a manifest of these entries breaks a rule. */
  check(files: readonly FileEntry[]): void
  /** Stores regular files below `root`; links on the way are refused. Stored contents stay until the next commit. */
  storeTree(root: string, paths: readonly string[], control: EngineControl): Promise<readonly StoredFile[]>
  /** `remembered`: the record of the last restore to this target, or ''. */
  restoreTree(request: RestoreRequest, remembered: string, control: EngineControl): Promise<RestoreAnswer>
  /** Removes files, links and empty folders below `root`, in this order; how many. */
  removeTree(root: string, paths: readonly string[], control: EngineControl): Promise<number>
  /** From a file, or from memory. */
  importArchive(input: string | Uint8Array, request: ArchiveRequest, control: EngineControl): Promise<ImportAnswer>
  /** To a file that must not be there. */
  exportArchive(files: readonly FileEntry[], path: string, gzip: boolean, control: EngineControl): Promise<void>
  list(): Promise<readonly StoredContent[]>
  /** Reads these contents; which are sound. */
  verify(
    files: readonly FileEntry[],
    control: EngineControl,
  ): Promise<readonly { readonly digest: string; readonly sound: boolean }[]>
  /** Commits one entry now; buffered entries stay buffered. */
  commitAlone(entry: AloneEntry): Promise<void>
}
