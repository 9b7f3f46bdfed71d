/** What the addon offers, as types: its exports and the calls of an open store. */
import type { EngineStore } from './engine.ts'
import type { FileFunctions } from './native-files.ts'
import type { FindFunctions } from './native-find.ts'

/** One open store: `crates/node/src/calls`. What runs for each entry is a function; the rest are methods, which take longer to call. */
export interface StoreFunctions extends FileFunctions, FindFunctions {
  get(namespace: number, keyBytes: number, target: Uint8Array, start: number): number
  read(target: Uint8Array): number
  take(target: Uint8Array): void
  has(namespace: number, keyBytes: number): boolean
  put(namespace: number, keyBytes: number, value: Uint8Array): void
  delete(namespace: number, keyBytes: number): void
  getMany: EngineStore['getMany']
  getManyAtOnce(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): number
  getManyAsync(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): Promise<Uint8Array | string>
  revision(): number
  namespace(name: string, version: string): number
  scan(namespace: number, cursor: bigint, bytesMax: number, folders: Uint8Array, folderEnds: Uint32Array): number
  scanKeys(namespace: number, cursor: bigint, bytesMax: number, folders: Uint8Array, folderEnds: Uint32Array): number
  scanFolders(namespace: number, cursor: bigint, bytesMax: number): number
  pendingBytes(): number
  pendingEntries(): number
  refresh(): boolean
  status(): string
  /**
   * True if the commit is complete, with its packed report in the scratch buffer; a promise of the packed report if it runs on
   * another thread; false if an older commit has not ended.
   */
  commit(isDurable: boolean, nowMs: number): boolean | PackedCommit
  /** Runs the oldest commit for which `commit` returned false. */
  nextCommit(isDurable: boolean, nowMs: number): PackedCommit
  flush(nowMs: number): Promise<string>
  beginExport(options: string): number
  exportChunk(transfer: number): string
  beginImport(overwrite: boolean): number
  feedImport(transfer: number, piece: Uint8Array): string
  finishImport(transfer: number): string
  commitImport(transfer: number, nowMs: number): Promise<string>
  endTransfer(transfer: number): void
  compact(full: boolean, watch: number, nowMs: number): Promise<string>
  stats(): Promise<string>
  top(options: string): Promise<string>
  verify(watch: number): Promise<string>
  repair(dryRun: boolean, watch: number): Promise<string>
  seal(request: string, watch: number): Promise<string>
  damageCount(): number
  /** A string if there was nothing to write. */
  close(nowMs: number): Promise<string> | string
  beginWatch(): number
  watchDone(watch: number): number
  watchTotal(watch: number): number
  cancelWatch(watch: number): void
  endWatch(watch: number): void
}

/** A packed report, or a failure as JSON. */
type PackedCommit = Promise<Uint8Array | string>

/** What the addon exports. */
export interface NativeAddon {
  /** Memory for the calls of all stores of this thread: keys, values, and numbers. */
  readonly scratch: Uint8Array
  readonly cells: Int32Array
  openStore(request: string, secret: Uint8Array | undefined): Promise<StoreFunctions | string>
  /** Opens a small cache on this thread, because switching threads twice takes longer. Undefined if it cannot. */
  openSmall(request: string, secret: Uint8Array | undefined): StoreFunctions | undefined
  /** Undefined if the secret is too short. */
  folderName(secret: Uint8Array | undefined): string | undefined
}
