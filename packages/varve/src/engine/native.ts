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
  EngineFiles,
  EngineFolders,
  EngineImport,
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
import {
  ALL_FOLDERS,
  type ChunkReport,
  commitOf,
  EngineFailure,
  keysOf,
  pageOf,
  reportOf,
  sumsOf,
  valuesOf,
  viewOf,
} from './answers.ts'
import type { NativeAddon, NativeFiles, NodeStore, Progress } from './native-files.ts'
import { nowMs } from '../host/own.ts'
import { checkWith } from '../inputs/many.ts'
import { jsonOf } from '../values/json.ts'
import { UNFIT } from '../values/bytes.ts'

/** Interval between two reads of the progress of a long call, milliseconds. */
const PROGRESS_MS = 50

/** Bytes of the memory for keys and values, and how many numbers a call passes in memory. */
const SCRATCH_BYTES = 128 << 10
const CELLS = 3

/** Loads the addon. Throws if there is none for this machine. */
export function loadNative(): Engine {
  const addon = requireAddon<NativeAddon>()
  checkWith(addon)
  // The calls of all stores of this thread use them in turn, since the memory takes 20 us to make.
  const scratch = new Uint8Array(SCRATCH_BYTES)
  const cells = new Int32Array(new ArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT))
  return {
    name: 'native',
    folderName(secret) {
      const name = addon.folderName(secret)
      if (name === null) throw new EngineFailure('INVALID_ARGUMENT', 'the secret is too short')
      return name
    },
    async open(directory, options) {
      const { durability, readOnly, maxBytes, secret, layers } = options
      const order = jsonOf({ folder: directory, durability, readOnly, bytesMax: maxBytes, layers })
      const store =
        addon.openSmall(order, secret, scratch, cells) ?? (await addon.openStore(order, secret, scratch, cells))
      return typeof store === 'string' ? reportOf<never>(store) : new NativeStore(store, addon, scratch, cells)
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
  /** Declared only: terser, with which webpack minifies tools, fails to parse a field of this name. */
  declare readonly delete: EngineStore['delete']
  #files: NativeFiles | undefined
  readonly #store: NodeStore
  readonly #addon: NativeAddon
  readonly #scratchView: DataView
  /** Resolves when the newest commit on another thread has ended. */
  #lastCommit: Promise<void> = Promise.resolve()

  constructor(store: NodeStore, addon: NativeAddon, scratch: Uint8Array, cells: Int32Array) {
    this.#store = store
    this.#addon = addon
    this.scratch = scratch
    this.#scratchView = viewOf(scratch)
    this.get = store.get
    this.find = finderOf(store, cells)
    this.read = store.read
    this.has = store.has
    this.put = store.put
    this.delete = store.delete
  }

  namespace(name: string, version: string): number {
    return this.#store.namespace(name, version)
  }

  revision(): number {
    return this.#store.revision()
  }

  putWithBlobs(namespace: number, keyBytes: number, packed: Uint8Array): void {
    this.#store.putWithBlobs(namespace, keyBytes, packed)
  }

  pendingBytes(): number {
    return this.#store.pendingBytes()
  }

  pendingEntries(): number {
    return this.#store.pendingEntries()
  }

  refresh(): boolean {
    return this.#store.refresh()
  }

  damageCount(): number {
    return this.#store.damageCount()
  }

  async files(): Promise<EngineFiles> {
    const { NativeFiles: Files } = await import('./native-files.ts')
    this.#files ??= new Files(this.#store, (control, call) => this.#watched(control, call))
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
    return this.#store.getMany(namespace, keys, keyEnds, first, target, start, lengths)
  }

  getManyAtOnce(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): EngineValues {
    return valuesOf(this.#store.getManyAtOnce(namespace, keys, keyEnds), keyEnds.length)
  }

  async getManyAsync(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): Promise<EngineValues> {
    const answer = await this.#store.getManyAsync(namespace, keys, keyEnds)
    return typeof answer === 'string' ? reportOf<never>(answer) : valuesOf(answer, keyEnds.length)
  }

  scan(namespace: number, cursor: bigint, bytesMax: number, folders: EngineFolders = ALL_FOLDERS): EnginePage {
    return pageOf(this.#store.scan({ namespace, cursor, bytesMax }, true, folders.keys, folders.keyEnds))
  }

  scanKeys(namespace: number, cursor: bigint, bytesMax: number, folders: EngineFolders = ALL_FOLDERS): EngineKeys {
    return keysOf(this.#store.scan({ namespace, cursor, bytesMax }, false, folders.keys, folders.keyEnds))
  }

  scanFolders(namespace: number, cursor: bigint, bytesMax: number): EngineSums {
    return sumsOf(this.#store.scanFolders({ namespace, cursor, bytesMax }))
  }

  commit(durability: 'relaxed' | 'durable'): EngineCommit | Promise<EngineCommit> {
    const isDurable = durability === 'durable'
    const begun = this.#store.commit(isDurable, nowMs())
    if (begun === true) return commitOf(this.#scratchView)
    const commit = begun === false ? this.#lastCommit.then(() => this.#store.nextCommit(isDurable, nowMs())) : begun
    this.#lastCommit = commit.then(ignore, ignore)
    return commit.then((packed) => (typeof packed === 'string' ? reportOf<never>(packed) : commitOf(viewOf(packed))))
  }

  async flush(): Promise<void> {
    await this.#lastCommit
    reportOf(await this.#store.flush(nowMs()))
  }

  beginExport(options: EngineExport): number {
    return this.#store.beginExport(jsonOf(options))
  }

  exportChunk(transfer: number): EngineChunk {
    const { bytes: _, ...progress } = reportOf<ChunkReport>(this.#store.exportChunk(transfer))
    return { chunk: this.#store.take(), ...progress }
  }

  beginImport(overwrite: boolean): number {
    return this.#store.beginImport(overwrite)
  }

  feedImport(transfer: number, piece: Uint8Array): EngineImport {
    return reportOf(this.#store.feedImport(transfer, piece))
  }

  finishImport(transfer: number): void {
    reportOf(this.#store.finishImport(transfer))
  }

  async commitImport(transfer: number): Promise<CommitReport | undefined> {
    return reportOf<CommitReport | null>(await this.#store.commitImport(transfer, nowMs())) ?? undefined
  }

  endTransfer(transfer: number): void {
    this.#store.endTransfer(transfer)
  }

  compact(full: boolean, control: EngineControl): Promise<CompactReport> {
    return this.#watched(control, (progress) => this.#store.compact(full, progress, nowMs()))
  }

  async stats(): Promise<Stats> {
    return reportOf(await this.#store.stats())
  }

  async top(options: EngineTop): Promise<readonly TopItem[]> {
    return reportOf(await this.#store.top(jsonOf(options)))
  }

  verify(control: EngineControl): Promise<VerifyReport> {
    return this.#watched(control, (progress) => this.#store.verify(progress))
  }

  repair(dryRun: boolean, control: EngineControl): Promise<RepairReport> {
    return this.#watched(control, (progress) => this.#store.repair(dryRun, progress))
  }

  seal(target: string, since: readonly string[], control: EngineControl): Promise<SealReport> {
    return this.#watched(control, (progress) => this.#store.seal(jsonOf({ target, since }), progress))
  }

  status(): EngineStatus {
    return reportOf(this.#store.status())
  }

  async close(): Promise<readonly Damage[]> {
    await this.#lastCommit
    return reportOf(await this.#store.close(nowMs()))
  }

  /** Runs a call whose task writes its progress, which this thread reads every 50 ms. */
  async #watched<Report>(control: EngineControl, call: (progress: Progress) => Promise<string>): Promise<Report> {
    const { signal, onProgress } = control
    // A short call ends before the first report, so the start is reported: the listener may still stop the call.
    onProgress?.(0, 0)
    if (signal?.aborted === true) throw new EngineFailure('CANCELLED', 'stopped on request before it began')
    const progress = new this.#addon.Progress()
    const stop = (): void => progress.cancel()
    signal?.addEventListener('abort', stop, { once: true })
    const look = (): void => {
      const total = progress.total()
      if (total > 0) onProgress?.(progress.done(), total)
    }
    const timer = onProgress === undefined ? undefined : setInterval(look, PROGRESS_MS)
    try {
      const answer = await call(progress)
      look()
      return reportOf(answer)
    } finally {
      clearInterval(timer)
      signal?.removeEventListener('abort', stop)
    }
  }
}

function ignore(): void {
  // The caller of the commit receives its failure.
}

// Lookups of strings in the addon. What else a lookup needs is in memory that both share: an argument of Node-API takes 50
// instructions, an answer 85.

/** In the scratch memory, and beyond any target. */
const IN_SCRATCH = -1
const OUTSIDE = 0x7fffffff

/**
 * `find` of a store.
 * @param cells the namespace, where the value begins in the target (below zero: in the scratch memory instead), and the answer
 */
export function finderOf(store: NodeStore, cells: Int32Array): NonNullable<EngineStore['find']> {
  const { find } = store
  let target: Uint8Array | undefined

  function placeIn(pool: Uint8Array, start: number): number {
    // The caller of an earlier lookup may have transferred the pool's memory, which the addon must not touch any more.
    if (pool.length === 0) return OUTSIDE
    if (pool !== target) {
      store.setTarget(pool)
      target = pool
    }
    return start
  }

  return (namespace, key, pool, start) => {
    cells[0] = namespace
    cells[1] = pool === undefined ? IN_SCRATCH : placeIn(pool, start)
    find(key)
    return cells[2] ?? UNFIT
  }
}
