/**
 * The native engine: the addon of `crates/node`. Slow calls run on Node's thread pool. The commits of one store follow
 * each other in the order in which they were begun.
 */
import type {
  CommitReport, CompactReport, Damage, Engine, EngineChunk, EngineControl, EngineExport, EngineImport, EnginePage, EngineStatus,
  EngineStore, EngineTop, EngineValues, RepairReport, Stats, TopItem, VerifyReport,
} from './engine.ts'
import { requireAddon } from './addon.ts'
import { type ChunkReport, EngineFailure, reportOf } from './answer.ts'
import type { EngineFiles } from './files.ts'
import type { NativeFiles, NativeFilesSession } from './native-files.ts'
import { pageOf, valuesOf } from './packed.ts'

/** The functions of one session; `crates/node/src/{hot,cold,slow}.rs`. */
interface NativeSession extends NativeFilesSession {
  readonly scratch: Uint8Array
  get(namespace: number, keyBytes: number): number
  take(target: Uint8Array): void
  has(namespace: number, keyBytes: number): boolean
  put(namespace: number, keyBytes: number, value: Uint8Array): void
  delete(namespace: number, keyBytes: number): void
  getMany(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): number
  getManyAsync(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): Promise<Uint8Array | string>
  namespace(name: string, version: string): number
  scan(namespace: number, cursor: bigint, bytesMax: number): number
  pendingBytes(): number
  pendingEntries(): number
  beginCommit(): boolean
  commitNow(durability: string, nowMs: number): string
  refresh(): boolean
  status(): string
  commit(durability: string, nowMs: number): Promise<string>
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
  damageCount(): number
  /** A string if there was nothing to write. */
  close(nowMs: number): Promise<string> | string
  beginWatch(): number
  watchDone(watch: number): number
  watchTotal(watch: number): number
  cancelWatch(watch: number): void
  endWatch(watch: number): void
}

type OpenOrder = [folder: string, durability: string, readOnly: boolean, bytesMax: number, secret: Uint8Array | null]

/** What the addon exports. */
export interface NativeAddon {
  openStore(...order: OpenOrder): Promise<NativeSession | string>
  /** Opens a small cache on this thread, because switching threads twice takes longer. Null if it cannot. */
  openSmall(...order: OpenOrder): NativeSession | null
  /** Null if the secret is too short. */
  folderName(secret: Uint8Array | null): string | null
}

/** A relaxed commit of fewer bytes is complete before the call returns: one write costs less than a task. */
const COMMIT_NOW_BYTES = 256 * 1024
const PROGRESS_MS = 50

/** Loads the addon. Throws if there is none for this machine. */
export function loadNative(): Engine {
  const addon = requireAddon<NativeAddon>()
  return {
    name: 'native',
    folderName(secret) {
      const name = addon.folderName(secret ?? null)
      if (name === null) throw new EngineFailure('INVALID_ARGUMENT', 'the secret is too short')
      return name
    },
    async open(directory, options) {
      const order: OpenOrder = [directory, options.durability, options.readOnly, options.maxBytes, options.secret ?? null]
      const session = addon.openSmall(...order) ?? (await addon.openStore(...order))
      return typeof session === 'string' ? reportOf<never>(session) : new NativeStore(session)
    },
  }
}

/** One session behind the engine's interface. */
class NativeStore implements EngineStore {
  readonly scratch: Uint8Array
  // The addon's functions themselves, so that a hot call is one call.
  readonly namespace: EngineStore['namespace']
  readonly get: EngineStore['get']
  readonly take: EngineStore['take']
  readonly has: EngineStore['has']
  readonly put: EngineStore['put']
  readonly putFiled: EngineStore['putFiled']
  readonly delete: EngineStore['delete']
  readonly pendingBytes: EngineStore['pendingBytes']
  readonly pendingEntries: EngineStore['pendingEntries']
  readonly refresh: EngineStore['refresh']
  readonly damageCount: EngineStore['damageCount']
  readonly beginImport: EngineStore['beginImport']
  readonly endTransfer: EngineStore['endTransfer']
  #files: NativeFiles | undefined
  readonly #session: NativeSession
  /** Commits under way, the last one. */
  #commits: Promise<unknown> | undefined

  constructor(session: NativeSession) {
    this.#session = session
    this.scratch = session.scratch
    this.namespace = session.namespace
    this.get = session.get
    this.take = session.take
    this.has = session.has
    this.put = session.put
    this.putFiled = session.putFiled
    this.delete = session.delete
    this.pendingBytes = session.pendingBytes
    this.pendingEntries = session.pendingEntries
    this.refresh = session.refresh
    this.damageCount = session.damageCount
    this.beginImport = session.beginImport
    this.endTransfer = session.endTransfer
  }

  async files(): Promise<EngineFiles> {
    const { NativeFiles: Files } = await import('./native-files.ts')
    this.#files ??= new Files(this.#session, (control, call) => this.#watched(control, call))
    return this.#files
  }

  getMany(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): EngineValues {
    return valuesOf(this.#taken(this.#session.getMany(namespace, keys, keyEnds)), keyEnds.length)
  }

  async getManyAsync(namespace: number, keys: Uint8Array, keyEnds: Uint32Array): Promise<EngineValues> {
    const answer = await this.#session.getManyAsync(namespace, keys, keyEnds)
    return typeof answer === 'string' ? reportOf<never>(answer) : valuesOf(answer, keyEnds.length)
  }

  scan(namespace: number, cursor: bigint, bytesMax: number): EnginePage {
    return pageOf(this.#taken(this.#session.scan(namespace, cursor, bytesMax)))
  }

  async commit(durability: 'relaxed' | 'durable'): Promise<CommitReport> {
    const bytes = this.#session.pendingBytes()
    if (!this.#session.beginCommit()) return { entries: 0, bytes: 0, maintenanceDue: false }
    if (durability === 'relaxed' && bytes < COMMIT_NOW_BYTES && this.#commits === undefined) {
      return reportOf(this.#session.commitNow(durability, Date.now()))
    }
    const run = (): Promise<string> => this.#session.commit(durability, Date.now())
    const commit = this.#commits === undefined ? run() : this.#commits.then(run, run)
    this.#commits = commit
    try {
      return reportOf(await commit)
    } finally {
      if (this.#commits === commit) this.#commits = undefined
    }
  }

  async flush(): Promise<void> {
    await this.#commits
    reportOf(await this.#session.flush(Date.now()))
  }

  beginExport(options: EngineExport): number {
    return this.#session.beginExport(JSON.stringify(options))
  }

  exportChunk(transfer: number): EngineChunk {
    const { bytes, ...progress } = reportOf<ChunkReport>(this.#session.exportChunk(transfer))
    return { chunk: this.#taken(bytes), ...progress }
  }

  feedImport(transfer: number, piece: Uint8Array): EngineImport {
    return reportOf(this.#session.feedImport(transfer, piece))
  }

  finishImport(transfer: number): void {
    reportOf(this.#session.finishImport(transfer))
  }

  async commitImport(transfer: number): Promise<CommitReport | undefined> {
    return reportOf<CommitReport | null>(await this.#session.commitImport(transfer, Date.now())) ?? undefined
  }

  compact(full: boolean, control: EngineControl): Promise<CompactReport> {
    return this.#watched(control, (watch) => this.#session.compact(full, watch, Date.now()))
  }

  async stats(): Promise<Stats> {
    return reportOf(await this.#session.stats())
  }

  async top(options: EngineTop): Promise<readonly TopItem[]> {
    return reportOf(await this.#session.top(JSON.stringify(options)))
  }

  verify(control: EngineControl): Promise<VerifyReport> {
    return this.#watched(control, (watch) => this.#session.verify(watch))
  }

  repair(dryRun: boolean, control: EngineControl): Promise<RepairReport> {
    return this.#watched(control, (watch) => this.#session.repair(dryRun, watch))
  }

  status(): EngineStatus {
    return reportOf(this.#session.status())
  }

  async close(): Promise<readonly Damage[]> {
    await this.#commits
    return reportOf(await this.#session.close(Date.now()))
  }

  #taken(length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    this.#session.take(bytes)
    return bytes
  }

  /** Runs a call whose task writes its progress, which this thread reads every 50 ms. */
  async #watched<Report>(control: EngineControl, call: (watch: number) => Promise<string>): Promise<Report> {
    const { signal, onProgress } = control
    // A short call ends before the first report, so the start is reported: the listener may still stop the call.
    onProgress?.(0, 0)
    if (signal?.aborted === true) throw new EngineFailure('CANCELLED', 'stopped on request before it began')
    const session = this.#session
    const watch = session.beginWatch()
    const stop = (): void => session.cancelWatch(watch)
    signal?.addEventListener('abort', stop, { once: true })
    const look = (): void => {
      const total = session.watchTotal(watch)
      if (total > 0) onProgress?.(session.watchDone(watch), total)
    }
    const timer = onProgress === undefined ? undefined : setInterval(look, PROGRESS_MS)
    try {
      const answer = await call(watch)
      look()
      return reportOf(answer)
    } finally {
      clearInterval(timer)
      signal?.removeEventListener('abort', stop)
      session.endWatch(watch)
    }
  }
}
