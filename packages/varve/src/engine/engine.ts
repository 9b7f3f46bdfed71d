/**
 * What the API asks of an engine. Two implement it, native and WebAssembly; `load.ts` chooses one and nothing else
 * knows which. Hot calls pass bytes through one shared scratch buffer: the caller writes the key to its start, the
 * engine answers with a length and the value's bytes at its start. A crossing costs 20-30 ns this way, several times
 * less than with byte arrays as arguments.
 */
import type { EngineFiles } from './files.ts'
import type { CommitReport, CompactReport, Damage, EngineStatus, RepairReport, Stats, TopItem, VerifyReport } from '../reports.ts'

export type {
  CommitReport, CompactReport, Damage, EngineStatus, NamespaceStats, RepairReport, Stats, TopItem, VerifyReport,
} from '../reports.ts'

/** Options of the engine, all set. */
export interface EngineOptions {
  readonly durability: 'relaxed' | 'durable'
  readonly readOnly: boolean
  /** Cap of the folder in bytes. */
  readonly maxBytes: number
  /** Secret of an authenticated cache, at least 32 bytes; undefined = none. */
  readonly secret: Uint8Array | undefined
}

export interface Engine {
  readonly name: 'native' | 'wasm'
  /** Opens the cache in `directory` (absolute path; files live in its folder `folderName`). Rejects with an EngineError. */
  open(directory: string, options: EngineOptions): Promise<EngineStore>
  /** The folder below a cache's own for caches with that secret, or without: caches with different secrets never share files. */
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

/** Answer of getMany: values packed one after another; `lengths[i]` is -1 for a miss. */
export interface EngineValues {
  readonly values: Uint8Array
  readonly lengths: Int32Array
}

/** One open cache as one thread of the host holds it. Every call may throw an EngineError. */
export interface EngineStore {
  /**
   * Shared memory, at least 128 KiB. Ask anew before each use: WebAssembly memory moves when it grows (native: always
   * the same object).
   */
  readonly scratch: Uint8Array
  /** A number for a namespace; the same for the same name and version. */
  namespace(name: string, version: string): number

  /**
   * Key in scratch[0, keyBytes). Returns the value's length, -1 for a miss, -3 for a miss where damage was met since the
   * last look. A value that fits is in scratch[0, length); a longer one is held until the next call: fetch it with take().
   */
  get(namespace: number, keyBytes: number): number
  /** Copies the value held by the last get() into target, whose length is what get() returned. */
  take(target: Uint8Array): void
  /** Key in scratch[0, keyBytes). */
  has(namespace: number, keyBytes: number): boolean
  /** Key in scratch[0, keyBytes), buffered until commit. */
  put(namespace: number, keyBytes: number, value: Uint8Array): void
  /** As put, for an entry that needs files: `filed` is what `packFiled` (files/manifest.ts) makes. */
  putFiled(namespace: number, keyBytes: number, filed: Uint8Array): void
  /** Key in scratch[0, keyBytes), buffered until commit. */
  delete(namespace: number, keyBytes: number): void
  /** Keys packed as in EnginePage, at most 4,096 of them. */
  getMany(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): EngineValues
  /**
   * As getMany, without holding up this thread where the engine has others. What was put before the call is seen, what is
   * put meanwhile may be or not.
   */
  getManyAsync(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): Promise<EngineValues>
  /** Entries in order of their key's hash from `cursor` (0n = first), about `bytesMax` bytes of them. */
  scan(namespace: number, cursor: bigint, bytesMax: number): EnginePage

  /** Stores and restores files; its code loads at the first call. */
  files(): Promise<EngineFiles>

  /** Bytes buffered and not committed, without those of a commit under way. */
  pendingBytes(): number
  /** Puts and deletes of the same entries, overwritten ones included. */
  pendingEntries(): number
  /** Everything buffered as one atomic commit. Small relaxed commits are done when the call returns. */
  commit(durability: 'relaxed' | 'durable'): Promise<CommitReport>
  /** Also records what was used; see `used/` in `crates/core/FORMAT.md`. */
  flush(): Promise<void>

  /** Begins an export of what is committed now; several may be under way, each has its number. */
  beginExport(options: EngineExport): number
  /** The next chunk: as many entries as make 256 KiB or a little more. */
  exportChunk(transfer: number): EngineChunk
  /** Begins an import; a namespace that has another version here is refused unless `overwrite`. */
  beginImport(overwrite: boolean): number
  /** Takes the next piece of the input. What it holds is apart from what is buffered otherwise. */
  feedImport(transfer: number, piece: Uint8Array): EngineImport
  /** Throws where the input may not end here. */
  finishImport(transfer: number): void
  /** What was fed since the last time as one atomic commit; undefined where nothing was. */
  commitImport(transfer: number): Promise<CommitReport | undefined>
  /** Lets go of an export or an import, finished or not. */
  endTransfer(transfer: number): void

  /** Takes up what other processes committed; true where something changed. */
  refresh(): boolean
  /** Folds and merges what is due, or everything if `full`. */
  compact(full: boolean, control: EngineControl): Promise<CompactReport>
  stats(): Promise<Stats>
  /** The first entries in some order. */
  top(options: EngineTop): Promise<readonly TopItem[]>
  verify(control: EngineControl): Promise<VerifyReport>
  repair(dryRun: boolean, control: EngineControl): Promise<RepairReport>
  /** How many places `status().damage` has; cheap. */
  damageCount(): number
  status(): EngineStatus
  /** Folds what is due, seals the log, lets go of every file. Returns all damage that was met, on the way as well. */
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
  /** Bytes that wait for a commit. */
  readonly pendingBytes: number
}

/** Watches and stops a long call. */
export interface EngineControl {
  readonly signal: AbortSignal | undefined
  /** Called at most every 50 ms with bytes done and in all. */
  readonly onProgress: ((done: number, total: number) => void) | undefined
}
