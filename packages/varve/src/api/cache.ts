/** A cache: one directory, many namespaces, atomic commits across all of them. Made by `openCache`. */
import { VarveError } from '../errors.ts'
import { sealIn } from '../health/domain.ts'
import { Files } from '../files/files.ts'
import type { BuildCounts } from '../history/tally.ts'
import { readHistory, Recorder, RESERVED_PREFIX, type BuildRecord } from '../history/history.ts'
import { Commits, Maintenance } from '../session/commits.ts'
import { Namespace } from '../session/namespace.ts'
import type { ExportOptions, ImportOptions } from '../json/transfer.ts'
import type {
  CloseOptions,
  CommitOptions,
  CompactOptions,
  NamespaceOptions,
  RepairOptions,
  SealOptions,
  WatchOptions,
} from '../options.ts'
import type {
  CommitReport,
  CompactReport,
  ExportReport,
  ImportReport,
  RepairReport,
  SealReport,
  Stats,
  VerifyReport,
} from '../reports.ts'
import { type Session, WATCH_FIELDS, watched } from '../session/session.ts'
import { type Asked, makeTask } from '../task/make.ts'
import type { TaskOptions } from '../task/options.ts'
import type { Task } from '../task/task.ts'
import type { ExportTarget, ImportSource } from '../json/streams.ts'
import { BOOLEAN, checkOptions, describe, type Fields, oneOf, STRING, TEXT, TEXTS } from '../checks/options.ts'
import { unrecorded } from '../reads/sink.ts'
import { type ResolvedOptions, type OpenedStore, type CacheStatus, remoteNow } from './store.ts'
import { onceIn } from '../task/in-flight.ts'
import { type CodecName, codecOf, joinVersions } from '../values/codec.ts'

const DURABILITY = oneOf('relaxed', 'durable')
const NAMESPACE_FIELDS: Fields<NamespaceOptions> = { version: STRING, codec: oneOf('bytes', 'text', 'json', 'v8') }
const CLOSE_FIELDS: Fields<CloseOptions> = { commit: BOOLEAN }
const COMMIT_FIELDS: Fields<CommitOptions> = { durability: DURABILITY }
const REPAIR_FIELDS: Fields<RepairOptions> = { ...WATCH_FIELDS, dryRun: BOOLEAN }
const SEAL_FIELDS: Fields<SealOptions> = {
  ...WATCH_FIELDS,
  since: ['the path of a directory, or an array of such paths', (value) => TEXT[1](value) || TEXTS[1](value)],
}
const COMPACT_FIELDS: Fields<CompactOptions> = { ...WATCH_FIELDS, full: BOOLEAN }

interface CacheParts {
  readonly options: ResolvedOptions
  readonly opened: OpenedStore
  readonly session: Session
}

/**
 * An open cache. Calls throw or reject with a VarveError; after `close` its code is CLOSED.
 *
 * @example
 * const cache = await openCache({ name: 'my-tool', version: '1.2.0' })
 * const modules = cache.namespace('transform', { version: '3', codec: 'text' })
 * const code = modules.get(id) ?? transformAndPut(id)
 * await cache.close() // commits what was put
 */
export class Cache {
  /** Stores and restores directory trees and archives. */
  readonly files: Files
  readonly #session: Session
  readonly #commits: Commits
  readonly #maintenance: Maintenance
  readonly #options: ResolvedOptions
  readonly #opened: OpenedStore
  readonly #namespaces: Namespaces
  #closing: Promise<void> | undefined

  /** @internal */
  constructor({ options, opened, session }: CacheParts) {
    const { engine, place, degraded, remote } = opened
    const attached =
      remote === undefined ? null : { layers: remote.report.layers, fetchedBytes: remote.report.fetchedBytes }
    const { name, history: mode } = options
    const recorder = new Recorder({ mode, name, engine, tally: session.tally, remote: attached })
    this.files = new Files(session, options.readOnly)
    this.#session = session
    this.#commits = new Commits(session, degraded, place, recorder)
    this.#maintenance = new Maintenance(session)
    this.#options = options
    this.#opened = opened
    this.#namespaces = new Namespaces(session, opened.identity)
  }

  /** Whether `close` was called, on this object; every other call then throws CLOSED. */
  get closed(): boolean {
    return this.#session.isClosed
  }

  /**
   * The namespace of that name, the same object each time. A name has one version and codec per open cache. Another version
   * or codec, also the default, throws INVALID_ARGUMENT, because each would invalidate the entries of the other.
   */
  namespace(name: string, options?: NamespaceOptions & { readonly codec?: 'bytes' | undefined }): Namespace<Uint8Array>
  namespace(name: string, options: NamespaceOptions & { readonly codec: 'text' }): Namespace<string>
  namespace<V = unknown>(name: string, options: NamespaceOptions & { readonly codec: 'json' | 'v8' }): Namespace<V>
  namespace(name: string, options: NamespaceOptions = {}): Namespace<unknown> {
    this.#session.checkOpen()
    if (typeof name !== 'string' || name === '') {
      throw new VarveError(
        'INVALID_ARGUMENT',
        `the name of a namespace is a string that is not empty, not ${describe(name)}`,
      )
    }
    if (name.startsWith(RESERVED_PREFIX)) {
      throw new VarveError(
        'INVALID_ARGUMENT',
        `the name of a namespace does not begin with '${RESERVED_PREFIX}', which Varve uses: '${name}'`,
      )
    }
    checkOptions('namespace()', options, NAMESPACE_FIELDS)
    const { version = '', codec = 'bytes' } = options
    return this.#namespaces.open(name, version, codec, { what: `namespace '${name}'`, version, codec })
  }

  /**
   * A task: work whose results are cached with everything they depend on. Task objects of one name share their entries and
   * the work in flight. They may differ in all options except version and codec, which throw INVALID_ARGUMENT.
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
    const open = this.#namespaces.open.bind(this.#namespaces)
    return makeTask(
      { session: this.#session, place: this.#opened.identity, open, dir: this.#opened.dir },
      name,
      options,
    )
  }

  /**
   * Writes all buffered entries, of all namespaces, as one atomic commit: after a crash either all of them are there or
   * none. If it rejects, they stay buffered and the next commit retries. Without buffered entries it writes nothing. If the
   * directory could not be written from the start, relaxed commits resolve with `inMemory: true`.
   *
   * Rejects with DISK_FULL, PERMISSION, IO, READ_ONLY, CLOSED.
   */
  async commit(options?: CommitOptions): Promise<CommitReport> {
    if (options !== undefined) checkOptions('commit()', options, COMMIT_FIELDS)
    this.#session.checkSound()
    const durability = options?.durability ?? this.#options.durability
    this.#session.seal()
    const report = await this.#session.track((store) => this.#commits.commit(store, durability))
    const isRelaxed = durability === 'relaxed' && report.inMemory !== true
    this.#maintenance.committed(isRelaxed && report.entries > 0, report.maintenanceDue)
    return report
  }

  /** Makes every commit so far survive a power failure. Varve does this about 5 s after a commit, and in `close`. */
  async flush(): Promise<void> {
    this.#commits.checkFlushed()
    await this.#session.run((store) => store.flush())
  }

  /**
   * Makes visible what other processes committed since `openCache` or the last refresh, and returns true if something
   * changed. Two reads see the same commits of other processes unless `refresh()`, `commit()` or another `openCache()` of
   * this cache happens in between. Native caches of one process share this view, also across worker threads.
   */
  refresh(): boolean {
    return this.#commits.refresh()
  }

  /**
   * Checkpoints logs and merges tables: what is due, or everything with `full: true`. Varve does what is due on its own;
   * call this to choose the time. Readers and writers continue, and see the same entries until their next `commit()` or
   * `refresh()`.
   *
   * Rejects with CANCELLED when `signal` aborts; nothing is lost then.
   */
  async compact(options: CompactOptions = {}): Promise<CompactReport> {
    checkOptions('compact()', options, COMPACT_FIELDS)
    this.#session.checkSound()
    return watched(options, (control) => this.#session.run((store) => store.compact(options.full ?? false, control)))
  }

  /**
   * Writes all entries as JSON to a stream of Node.js or of the web, and leaves the stream open. The export holds one
   * committed state, without buffered entries. The same entries give the same bytes on both engines: namespaces by name,
   * entries in the order of the hashes of their keys. Memory holds a few chunks of 256 KiB, more if a value is larger.
   * `docs/export.md` describes the format.
   *
   * Rejects with IO if the stream fails and with CANCELLED when `signal` aborts; bytes that were written stay written.
   *
   * @example
   * const file = createWriteStream('cache.json')
   * await cache.exportJson(file)
   * await finished(file.end())
   */
  async exportJson(target: ExportTarget, options: ExportOptions = {}): Promise<ExportReport> {
    const { EXPORT_FIELDS, exportJson } = await import('../json/transfer.ts')
    checkOptions('exportJson()', options, EXPORT_FIELDS)
    return watched(options, (control) => exportJson(this.#session, target, options, control))
  }

  /**
   * Imports what `exportJson` wrote; keys, values and versions are restored to the byte. It accepts any array and any
   * sequence of such objects, with any white space. It commits every 16 MiB of entries and at the end. If it rejects, the
   * commits before are kept and nothing else.
   *
   * `onProgress` receives the bytes read; their total is unknown. Rejects with INVALID_ARGUMENT and the line of the input
   * that is not part of an export, with IO if the stream fails, with CANCELLED, and as `commit` does.
   *
   * @example
   * const { entries } = await cache.importJson(createReadStream('cache.json'))
   */
  async importJson(source: ImportSource, options: ImportOptions = {}): Promise<ImportReport> {
    const { IMPORT_FIELDS, importJson } = await import('../json/transfer.ts')
    checkOptions('importJson()', options, IMPORT_FIELDS)
    const isRelaxed = this.#options.durability === 'relaxed'
    const committed = ({ maintenanceDue }: CommitReport): void => this.#maintenance.committed(isRelaxed, maintenanceDue)
    return watched(options, (control) => importJson(this.#session, source, options, control, committed))
  }

  /** Sizes and counts, exact. */
  async stats(): Promise<Stats> {
    return this.#session.run((store) => store.stats())
  }

  /**
   * Reads every byte and checks it. Changes no file; the next commit of this process repairs what it found. Rejects with
   * CANCELLED when `signal` aborts.
   */
  async verify(options: WatchOptions = {}): Promise<VerifyReport> {
    checkOptions('verify()', options, WATCH_FIELDS)
    return watched(options, (control) => this.#session.run((store) => store.verify(control)))
  }

  /**
   * Quarantines damaged files (renames them to `<name>.bad`, and keeps at most 64 MiB of those) and keeps every sound entry
   * in tables without the damaged blocks. If a log or manifest is damaged, the newest entries are unknown, so all entries
   * become misses. Other processes may read and write meanwhile; damage in the files of a running build stays, as misses,
   * until that build ends. `dryRun` reports what a repair would do.
   *
   * Commits and compactions that follow damage repair a cache, too: call this to repair it now.
   */
  async repair(options: RepairOptions = {}): Promise<RepairReport> {
    checkOptions('repair()', options, REPAIR_FIELDS)
    return watched(options, (control) => this.#session.run((store) => store.repair(options.dryRun ?? false, control)))
  }

  /**
   * Seals the committed entries that this cache sees, with those of its layers, as a layer in `directory`: a new directory
   * or one without a cache. Other caches are opened over it with option `layers`. Equal entries give equal files. A crash
   * leaves a whole layer or none.
   *
   * Rejects with INVALID_ARGUMENT if the directory has a cache or a layer, or if a layer of `since` cannot be read; with
   * DAMAGED if the newest entries are unknown; with CANCELLED and IO.
   *
   * @example
   * await cache.seal('/opt/base/my-tool')
   */
  async seal(directory: string, options: SealOptions = {}): Promise<SealReport> {
    checkOptions('seal()', options, SEAL_FIELDS)
    if (!TEXT[1](directory)) {
      throw new VarveError('INVALID_ARGUMENT', `seal() takes the path of a directory, not ${describe(directory)}`)
    }
    const { since = [], ...watch } = options
    const { pathOf } = await import('../remote/layers.ts')
    const layers = (typeof since === 'string' ? [since] : since).map(pathOf)
    const target = pathOf(directory)
    return sealIn(this.#opened.domain, target, () =>
      watched(watch, (control) => this.#session.run((store) => store.seal(target, layers, control))),
    )
  }

  /**
   * The records of the last builds, at most about 1,000, the newest first; `CacheOptions.history` chooses which builds leave
   * one. It has the builds of this machine, without those of layers. A record that cannot be read is left out.
   *
   * Throws CLOSED, or IO if the entries cannot be read.
   *
   * @example
   * for (const { startMs, hits, misses, savedMs } of cache.history()) console.log(new Date(startMs), hits, misses, savedMs)
   */
  history(): readonly BuildRecord[] {
    return this.#session.call(readHistory)
  }

  /**
   * Counts results for the record of this build that a tool counts better than Varve, such as modules instead of lookups.
   * Several calls add up. After one, the record has only such counts, otherwise those of tasks or of lookups.
   *
   * Throws CLOSED or INVALID_OPTION.
   *
   * @example
   * cache.recordBuild({ hits: 1998, misses: 2, reasons: { 'file babel.config.js': 2 }, savedMs: 14_200 })
   */
  recordBuild(counts: BuildCounts): void {
    this.#session.checkOpen()
    this.#session.tally.tool.add(counts)
  }

  /** The state of the cache: its engine and why, its directory, the damage detected so far. */
  status(): CacheStatus {
    const status = this.#session.call((store) => ({
      ...store.status(),
      pending: { entries: store.pendingEntries(), bytes: store.pendingBytes() },
    }))
    const { engine, reason, dir, domain, remote } = this.#opened
    const { durability } = this.#options
    const { degraded } = this.#commits
    return { engine, reason, dir, domain, durability, ...status, remote: remoteNow(remote, status.layers), degraded }
  }

  /**
   * Commits the buffered entries (relaxed), waits for calls under way, compacts what is due and closes every file. If that
   * commit fails, its entries are lost with one warning and the cache is closed all the same: if your tool must know, call
   * `commit` first. Other failures, such as a compaction on a full disk, are one warning, too. `{ commit: false }` discards the
   * buffered entries. With `readOnly: true`, it never commits. A second call waits for the first. A remote with mode
   * `'read-write'` gets what is new. A process or worker thread that ends without `close` loses what it did not commit.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    checkOptions('close()', options, CLOSE_FIELDS)
    this.#maintenance.stop()
    const isCommitted = options.commit !== false && !this.#options.readOnly
    if (isCommitted && this.#closing === undefined) this.#session.seal()
    this.#closing ??= this.#end(isCommitted)
    await this.#closing
  }

  async #end(isCommitted: boolean): Promise<void> {
    await this.#session.close(isCommitted ? (store) => this.#commits.commitRest(store) : undefined)
    // Files that a remote reads belong to no work of the build that closes the cache.
    const warning = await unrecorded(() => this.#leaveRemote())
    if (warning !== undefined) this.#session.warn(warning, 'publish')
  }

  /** The remote drops layers that are damaged, and publishes what is new. Resolves to a warning if publishing fails. */
  async #leaveRemote(): Promise<VarveError | undefined> {
    const { remote, place, engine, dir } = this.#opened
    const { name, shared, secret } = this.#options
    await remote?.discard?.([...this.#session.damagedLayers])
    if (place === undefined || engine === 'none') return undefined
    return remote?.publish?.({ name, dir, secret: secret.bytes, shared, engine })
  }

  /** `close()`, for `await using cache = await openCache(...)`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** Opens each namespace once. */
export class Namespaces {
  readonly #session: Session
  readonly #place: string
  readonly #open: Map<string, { readonly namespace: Namespace<unknown>; readonly asked: Asked }> = new Map()

  /** `place` distinguishes the cache from others of this process. */
  constructor(session: Session, place: string) {
    this.#session = session
    this.#place = place
  }

  /** The namespace of that name. `asked` describes the caller's request in the error for another version or codec. */
  open(name: string, version: string, codecName: CodecName, asked: Asked): Namespace<unknown> {
    const codec = codecOf<unknown>(codecName)
    const fullVersion = joinVersions(this.#session.version, version, codec.tag)
    const known = this.#open.get(name)
    if (known === undefined) {
      const namespace = new Namespace(
        this.#session,
        { name, version, fullVersion, codec },
        onceIn(this.#session, this.#place),
      )
      this.#open.set(name, { namespace, asked })
      return namespace
    }
    if (known.namespace.fullVersion === fullVersion) return known.namespace
    const textOf = (request: Asked): string => `version '${request.version}' and codec '${request.codec}'`
    const open = textOf(known.asked)
    const now = textOf(asked)
    const wayOut = 'Pass the same options each time, or keep the object that the first call returned'
    throw new VarveError('INVALID_ARGUMENT', `${asked.what} is open with ${open}, not with ${now}. ${wayOut}`)
  }
}
