/**
 * The disk layer below one compiler's memory cache. Reads answer at once from the open cache; stores wait in a map,
 * where reads find them, and are serialised and put in idle time, in short slices, or at shutdown; one commit writes
 * them all.
 *
 *   open -> begin (checks the environment) -> get / store ... -> beginIdle (writes) -> endIdle -> ... -> shutdown
 *
 * No failure here fails a build: it costs misses and a warning.
 */
import { resolve } from 'node:path'
import { type Cache, type CommitReport, type Namespace, openCache } from 'varve'
import type { Compilation, Compiler } from 'webpack'
import { Warnings } from '../build/warnings.ts'
import { isWritten, writeBeforeExit } from './before-exit.ts'
import { type Dependencies, Environments, type FileSystemInfo } from './environment.ts'
import { identityOf, LAYOUT, ordinalOf } from './identity.ts'
import { loadedFiles } from './inputs.ts'
import type { VarveWebpackOptions } from './options.ts'
import { Packs } from './packs.ts'
import { decodePointer, type Etag, textOf } from './pointer.ts'
import type { BuildReads } from './reads.ts'
import { checkRequests } from './requests.ts'
import type { VarveWebpackStats } from './stats.ts'
import { asBuffer, ValueCodec } from './value.ts'
import { type Target, Writing } from './writing.ts'

const IDLE_TIMEOUT_MS = 5000
const IDLE_TIMEOUT_FOR_INITIAL_STORE_MS = 1000

/** Called with the outcome of a lookup, so that each layer can keep what a lower one found. */
export type GotHandler = (result: unknown, callback: () => void) => void

/** What a layer has while its cache is open and its environment checked. */
interface Open extends Target {
  readonly packs: Packs
  readonly pointers: Namespace<Uint8Array>
  readonly environments: Environments
}

/** The disk layer of one compiler. */
export class DiskLayer {
  readonly #compiler: Compiler
  readonly #options: VarveWebpackOptions
  readonly #stats: VarveWebpackStats
  /** Among compilers that look the same. */
  #ordinal: number | undefined
  readonly #logger: ReturnType<Compiler['getInfrastructureLogger']>
  readonly #writing: Writing
  /** Build dependencies: named by the user, reported by webpack, or recorded as what this process loaded. */
  readonly #dependencies: Set<string>
  readonly #optionalDependencies: Set<string> = new Set()
  /** What loaders and plugins read; undefined if reads are not tracked. */
  readonly #reads: BuildReads | undefined
  #inputs: ReadonlySet<string> = new Set()
  readonly #warnings: Warnings
  /** Of the cache, once it is open. */
  #folder = ''
  #opening: Promise<Cache | undefined> | undefined
  #beginning: Promise<void> | undefined
  #open: Open | undefined
  #written: Promise<void> = Promise.resolve()
  #idleTimer: NodeJS.Timeout | undefined
  #isIdle = false
  #isInitialStore = true
  /** The newest compilation, until it is known what it depends on: without that, an entry could outlive its loader. */
  #compilation: Compilation | undefined

  /** `makers` are the files that made the compiler, `reads` what its loaders and plugins read, if that is tracked. */
  constructor(
    compiler: Compiler,
    options: VarveWebpackOptions,
    stats: VarveWebpackStats,
    makers: readonly string[],
    reads: BuildReads | undefined,
  ) {
    this.#compiler = compiler
    this.#reads = reads
    this.#options = options
    this.#stats = stats
    this.#logger = compiler.getInfrastructureLogger('VarveWebpackPlugin')
    this.#warnings = new Warnings((text) => this.#logger.warn(text))
    this.#writing = new Writing(stats, (text) => this.#logger.debug(text))
    this.#dependencies = new Set(reads === undefined ? [] : makers)
  }

  /** The compiler and its options are complete. */
  made(): void {
    this.#ordinal = ordinalOf(this.#compiler)
  }

  /** A build begins: opens the cache, unless it is open. Reads only. */
  open(): void {
    this.#opening ??= this.#openCache()
  }

  /** The build's compilation is there, and with it webpack's view of the file system. */
  begin(compilation: Compilation): void {
    const { fileSystemInfo } = compilation
    this.open()
    this.#compilation = compilation
    if (this.#open !== undefined) this.#open.environments.fileSystemInfo = fileSystemInfo
    this.#beginning ??= this.#begin(fileSystemInfo).catch((error: unknown) => this.#warnings.failed('cannot be read', error))
  }

  get(identifier: string, etag: Etag | null, gotHandlers: GotHandler[], callback: (error: null, value: unknown) => void): void {
    const answer = (value: unknown): void => {
      if (value === undefined) {
        this.#stats.misses += 1
        gotHandlers.push((result, done) => {
          if (result !== undefined && result !== null) this.store(identifier, etag, result)
          done()
        })
      } else {
        this.#stats.hits += 1
      }
      callback(null, value)
    }
    const pending = this.#writing.pending.get(identifier)
    if (pending !== undefined) answer(textOf(pending.etag) === textOf(etag) ? pending.data : undefined)
    else if (this.#open !== undefined) settle(this.#read(this.#open, identifier, etag), answer)
    else if (this.#beginning === undefined) answer(undefined)
    else settle(this.#beginning.then(() => this.#open && this.#read(this.#open, identifier, etag)), answer)
  }

  store(identifier: string, etag: Etag | null, data: unknown): void {
    if (this.#options.readOnly !== true && data !== undefined) this.#writing.pending.set(identifier, { etag, data })
  }

  /** What the build depended on besides its modules: loaders, plugins, whatever they named. */
  addBuildDependencies(dependencies: Iterable<string>, optional: Iterable<string> | undefined): void {
    const compilation = this.#compilation
    this.#compilation = undefined
    for (const dependency of dependencies) this.#dependencies.add(dependency)
    for (const dependency of optional ?? []) this.#optionalDependencies.add(dependency)
    if (this.#reads === undefined || compilation === undefined) return
    // What loaders loaded while they ran, such as the plugins that a config names.
    for (const file of loadedFiles()) this.#dependencies.add(file)
    this.#inputs = this.#reads.end(compilation, this.#folder)
  }

  get #wanted(): Dependencies {
    return { all: this.#dependencies, optional: this.#optionalDependencies, inputs: this.#inputs }
  }

  beginIdle(): void {
    this.#open?.packs.endReadAhead()
    this.#report()
    if (this.#writing.isDone) return
    writeBeforeExit(this)
    // Known sooner than it is needed: a process that ends without closing has no time to find out.
    this.#open?.environments.capture(this.#wanted).catch(() => undefined)
    const { idleTimeout = IDLE_TIMEOUT_MS, idleTimeoutForInitialStore = IDLE_TIMEOUT_FOR_INITIAL_STORE_MS } = this.#options
    const delay = this.#isInitialStore ? Math.min(idleTimeout, idleTimeoutForInitialStore) : idleTimeout
    this.#idleTimer = setTimeout(() => {
      this.#isIdle = true
      void this.write()
    }, delay).unref()
  }

  endIdle(): void {
    clearTimeout(this.#idleTimer)
    this.#isIdle = false
  }

  /** Begins to write what is pending; in slices while webpack is idle, else at a stretch. */
  write(): Promise<void> {
    const isSliced = this.#isIdle
    const before = this.#written
    const write = async (): Promise<void> => {
      await before
      try {
        await this.#writePending(isSliced)
      } catch (error) {
        this.#warnings.failed('cannot be written', error)
      }
      if (this.#writing.isDone) isWritten(this)
    }
    this.#written = write()
    return this.#written
  }

  /** The process ends: writes what is pending as far as that is possible without waiting. */
  writeNow(): void {
    const environment = this.#open?.environments.covering(this.#wanted)
    if (this.#open === undefined || environment === undefined || this.#compilation !== undefined) return
    try {
      this.#writing.writeNow(this.#open, environment)
    } catch (error) {
      this.#warnings.failed('cannot be written', error)
    }
  }

  /** Writes what is pending and lets go of the cache; a later build opens it again. */
  async shutdown(): Promise<void> {
    this.endIdle()
    this.#report()
    await this.write()
    isWritten(this)
    this.#reads?.close()
    const opening = this.#opening
    this.#opening = this.#beginning = this.#open = undefined
    try {
      const cache = await opening
      await cache?.close()
    } catch (error) {
      this.#warnings.failed('cannot be closed', error)
    }
  }

  /** webpack does not report what a failed build depended on, although its modules are as good as any. */
  #report(): void {
    const compilation = this.#compilation
    if (compilation === undefined) return
    compilation.summarizeDependencies()
    this.addBuildDependencies(compilation.buildDependencies, compilation.optionalBuildDependencies)
  }

  async #openCache(): Promise<Cache | undefined> {
    const { dir, engine, secret, requireSecret, maxBytes, readOnly } = this.#options
    try {
      return await openCache({
        name: 'webpack',
        dir: dir === undefined ? undefined : resolve(this.#compiler.context, dir),
        engine,
        secret,
        requireSecret,
        maxBytes,
        readOnly,
        onWarning: this.#warnings.heard,
      })
    } catch (error) {
      this.#warnings.failed('cannot be opened', error)
      return undefined
    }
  }

  async #begin(fileSystemInfo: FileSystemInfo): Promise<void> {
    const cache = await this.#opening
    if (cache === undefined) return
    checkRequests(this.#compiler, cache.status().dir)
    const identity = identityOf(this.#compiler, this.#options, cache.status().dir, this.#ordinal ?? 1)
    const recorded = this.#reads === undefined ? [] : loadedFiles()
    this.#folder = cache.status().dir
    for (const dependency of [...identity.buildDependencies, ...recorded]) this.#dependencies.add(dependency)
    const records = cache.namespace('webpack environments', { version: String(LAYOUT) })
    const environments = new Environments(this.#compiler, records, identity, fileSystemInfo)
    const version = await environments.begin()
    const { changed } = environments
    this.#stats.changed = changed
    if (changed.length > 0) this.#logger.log(`everything is built again, because these changed: ${changed.join(', ')}`)
    const pointers = cache.namespace(`webpack ${identity.name}`, { version })
    const values = cache.namespace(`webpack packs ${identity.name}`, { version })
    const commit = (): Promise<CommitReport> => cache.commit()
    const packs = new Packs(pointers, values, new ValueCodec(this.#compiler.webpack), commit)
    if (cache.status().engine === 'native') packs.readAhead()
    this.#open = { commit, pointers, packs, environments }
  }

  /** The value of an entry that is there, has this etag and was made in a valid environment; else undefined. */
  #read({ pointers, packs, environments }: Open, identifier: string, etag: Etag | null): unknown {
    try {
      const found = pointers.get(identifier)
      const pointer = found === undefined ? undefined : decodePointer(asBuffer(found))
      if (pointer === undefined || pointer.etag !== textOf(etag)) return undefined
      const isValid = environments.isValid(pointer.environment)
      const read = (verdict: boolean): unknown => (verdict ? packs.read(identifier, pointer) : undefined)
      const value = typeof isValid === 'boolean' ? read(isValid) : isValid.then(read)
      return value instanceof Promise ? value.catch((error: unknown) => this.#cannotRestore(identifier, error)) : value
    } catch (error) {
      return this.#cannotRestore(identifier, error)
    }
  }

  #cannotRestore(identifier: string, error: unknown): undefined {
    this.#warnings.failed(`has an entry that cannot be restored (${identifier})`, error)
  }

  async #writePending(isSliced: boolean): Promise<void> {
    await this.#beginning
    const open = this.#open
    if (open === undefined) this.#writing.pending.clear()
    if (open === undefined || this.#writing.isDone || this.#compilation !== undefined) return
    if (this.#writing.pending.size > 0) {
      const environment = await open.environments.capture(this.#wanted)
      // If the next build has begun, the next commit has what is put already.
      if (!(await this.#writing.putAll(open, environment, isSliced ? () => this.#isIdle : undefined))) return
    }
    if (!isSliced) await open.packs.tidy((id) => open.environments.isValid(id))
    this.#isInitialStore = false
    const report = await this.#writing.commit(open)
    this.#logger.log(`wrote ${report.entries} entries`)
  }
}

/** Answers with a value now, or with what a promise of it comes to. */
function settle(value: unknown, answer: (value: unknown) => void): void {
  if (value instanceof Promise) value.then(answer, () => answer(undefined))
  else answer(value)
}
