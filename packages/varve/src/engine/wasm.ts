/** The WebAssembly engine: the module of `crates/wasm` on files of a host. All but the compaction of a larger folder runs on this thread. */
import * as glue from '../../generated/varve_wasm.js'
import { folderName, type Host, WasmStore } from '../../generated/varve_wasm.js'
import { bytes as engineBytes } from '../../generated/varve_wasm_bytes.js'
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
  EngineOptions,
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
import {
  ALL_FOLDERS,
  type ChunkReport,
  commitOf,
  keysOf,
  pageOf,
  reportOf,
  sumsOf,
  valuesOf,
  viewOf,
  LongCalls,
} from './answers.ts'
import { heldHost, WasmInstance } from './wasm-instance.ts'
import { tableHost } from './table-files.ts'
import type { WasmTrees } from './wasm-files.ts'
import { viewOf as viewAt } from '../values/bytes.ts'
import type { CompactElsewhere, LayerHosts, WasmPlace, WasmPlaces } from './wasm-place.ts'
import { nowMs } from '../host/own.ts'
import { randomBits } from '../host/builtin.ts'
import { jsonOf } from '../values/json.ts'

/** The instance that all stores of this thread share. */
const engineInstance: WasmInstance = new WasmInstance(
  engineBytes,
  glue,
  'this cache is closed, its files are intact. Reopen it to continue',
)

const FAILED = -2
const SCRATCH_BYTES = 128 * 1024

/** The engine over files of some kind. */
export async function wasmEngine(placeOf: WasmPlaces, layerHost: LayerHosts): Promise<Engine> {
  await engineInstance.prepare()
  engineInstance.get() // a process that cannot start it finds that out here
  return {
    name: 'wasm',
    folderName: nameOf,
    open: async (directory, options) =>
      new WasmEngineStore(placeOf(directory, nameOf(options.secret)), options, layerHost),
  }
}

function nameOf(secret: Uint8Array | undefined): string {
  const { generation } = engineInstance.get()
  return reportOf(engineInstance.guarded(generation, () => folderName(secret)))
}

/** One store behind the engine's interface. */
class WasmEngineStore implements EngineStore {
  readonly #store: WasmStore
  readonly #owner: number
  readonly #memory: WebAssembly.Memory
  readonly #options: EngineOptions
  readonly #elsewhere: CompactElsewhere | undefined
  readonly #folder: string | undefined
  readonly #layerHost: (directory: string) => Host
  #files: WasmTrees | undefined
  readonly #damage: DamageLog = new DamageLog()
  readonly #long: LongCalls = new LongCalls()
  #scratch: Uint8Array = new Uint8Array(0)
  readonly revision = (): number => 0 // no other thread commits to this store
  /** The length of the value that the last `get` has left there, if it fits. */
  #inScratch = -1

  constructor({ host, folder, compactElsewhere }: WasmPlace, options: EngineOptions, layerHost: LayerHosts) {
    const { generation, memory } = engineInstance.get()
    this.#owner = generation
    this.#memory = memory
    this.#options = options
    const { secret, layers, ...rest } = options
    this.#layerHost = (directory) => heldHost(tableHost(layerHost(directory, nameOf(secret))), engineInstance)
    const random = randomBits()
    this.#elsewhere = compactElsewhere
    this.#store = this.#call(() => {
      try {
        const order = jsonOf({ ...rest, layers })
        return WasmStore.open(
          heldHost(tableHost(host), engineInstance),
          order,
          secret,
          random,
          layers.map(this.#layerHost),
        )
      } catch (error) {
        if (typeof error !== 'string') throw error
        return reportOf<never>(error)
      }
    })
    this.#folder = folder
  }

  async files(): Promise<EngineFiles> {
    const { WasmTrees: Files } = await import('./wasm-files.ts')
    this.#files ??= new Files({
      store: this.#store,
      folder: this.#folder,
      readOnly: this.#options.readOnly,
      call: (run) => this.#call(run),
      take: (target) => this.#takeInto(target),
      number: (run) => this.#number(run),
      watcher: (control) => this.#long.watcherOf(control),
    })
    return this.#files
  }

  get scratch(): Uint8Array {
    // Memory that has grown is another buffer, and arrays of the old one are empty. Asking for the buffer would cost 15 ns twice a lookup.
    if (this.#scratch.length === 0) {
      if (this.#long.isReporting) return new Uint8Array(SCRATCH_BYTES) // for a call that is refused, as those of an ended instance are
      const isGone = !engineInstance.isPresent(this.#owner)
      this.#scratch = isGone
        ? new Uint8Array(SCRATCH_BYTES)
        : new Uint8Array(this.#memory.buffer, this.#store.scratchAt, this.#store.scratchBytes)
    }
    return this.#scratch
  }

  namespace(name: string, version: string): number {
    return reportOf(this.#call(() => this.#store.namespace(name, version)))
  }

  get(namespace: number, keyBytes: number, target: Uint8Array, start: number): number {
    const size = this.#number(() => this.#store.get(namespace, keyBytes))
    this.#inScratch = size
    if (size > 0 && start + size <= target.length && size <= SCRATCH_BYTES)
      target.set(viewAt(this.scratch, 0, size), start)
    return size
  }

  read(target: Uint8Array): number {
    if (this.#inScratch === target.length && target.length <= SCRATCH_BYTES) {
      target.set(viewAt(this.scratch, 0, target.length))
      return target.length
    }
    const size = this.#number(() => this.#store.hold(target.length))
    if (size === target.length) this.#takeInto(target)
    return size
  }

  has(namespace: number, keyBytes: number): boolean {
    return this.#number(() => this.#store.has(namespace, keyBytes)) === 1
  }

  put(namespace: number, keyBytes: number, value: Uint8Array): void {
    this.#number(() => this.#store.put(namespace, keyBytes, value))
  }

  putWithBlobs(namespace: number, keyBytes: number, packed: Uint8Array): void {
    this.#number(() => this.#store.putWithBlobs(namespace, keyBytes, packed))
  }

  delete(namespace: number, keyBytes: number): void {
    this.#number(() => this.#store.delete(namespace, keyBytes))
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
    this.#inScratch = -1
    const room = Math.min(SCRATCH_BYTES, target.length - start)
    const next = this.#number(() => this.#store.getMany(namespace, keys, keyEnds, first, room, lengths))
    let used = 0
    for (let index = first; index < next; index++) used = ((used + 7) & ~7) + Math.max(lengths[index] ?? 0, 0)
    if (start + used <= target.length) target.set(viewAt(this.scratch, 0, used), start)
    return next
  }

  getManyAtOnce(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): EngineValues {
    return valuesOf(
      this.#taken(() => this.#store.getManyAtOnce(namespace, keys, keyEnds)),
      keyEnds.length,
    )
  }

  async getManyAsync(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): Promise<EngineValues> {
    return this.getManyAtOnce(namespace, keys, keyEnds)
  }

  scan(namespace: number, cursor: bigint, bytesMax: number, folders: EngineFolders = ALL_FOLDERS): EnginePage {
    return pageOf(this.#taken(() => this.#store.scan(namespace, cursor, bytesMax, folders.keys, folders.keyEnds)))
  }

  scanKeys(namespace: number, cursor: bigint, bytesMax: number, folders: EngineFolders = ALL_FOLDERS): EngineKeys {
    return keysOf(this.#taken(() => this.#store.scanKeys(namespace, cursor, bytesMax, folders.keys, folders.keyEnds)))
  }

  scanFolders(namespace: number, cursor: bigint, bytesMax: number): EngineSums {
    return sumsOf(this.#taken(() => this.#store.scanFolders(namespace, cursor, bytesMax)))
  }

  pendingBytes(): number {
    return this.#number(() => this.#store.pendingBytes())
  }

  pendingEntries(): number {
    return this.#number(() => this.#store.pendingEntries())
  }

  commit(durability: 'relaxed' | 'durable'): EngineCommit {
    this.#number(() => this.#store.commit(durability === 'durable', nowMs()))
    const { damageCount, ...committed } = commitOf(viewOf(this.scratch))
    this.#files?.committed()
    return { ...committed, damageCount: damageCount + this.#damage.elsewhere }
  }

  async flush(): Promise<void> {
    reportOf(this.#call(() => this.#store.flush(nowMs())))
  }

  beginExport(options: EngineExport): number {
    return reportOf(this.#call(() => this.#store.beginExport(jsonOf(options))))
  }

  exportChunk(transfer: number): EngineChunk {
    const { bytes, ...progress } = reportOf<ChunkReport>(this.#call(() => this.#store.exportChunk(transfer)))
    return { chunk: this.#taken(() => bytes), ...progress }
  }

  beginImport(overwrite: boolean): number {
    return reportOf(this.#call(() => this.#store.beginImport(overwrite)))
  }

  feedImport(transfer: number, piece: Uint8Array): EngineImport {
    return reportOf(this.#call(() => this.#store.feedImport(transfer, piece)))
  }

  finishImport(transfer: number): void {
    reportOf(this.#call(() => this.#store.finishImport(transfer)))
  }

  async commitImport(transfer: number): Promise<CommitReport | undefined> {
    return reportOf<CommitReport | null>(this.#call(() => this.#store.commitImport(transfer, nowMs()))) ?? undefined
  }

  endTransfer(transfer: number): void {
    this.#call(() => this.#store.endTransfer(transfer))
  }

  refresh(): boolean {
    return reportOf(this.#call(() => this.#store.refresh()))
  }

  async compact(full: boolean, control: EngineControl): Promise<CompactReport> {
    // Another thread would treat a log without a lock as abandoned, and the contents it holds as obsolete.
    const isHere = this.#options.readOnly || this.#files?.isHolding === true
    // The other thread evicts by recorded usage, so record what was read here.
    if (!isHere && this.#elsewhere !== undefined) await this.flush()
    const compacted = isHere
      ? undefined
      : await this.#elsewhere?.(full, control, this.#options, engineInstance.module())
    if (compacted === undefined)
      return reportOf(this.#call(() => this.#store.compact(full, nowMs(), this.#long.watcherOf(control))))
    this.#damage.addElsewhere(compacted.damage)
    // The next commit can drop what the worker checkpointed; commits of others stay invisible until then.
    reportOf(this.#call(() => this.#store.lookAhead()))
    return compacted.report
  }

  async stats(): Promise<Stats> {
    return reportOf(this.#call(() => this.#store.stats()))
  }

  async top(options: EngineTop): Promise<readonly TopItem[]> {
    return reportOf(this.#call(() => this.#store.top(jsonOf(options))))
  }

  async verify(control: EngineControl): Promise<VerifyReport> {
    return reportOf(this.#call(() => this.#store.verify(this.#long.watcherOf(control))))
  }

  async repair(dryRun: boolean, control: EngineControl): Promise<RepairReport> {
    return reportOf(this.#call(() => this.#store.repair(dryRun, this.#long.watcherOf(control))))
  }

  async seal(target: string, since: readonly string[], control: EngineControl): Promise<SealReport> {
    const hosts = since.map(this.#layerHost)
    return reportOf(
      this.#call(() => this.#store.seal(this.#layerHost(target), [...since], hosts, this.#long.watcherOf(control))),
    )
  }

  damageCount(): number {
    return this.#number(() => this.#store.damageCount()) + this.#damage.elsewhere
  }

  status(): EngineStatus {
    const status = reportOf<EngineStatus>(this.#call(() => this.#store.status()))
    return { ...status, damage: this.#damage.add(status.damage) }
  }

  async close(): Promise<readonly Damage[]> {
    try {
      return this.#damage.add(reportOf(this.#call(() => this.#store.close(nowMs()))))
    } finally {
      // The garbage collector sees only a small object, not its scratch memory in the module, and would free it late.
      this.#call(() => this.#store.free())
    }
  }

  #call<T>(call: () => T): T {
    this.#long.check()
    return engineInstance.guarded(this.#owner, call)
  }

  #number(call: () => number): number {
    const number = this.#call(call)
    return number === FAILED ? reportOf<never>(this.#store.failure()) : number
  }

  #taken(call: () => number): Uint8Array {
    const bytes = new Uint8Array(this.#number(call))
    this.#takeInto(bytes)
    return bytes
  }

  /** Copies the kept answer out of the memory of the module, and releases it. */
  #takeInto(target: Uint8Array): void {
    this.#call(() => {
      target.set(new Uint8Array(this.#memory.buffer, this.#store.heldAt, target.length))
      this.#store.release()
    })
  }
}

/**
 * Damage that a store detected on this thread, and that its compactions detected on others. Places are only appended, each
 * once, so that the length of the list shows what is new.
 */
class DamageLog {
  /** Number of places that other threads detected first. */
  elsewhere = 0
  readonly #places: Damage[] = []

  /** Adds damage of this thread; returns all. */
  add(met: readonly Damage[]): readonly Damage[] {
    for (const place of met) if (!this.#places.some((known) => isSame(known, place))) this.#places.push(place)
    return [...this.#places]
  }

  /** Adds damage of another thread. */
  addElsewhere(met: readonly Damage[]): void {
    const before = this.#places.length
    this.elsewhere += this.add(met).length - before
  }
}

function isSame(one: Damage, other: Damage): boolean {
  return one.file === other.file && one.offset === other.offset && one.what === other.what
}
