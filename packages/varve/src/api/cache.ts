/**
 * A cache: one folder, many namespaces, atomic commits over all of them. Made by `openCache`; the rules of its folder
 * are the engine's.
 */
import { type CodecName, codecOf } from '../values/codec.ts'
import { VarveError } from '../errors.ts'
import { EXPORT_FIELDS, exportJson } from '../json/export.ts'
import type { Degraded } from '../health/degraded.ts'
import { Files } from '../files/files.ts'
import { IMPORT_FIELDS, importJson } from '../json/import.ts'
import type { Keeping } from '../session/keeping.ts'
import { Maintenance } from '../session/maintenance.ts'
import { Namespace } from '../session/namespace.ts'
import type {
  CloseOptions, CommitOptions, CompactOptions, Durability, ExportOptions, ImportOptions, NamespaceOptions, RepairOptions, WatchOptions,
} from '../options.ts'
import type { CommitReport, CompactReport, EngineStatus, ExportReport, ImportReport, RepairReport, Stats, VerifyReport } from '../reports.ts'
import type { Session } from '../session/session.ts'
import { Flights } from '../task/flights.ts'
import { type Asked, makeTask } from '../task/make.ts'
import type { TaskOptions } from '../task/options.ts'
import type { Task } from '../task/task.ts'
import type { ImportSource, NodeTarget, WebTarget } from '../json/transfer.ts'
import { BOOLEAN, checkOptions, describe, type Fields, oneOf, STRING } from '../checks/validate.ts'
import { joinVersions } from '../values/version.ts'
import { WATCH_FIELDS, watched } from '../session/watch.ts'

/** What is buffered in an open cache: put or deleted, and not committed. */
export interface Pending {
  /** Calls of `put` and `delete`, each counted, also where several have the same key. */
  readonly entries: number
  /** Bytes that they take in a log: keys, values and some bytes each. */
  readonly bytes: number
}

/** How a cache stands. */
export interface CacheStatus extends EngineStatus {
  readonly engine: 'native' | 'wasm'
  /** Why this engine and no other, in words. */
  readonly reason: string
  /** Absolute path of the folder. */
  readonly dir: string
  readonly durability: Durability
  /** What the next commit, or `close`, writes. What a commit under way writes does not count. */
  readonly pending: Pending
  /**
   * What keeps the cache from working as it should: why, and how to mend it. Undefined where nothing does. A folder that
   * cannot be written from the start takes relaxed commits into memory (`CommitReport.inMemory`), and is written as soon
   * as that is possible; a commit that fails later rejects, and everything stays buffered for the next one.
   */
  readonly degraded: Degraded | undefined
}

/** What is known of a cache from the moment it was opened. */
export type Opened = Pick<CacheStatus, 'engine' | 'reason' | 'dir' | 'durability'>

const DURABILITY = oneOf('relaxed', 'durable')
const NAMESPACE_FIELDS: Fields<NamespaceOptions> = { version: STRING, codec: oneOf('bytes', 'text', 'json', 'v8') }
const CLOSE_FIELDS: Fields<CloseOptions> = { commit: BOOLEAN }
const COMMIT_FIELDS: Fields<CommitOptions> = { durability: DURABILITY }
const REPAIR_FIELDS: Fields<RepairOptions> = { ...WATCH_FIELDS, dryRun: BOOLEAN }
const COMPACT_FIELDS: Fields<CompactOptions> = { ...WATCH_FIELDS, full: BOOLEAN }

/**
 * An open cache. Calls throw or reject with a VarveError; after `close` with its code CLOSED.
 *
 * @example
 * const cache = await openCache({ name: 'my-tool', version: '1.2.0' })
 * const modules = cache.namespace('transform', { version: '3', codec: 'text' })
 * const code = modules.get(id) ?? transformAndPut(id)
 * await cache.close() // commits what was put
 */
export class Cache {
  /** Outputs of tasks: whole folders stored by their content, and archives. */
  readonly files: Files
  readonly #session: Session
  readonly #keeping: Keeping
  readonly #maintenance: Maintenance
  readonly #opened: Opened
  readonly #place: string
  readonly #isReadOnly: boolean
  readonly #namespaces: Map<string, { readonly namespace: Namespace<unknown>; readonly asked: Asked }> = new Map()
  #flights: Flights | undefined
  #closing: Promise<void> | undefined

  /** @internal `place` tells it apart from the other caches of this process. */
  constructor(session: Session, keeping: Keeping, opened: Opened, readOnly: boolean, place: string) {
    this.files = new Files(session, readOnly)
    this.#session = session
    this.#keeping = keeping
    this.#maintenance = new Maintenance(session)
    this.#opened = opened
    this.#place = place
    this.#isReadOnly = readOnly
  }

  /**
   * The namespace of that name, the same object each time. One name has one version and codec per open cache: asking
   * for another, also by leaving the options out, throws INVALID_ARGUMENT, because each would drop the other's entries.
   */
  namespace(name: string, options?: NamespaceOptions & { readonly codec?: 'bytes' | undefined }): Namespace<Uint8Array>
  namespace(name: string, options: NamespaceOptions & { readonly codec: 'text' }): Namespace<string>
  namespace<V = unknown>(name: string, options: NamespaceOptions & { readonly codec: 'json' | 'v8' }): Namespace<V>
  namespace(name: string, options: NamespaceOptions = {}): Namespace<unknown> {
    this.#session.checkOpen()
    if (typeof name !== 'string' || name === '') {
      throw new VarveError('INVALID_ARGUMENT', `the name of a namespace is a text of at least one letter, not ${describe(name)}`)
    }
    checkOptions('namespace()', options, NAMESPACE_FIELDS)
    const { version = '', codec = 'bytes' } = options
    return this.#open(name, version, codec, { what: `namespace '${name}'`, version, codec })
  }

  /**
   * A task: work whose results are kept with everything they depend on. Several handles of one name share what is stored
   * and what is under way, and may differ in all options but version and codec; those throw INVALID_ARGUMENT.
   *
   * @example
   * const transform = cache.task('transform', { version: '3', codec: 'text' })
   * const code = await transform.run({ id, inputs: { source } }, () => compile(source))
   */
  task(name: string, options: TaskOptions & { readonly codec: 'bytes' }): Task<Uint8Array>
  task(name: string, options: TaskOptions & { readonly codec: 'text' }): Task<string>
  task<V = unknown>(name: string, options?: TaskOptions & { readonly codec?: 'json' | 'v8' | undefined }): Task<V>
  task(name: string, options: TaskOptions = {}): Task<unknown> {
    this.#session.checkOpen()
    this.#flights ??= new Flights(this.#place)
    const host = { session: this.#session, flights: this.#flights, open: this.#open.bind(this), dir: this.#opened.dir }
    return makeTask(host, name, options)
  }

  #open(name: string, ownVersion: string, codecName: CodecName, asked: Asked): Namespace<unknown> {
    const codec = codecOf<unknown>(codecName)
    const version = joinVersions(this.#session.version, ownVersion, codec.tag)
    const known = this.#namespaces.get(name)
    if (known === undefined) {
      const made = new Namespace(this.#session, name, version, codec)
      this.#namespaces.set(name, { namespace: made, asked })
      return made
    }
    if (known.namespace.version === version) return known.namespace
    const [open, now] = [known.asked, asked].map((one) => `version '${one.version}' and codec '${one.codec}'`)
    const wayOut = 'give the same options each time, or keep what the first call returned'
    throw new VarveError('INVALID_ARGUMENT', `${asked.what} is open with ${open}, and asked for with ${now}; ${wayOut}`)
  }

  /**
   * Writes everything buffered, in all namespaces, as one atomic commit: after a crash all of it is there or nothing.
   * Where it rejects, everything stays buffered and the next commit tries again. With nothing buffered it writes
   * nothing. It resolves only when the entries are in the folder; where that could not be written from the start, relaxed
   * commits resolve with `inMemory: true`.
   *
   * Rejects with DISK_FULL, PERMISSION, IO, READ_ONLY, CLOSED.
   */
  async commit(options: CommitOptions = {}): Promise<CommitReport> {
    checkOptions('commit()', options, COMMIT_FIELDS)
    this.#session.checkSound()
    const durability = options.durability ?? this.#opened.durability
    this.#session.seal()
    const report = await this.#session.track((store) => this.#keeping.commit(store, durability))
    const isRelaxed = durability === 'relaxed' && report.inMemory !== true
    this.#maintenance.committed(isRelaxed && report.entries > 0, report.maintenanceDue)
    return report
  }

  /** Makes every commit so far survive a loss of power. Happens by itself about 5 s after a commit, and in `close`. */
  async flush(): Promise<void> {
    this.#keeping.checkFlushed()
    await this.#session.run((store) => store.flush())
  }

  /**
   * Takes up what other processes committed since `openCache` or the last refresh; true if something changed. Two reads
   * see the same commits of other processes unless `refresh()`, `commit()` or another `openCache()` of this cache comes
   * in between. Native caches of one process share what they see, worker threads included, so a call in one thread shows
   * in the others.
   */
  refresh(): boolean {
    return this.#keeping.refresh()
  }

  /**
   * Folds logs and merges tables: what is due, or everything with `full: true`. The cache does what is due by itself;
   * call this to choose the time. Readers and writers go on meanwhile, and what they see stays the same: commits of
   * other processes, and evictions, show from the next `commit()` or `refresh()` on.
   *
   * Rejects with CANCELLED when `signal` aborts; nothing is lost then.
   */
  async compact(options: CompactOptions = {}): Promise<CompactReport> {
    checkOptions('compact()', options, COMPACT_FIELDS)
    this.#session.checkSound()
    return watched(options, (control) => this.#session.run((store) => store.compact(options.full ?? false, control)))
  }

  /**
   * Writes all entries as JSON to a stream of Node.js or of the web, which stays open. One committed state, whatever is
   * committed meanwhile; what is buffered is not part of it. The same entries give the same bytes, on both engines:
   * namespaces by name, entries in the order of their keys' hashes. Memory stays at some chunks of 256 KiB, more where
   * a value is larger. `docs/export.md` describes the format.
   *
   * Rejects with IO where the stream fails, with CANCELLED when `signal` aborts; what was written stays written then.
   *
   * @example
   * const file = createWriteStream('cache.json')
   * await cache.exportJson(file)
   * await finished(file.end())
   */
  async exportJson(target: NodeTarget | WebTarget, options: ExportOptions = {}): Promise<ExportReport> {
    checkOptions('exportJson()', options, EXPORT_FIELDS)
    return watched(options, (control) => exportJson(this.#session, target, options, control))
  }

  /**
   * Takes back what `exportJson` wrote: keys, values and versions come back to the byte. Reads any array of such
   * objects and any sequence of them, however they are spaced. Commits by itself, every 16 MiB of entries and at the
   * end; where it rejects, whole commits before are there and nothing else.
   *
   * `onProgress` is told bytes read; their total is not known. Rejects with INVALID_ARGUMENT and the line of the input
   * where that is no export, with IO where the stream fails, with CANCELLED, and as `commit` does.
   *
   * @example
   * const { entries } = await cache.importJson(createReadStream('cache.json'))
   */
  async importJson(source: ImportSource, options: ImportOptions = {}): Promise<ImportReport> {
    checkOptions('importJson()', options, IMPORT_FIELDS)
    const isRelaxed = this.#opened.durability === 'relaxed'
    const committed = ({ maintenanceDue }: CommitReport): void => this.#maintenance.committed(isRelaxed, maintenanceDue)
    return watched(options, (control) => importJson(this.#session, source, options, control, committed))
  }

  /** Sizes and counts, exact. */
  async stats(): Promise<Stats> {
    return this.#session.run((store) => store.stats())
  }

  /** Reads every byte and checks it. Changes nothing. Rejects with CANCELLED when `signal` aborts. */
  async verify(options: WatchOptions = {}): Promise<VerifyReport> {
    checkOptions('verify()', options, WATCH_FIELDS)
    return watched(options, (control) => this.#session.run((store) => store.verify(control)))
  }

  /**
   * Sets aside what is damaged (files are renamed to `<name>.bad`, at most 64 MiB of them stay) and keeps every entry
   * that is sound, in tables without the damaged blocks. Invents nothing: a damaged log or manifest leaves nobody to tell
   * which entries are the newest, so then all are misses. Others may read and write meanwhile; damage in the files of a
   * build that runs stays until that is done, and is a miss until then. With `dryRun` it only says what it would do.
   *
   * A cache heals by itself, too, at the commits and compactions after damage is met: call this to have it done now.
   */
  async repair(options: RepairOptions = {}): Promise<RepairReport> {
    checkOptions('repair()', options, REPAIR_FIELDS)
    return watched(options, (control) => this.#session.run((store) => store.repair(options.dryRun ?? false, control)))
  }

  /** How the cache stands: which engine and why, folder, damage met so far. */
  status(): CacheStatus {
    const status = this.#session.call((store) => ({
      ...store.status(),
      pending: { entries: store.pendingEntries(), bytes: store.pendingBytes() },
    }))
    return { ...this.#opened, ...status, degraded: this.#keeping.degraded }
  }

  /**
   * Commits what is buffered (relaxed), waits for what is under way, compacts what is due, closes every file. Where that
   * last commit fails, what was buffered is lost with one warning and everything else is closed all the same: call
   * `commit` before if your tool must know. `{ commit: false }` discards what is buffered. A cache with `readOnly: true`
   * never commits. A second call waits for the first.
   *
   * A process or worker thread that ends without `close` loses what it did not commit.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    checkOptions('close()', options, CLOSE_FIELDS)
    this.#maintenance.stop()
    const isCommitted = options.commit !== false && !this.#isReadOnly
    if (isCommitted && this.#closing === undefined) this.#session.seal()
    this.#closing ??= this.#session.close(isCommitted ? (store) => this.#keeping.commitRest(store) : undefined)
    await this.#closing
  }

  /** `close()`, for `await using cache = await openCache(...)`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
