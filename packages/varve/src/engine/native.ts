/**
 * The native engine: the addon of `crates/node`. Slow calls run on Node's thread pool. The commits of one store run in
 * the order in which they began.
 */
import type {
  CommitReport,
  CompactReport,
  Damage,
  Engine,
  EngineChunk,
  EngineCommit,
  EngineControl,
  EngineExport,
  EngineImport,
  EngineFolders,
  EngineKeys,
  EnginePage,
  EngineStatus,
  EngineStore,
  EngineSums,
  EngineTop,
  EngineValues,
  RepairReport,
  SealReport,
  Stats,
  TopItem,
  VerifyReport,
} from './engine.ts'
import { requireAddon } from './addon.ts'
import { type ChunkReport, EngineFailure, reportOf } from './answer.ts'
import type { EngineFiles } from './files.ts'
import type { NativeAddon, StoreFunctions } from './native-calls.ts'
import type { NativeFiles } from './native-files.ts'
import { finderOf } from './native-find.ts'
import { ALL_FOLDERS, commitOf, keysOf, pageOf, sumsOf, valuesOf, viewOf } from './packed.ts'
import { nowMs } from '../host/now.ts'
import { jsonOf } from '../values/json.ts'

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
      const request = jsonOf({ folder: directory, durability, readOnly, bytesMax: maxBytes, layers })
      const functions = addon.openSmall(request, secret) ?? (await addon.openStore(request, secret))
      return typeof functions === 'string' ? reportOf<never>(functions) : new NativeStore(functions, addon)
    },
  }
}

/** One open store behind the engine's interface. */
class NativeStore implements EngineStore {
  readonly scratch: Uint8Array
  // Functions of the addon itself, so that a hot call is one call.
  readonly get: EngineStore['get']
  readonly find: NonNullable<EngineStore['find']>
  readonly read: EngineStore['read']
  readonly has: EngineStore['has']
  readonly put: EngineStore['put']
  readonly delete: EngineStore['delete']
  #files: NativeFiles | undefined
  readonly #functions: StoreFunctions
  readonly #scratchView: DataView
  /** Resolves when the newest commit on another thread has ended. */
  #lastCommit: Promise<void> = Promise.resolve()

  constructor(functions: StoreFunctions, { scratch, cells }: NativeAddon) {
    this.#functions = functions
    this.scratch = scratch
    this.#scratchView = viewOf(scratch)
    this.get = functions.get
    this.find = finderOf(functions, cells)
    this.read = functions.read
    this.has = functions.has
    this.put = functions.put
    this.delete = functions.delete
  }

  namespace(name: string, version: string): number {
    return this.#functions.namespace(name, version)
  }

  revision(): number {
    return this.#functions.revision()
  }

  putWithBlobs(namespace: number, keyBytes: number, packed: Uint8Array): void {
    this.#functions.putWithBlobs(namespace, keyBytes, packed)
  }

  pendingBytes(): number {
    return this.#functions.pendingBytes()
  }

  pendingEntries(): number {
    return this.#functions.pendingEntries()
  }

  refresh(): boolean {
    return this.#functions.refresh()
  }

  damageCount(): number {
    return this.#functions.damageCount()
  }

  async files(): Promise<EngineFiles> {
    const { NativeFiles: Files } = await import('./native-files.ts')
    this.#files ??= new Files(this.#functions, (control, call) => this.#watched(control, call))
    return this.#files
  }

  getMany(
    namespace: number,
    keys: Uint8Array,
    keyEnds: Uint32Array,
    first: number,
    target: Uint8Array,
    start: number,
    lengths: Int32Array,
  ): number {
    return this.#functions.getMany(namespace, keys, keyEnds, first, target, start, lengths)
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
    const begun = this.#functions.commit(isDurable, nowMs())
    if (begun === true) return commitOf(this.#scratchView)
    const commit = begun === false ? this.#lastCommit.then(() => this.#functions.nextCommit(isDurable, nowMs())) : begun
    this.#lastCommit = commit.then(ignore, ignore)
    return commit.then((packed) => (typeof packed === 'string' ? reportOf<never>(packed) : commitOf(viewOf(packed))))
  }

  async flush(): Promise<void> {
    await this.#lastCommit
    reportOf(await this.#functions.flush(nowMs()))
  }

  beginExport(options: EngineExport): number {
    return this.#functions.beginExport(jsonOf(options))
  }

  exportChunk(transfer: number): EngineChunk {
    const { bytes, ...progress } = reportOf<ChunkReport>(this.#functions.exportChunk(transfer))
    return { chunk: this.#taken(bytes), ...progress }
  }

  beginImport(overwrite: boolean): number {
    return this.#functions.beginImport(overwrite)
  }

  feedImport(transfer: number, piece: Uint8Array): EngineImport {
    return reportOf(this.#functions.feedImport(transfer, piece))
  }

  finishImport(transfer: number): void {
    reportOf(this.#functions.finishImport(transfer))
  }

  async commitImport(transfer: number): Promise<CommitReport | undefined> {
    return reportOf<CommitReport | null>(await this.#functions.commitImport(transfer, nowMs())) ?? undefined
  }

  endTransfer(transfer: number): void {
    this.#functions.endTransfer(transfer)
  }

  compact(full: boolean, control: EngineControl): Promise<CompactReport> {
    return this.#watched(control, (watch) => this.#functions.compact(full, watch, nowMs()))
  }

  async stats(): Promise<Stats> {
    return reportOf(await this.#functions.stats())
  }

  async top(options: EngineTop): Promise<readonly TopItem[]> {
    return reportOf(await this.#functions.top(jsonOf(options)))
  }

  verify(control: EngineControl): Promise<VerifyReport> {
    return this.#watched(control, (watch) => this.#functions.verify(watch))
  }

  repair(dryRun: boolean, control: EngineControl): Promise<RepairReport> {
    return this.#watched(control, (watch) => this.#functions.repair(dryRun, watch))
  }

  seal(target: string, since: readonly string[], control: EngineControl): Promise<SealReport> {
    return this.#watched(control, (watch) => this.#functions.seal(jsonOf({ target, since }), watch))
  }

  status(): EngineStatus {
    return reportOf(this.#functions.status())
  }

  async close(): Promise<readonly Damage[]> {
    await this.#lastCommit
    return reportOf(await this.#functions.close(nowMs()))
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
