/**
 * The native engine: the addon of `crates/node`. Slow calls run on Node's thread pool. The commits of one store run in
 * the order in which they began.
 */
import type {
  CommitReport, CompactReport, Damage, Engine, EngineChunk, EngineCommit, EngineControl, EngineExport, EngineImport, EngineFolders,
  EngineKeys, EnginePage, EngineStatus, EngineStore, EngineSums, EngineTop, EngineValues, RepairReport, SealReport, Stats, TopItem, VerifyReport,
} from './engine.ts'
import { requireAddon } from './addon.ts'
import { type ChunkReport, EngineFailure, reportOf } from './answer.ts'
import type { EngineFiles } from './files.ts'
import type { FileFunctions, NativeFiles } from './native-files.ts'
import { finderOf, type FindFunctions } from './native-find.ts'
import { ALL_FOLDERS, commitOf, keysOf, pageOf, sumsOf, valuesOf, viewOf } from './packed.ts'

/** The functions of one open store: `crates/node/src/calls`. */
interface StoreFunctions extends FileFunctions, FindFunctions {
  readonly scratch: Uint8Array
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
  openStore(request: string, secret: Uint8Array | undefined): Promise<StoreFunctions | string>
  /** Opens a small cache on this thread, because switching threads twice takes longer. Undefined if it cannot. */
  openSmall(request: string, secret: Uint8Array | undefined): StoreFunctions | undefined
  /** Undefined if the secret is too short. */
  folderName(secret: Uint8Array | undefined): string | undefined
}

/** Interval between two reads of the progress of a long call, milliseconds. */
const PROGRESS_MS = 50

/** Loads the addon. Throws if there is none for this machine. */
export function loadNative(): Engine {
  const addon = requireAddon<NativeAddon>()
  return {
    name: 'native',
    folderName(secret) {
      const name = addon.folderName(secret)
      if (name === undefined) throw new EngineFailure('INVALID_ARGUMENT', 'the secret is too short')
      return name
    },
    async open(directory, options) {
      const { durability, readOnly, maxBytes, secret, layers } = options
      const request = JSON.stringify({ folder: directory, durability, readOnly, bytesMax: maxBytes, layers })
      const functions = addon.openSmall(request, secret) ?? (await addon.openStore(request, secret))
      return typeof functions === 'string' ? reportOf<never>(functions) : new NativeStore(functions)
    },
  }
}

/** One open store behind the engine's interface. */
class NativeStore implements EngineStore {
  readonly scratch: Uint8Array
  // The addon's functions themselves, so that a hot call is one call.
  readonly namespace: EngineStore['namespace']
  readonly get: EngineStore['get']
  readonly find: NonNullable<EngineStore['find']>
  readonly read: EngineStore['read']
  readonly getMany: EngineStore['getMany']
  readonly revision: EngineStore['revision']
  readonly has: EngineStore['has']
  readonly put: EngineStore['put']
  readonly putWithBlobs: EngineStore['putWithBlobs']
  readonly delete: EngineStore['delete']
  readonly pendingBytes: EngineStore['pendingBytes']
  readonly pendingEntries: EngineStore['pendingEntries']
  readonly refresh: EngineStore['refresh']
  readonly damageCount: EngineStore['damageCount']
  readonly beginImport: EngineStore['beginImport']
  readonly endTransfer: EngineStore['endTransfer']
  #files: NativeFiles | undefined
  readonly #functions: StoreFunctions
  readonly #scratchView: DataView
  /** Resolves when the newest commit on another thread has ended. */
  #lastCommit: Promise<void> = Promise.resolve()

  constructor(functions: StoreFunctions) {
    this.#functions = functions
    this.scratch = functions.scratch
    this.#scratchView = viewOf(functions.scratch)
    this.namespace = functions.namespace
    this.get = functions.get
    this.find = finderOf(functions)
    this.read = functions.read
    this.getMany = functions.getMany
    this.revision = functions.revision
    this.has = functions.has
    this.put = functions.put
    this.putWithBlobs = functions.putWithBlobs
    this.delete = functions.delete
    this.pendingBytes = functions.pendingBytes
    this.pendingEntries = functions.pendingEntries
    this.refresh = functions.refresh
    this.damageCount = functions.damageCount
    this.beginImport = functions.beginImport
    this.endTransfer = functions.endTransfer
  }

  async files(): Promise<EngineFiles> {
    const { NativeFiles: Files } = await import('./native-files.ts')
    this.#files ??= new Files(this.#functions, (control, call) => this.#watched(control, call))
    return this.#files
  }

  getManyAtOnce(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): EngineValues {
    return valuesOf(this.#taken(this.#functions.getManyAtOnce(namespace, keys, keyEnds)), keyEnds.length)
  }

  async getManyAsync(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): Promise<EngineValues> {
    const answer = await this.#functions.getManyAsync(namespace, keys, keyEnds)
    return typeof answer === 'string' ? reportOf<never>(answer) : valuesOf(answer, keyEnds.length)
  }

  scan(namespace: number, cursor: bigint, bytesMax: number, folders: EngineFolders = ALL_FOLDERS): EnginePage {
    return pageOf(this.#taken(this.#functions.scan(namespace, cursor, bytesMax, folders.keys, folders.keyEnds)))
  }

  scanKeys(namespace: number, cursor: bigint, bytesMax: number, folders: EngineFolders = ALL_FOLDERS): EngineKeys {
    return keysOf(this.#taken(this.#functions.scanKeys(namespace, cursor, bytesMax, folders.keys, folders.keyEnds)))
  }

  scanFolders(namespace: number, cursor: bigint, bytesMax: number): EngineSums {
    return sumsOf(this.#taken(this.#functions.scanFolders(namespace, cursor, bytesMax)))
  }

  commit(durability: 'relaxed' | 'durable'): EngineCommit | Promise<EngineCommit> {
    const isDurable = durability === 'durable'
    const begun = this.#functions.commit(isDurable, Date.now())
    if (begun === true) return commitOf(this.#scratchView)
    const commit = begun === false ? this.#lastCommit.then(() => this.#functions.nextCommit(isDurable, Date.now())) : begun
    this.#lastCommit = commit.then(ignore, ignore)
    return commit.then((packed) => (typeof packed === 'string' ? reportOf<never>(packed) : commitOf(viewOf(packed))))
  }

  async flush(): Promise<void> {
    await this.#lastCommit
    reportOf(await this.#functions.flush(Date.now()))
  }

  beginExport(options: EngineExport): number {
    return this.#functions.beginExport(JSON.stringify(options))
  }

  exportChunk(transfer: number): EngineChunk {
    const { bytes, ...progress } = reportOf<ChunkReport>(this.#functions.exportChunk(transfer))
    return { chunk: this.#taken(bytes), ...progress }
  }

  feedImport(transfer: number, piece: Uint8Array): EngineImport {
    return reportOf(this.#functions.feedImport(transfer, piece))
  }

  finishImport(transfer: number): void {
    reportOf(this.#functions.finishImport(transfer))
  }

  async commitImport(transfer: number): Promise<CommitReport | undefined> {
    return reportOf<CommitReport | null>(await this.#functions.commitImport(transfer, Date.now())) ?? undefined
  }

  compact(full: boolean, control: EngineControl): Promise<CompactReport> {
    return this.#watched(control, (watch) => this.#functions.compact(full, watch, Date.now()))
  }

  async stats(): Promise<Stats> {
    return reportOf(await this.#functions.stats())
  }

  async top(options: EngineTop): Promise<readonly TopItem[]> {
    return reportOf(await this.#functions.top(JSON.stringify(options)))
  }

  verify(control: EngineControl): Promise<VerifyReport> {
    return this.#watched(control, (watch) => this.#functions.verify(watch))
  }

  repair(dryRun: boolean, control: EngineControl): Promise<RepairReport> {
    return this.#watched(control, (watch) => this.#functions.repair(dryRun, watch))
  }

  seal(target: string, since: readonly string[], control: EngineControl): Promise<SealReport> {
    return this.#watched(control, (watch) => this.#functions.seal(JSON.stringify({ target, since }), watch))
  }

  status(): EngineStatus {
    return reportOf(this.#functions.status())
  }

  async close(): Promise<readonly Damage[]> {
    await this.#lastCommit
    return reportOf(await this.#functions.close(Date.now()))
  }

  #taken(length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    this.#functions.take(bytes)
    return bytes
  }

  /** Runs a call whose task writes its progress, which this thread reads every 50 ms. */
  async #watched<Report>(control: EngineControl, call: (watch: number) => Promise<string>): Promise<Report> {
    const { signal, onProgress } = control
    // A short call ends before the first report, so the start is reported: the listener may still stop the call.
    onProgress?.(0, 0)
    if (signal?.aborted === true) throw new EngineFailure('CANCELLED', 'stopped on request before it began')
    const functions = this.#functions
    const watch = functions.beginWatch()
    const stop = (): void => functions.cancelWatch(watch)
    signal?.addEventListener('abort', stop, { once: true })
    const look = (): void => {
      const total = functions.watchTotal(watch)
      if (total > 0) onProgress?.(functions.watchDone(watch), total)
    }
    const timer = onProgress === undefined ? undefined : setInterval(look, PROGRESS_MS)
    try {
      const answer = await call(watch)
      look()
      return reportOf(answer)
    } finally {
      clearInterval(timer)
      signal?.removeEventListener('abort', stop)
      functions.endWatch(watch)
    }
  }
}

function ignore(): void {
  // The caller of the commit receives its failure.
}
