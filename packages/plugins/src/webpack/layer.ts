/**
 * The disk layer below one compiler's memory cache. Reads are answered from the open cache. Stored values stay pending in a map, where reads find
 * them. They are serialised and put in short slices of idle time, or at shutdown, and one commit writes all of them.
 *
 *   open -> begin (checks the environment) -> get / store ... -> beginIdle (writes) -> endIdle -> ... -> shutdown
 *
 * A failure here never fails a build: it costs misses and a warning.
 *
 * Values that may be promises.
 */
import { isAbsolute } from 'node:path'
import { type Cache, openCache } from 'varve'
import type { Compilation, Compiler } from 'webpack'
import { cacheFolder } from '../build/options.ts'
import { Warnings } from '../build/session.ts'
import { runForeign } from '../host/files.ts'
import { markWritten, type Target, writeBeforeExit, Writing } from './writing.ts'
import { Counting, Parts } from './build-report.ts'
import type { FileSystemInfo } from './dependency-files.ts'
import { Entries, type Etag, textOf } from './entries.ts'
import { type Dependencies, Environments } from './environment.ts'
import { identityOf, LAYOUT, loadedFiles, ordinalOf } from './identity.ts'
import type { VarveWebpackOptions, VarveWebpackStats } from './options.ts'
import { compareLinks } from './packages.ts'
import { Packs } from './packs.ts'
import type { BuildReads } from './reads.ts'
import { listOf, Repeatable } from './repeatable.ts'
import { checkRequests } from './requests.ts'
import { SourceHashes } from './source-hashes.ts'
import { ValueCodec } from './value.ts'
import { Why } from './why.ts'

const IDLE_TIMEOUT_MS = 5000
const IDLE_TIMEOUT_FOR_INITIAL_STORE_MS = 1000

/** Generated code of runtime modules. webpack 5.104 to 5.109 stores it under hashes that do not cover it, and making it costs next to nothing. */
const RUNTIME_CODE = /Compilation\/codeGeneration\|webpack\/runtime\//

/** Ends a warning about what the next build could not repeat. */
const STATELESS =
  'Loaders do not run for modules from the cache. If plugins need no loader for that, set stateless: true'

/** Called with the result of a lookup, so that each layer can store what a lower one found. */
export type GotHandler = (result: unknown, callback: () => void) => void

/** The state of a layer whose cache is open and whose environment has been checked. */
interface Open extends Target {
  readonly packs: Packs
  readonly environments: Environments
  /** Whether entries may be used. */
  readonly isReadable: boolean
}

/** The disk layer of one compiler. */
export class DiskLayer {
  readonly #compiler: Compiler
  readonly #options: VarveWebpackOptions
  readonly #stats: VarveWebpackStats
  /** Number among compilers with the same default name. */
  #ordinal: number | undefined
  readonly #logger: ReturnType<Compiler['getInfrastructureLogger']>
  readonly #writing: Writing
  /** Build dependencies: named by the user, reported by webpack, or loaded by this process. */
  readonly #dependencies: Set<string>
  readonly #optionalDependencies: Set<string> = new Set()
  readonly #reads: BuildReads
  #inputs: ReadonlySet<string> = new Set()
  readonly #warnings: Warnings
  /** Directory of the cache, once it is open. */
  #folder = ''
  #opening: Promise<Cache | undefined> | undefined
  #beginning: Promise<void> | undefined
  #open: Open | undefined
  #written: Promise<void> = Promise.resolve()
  #idleTimer: NodeJS.Timeout | undefined
  #isIdle = false
  #isInitialStore = true
  /** The newest compilation until its dependencies are known. Without them, an entry could outlive its loader. */
  #compilation: Compilation | undefined
  /** The compilation of a failed build. */
  #reported: Compilation | undefined
  /** What restored modules cannot repeat. */
  readonly #repeatable: Repeatable
  /** Whether the first build of the process took anything from the cache, and whether it is over. */
  #hasRestored = false
  #isCompared = false
  readonly counting: Counting = new Counting()
  /** What has changed for all modules, in words. */
  readonly changes: () => readonly string[] = () => this.#open?.environments.why.changes ?? []

  /** `makers` are the files that made the compiler. If `reads` are off, those of loaders and plugins are not tracked. */
  constructor(
    compiler: Compiler,
    options: VarveWebpackOptions,
    stats: VarveWebpackStats,
    makers: readonly string[],
    reads: BuildReads,
  ) {
    this.#compiler = compiler
    this.#reads = reads
    this.#options = options
    this.#stats = stats
    this.#logger = compiler.getInfrastructureLogger('VarveWebpackPlugin')
    this.#warnings = new Warnings((text) => this.#logger.warn(text))
    this.#writing = new Writing(stats, (text) => this.#logger.debug(text))
    this.#dependencies = new Set(reads.isOn ? makers : [])
    this.#repeatable = new Repeatable(compiler, reads, options.stateless === true)
  }

  /** Called once the compiler and its options are complete. */
  initialize(): void {
    this.#ordinal = ordinalOf(this.#compiler)
  }

  /** Called when a build begins. Opens the cache unless it is open, without writing to it. */
  open(): void {
    this.#opening ??= this.#openCache()
  }

  /** Called with the compilation of a build, which has webpack's view of the file system. */
  begin(compilation: Compilation): void {
    const { fileSystemInfo } = compilation
    this.open()
    this.#compilation = compilation
    this.#reported = undefined
    if (this.#open !== undefined) this.#open.environments.fileSystemInfo = fileSystemInfo
    this.#open?.environments.noteBuild(Date.now())
    this.#beginning ??= this.#begin(fileSystemInfo, Date.now()).catch((error: unknown) =>
      this.#warnings.failed('cannot be read', error),
    )
  }

  /** Called with each compilation of the compiler and its children. */
  follow(compilation: Compilation): void {
    this.#repeatable.begin(compilation)
    compareLinks(compilation.fileSystemInfo)
  }

  get(
    identifier: string,
    etag: Etag | null,
    gotHandlers: GotHandler[],
    callback: (error: null, value: unknown) => void,
  ): void {
    if (RUNTIME_CODE.test(identifier)) return callback(null, undefined)
    const answer = (value: unknown): void => {
      if (value === undefined) {
        this.#stats.misses += 1
        gotHandlers.push((result, done) => {
          if (result !== undefined && result !== null) this.store(identifier, etag, result)
          done()
        })
      } else {
        this.#stats.hits += 1
        this.#hasRestored = true
      }
      callback(null, value)
    }
    const pending = this.#writing.pending.get(identifier)
    if (pending !== undefined) answer(isEqual(pending.etag, etag) ? pending.data : undefined)
    else if (this.#open !== undefined) settle(this.#read(this.#open, identifier, etag), answer)
    else if (this.#beginning === undefined) answer(undefined)
    else
      settle(
        this.#beginning.then(() => this.#open && this.#read(this.#open, identifier, etag)),
        answer,
      )
  }

  store(identifier: string, etag: Etag | null, data: unknown): void {
    if (this.#options.readOnly === true || data === undefined || RUNTIME_CODE.test(identifier)) return
    this.#writing.pending.set(identifier, { etag, data })
  }

  /** Adds the dependencies of the build besides its modules: loaders, plugins and the files that these reported. */
  addBuildDependencies(dependencies: Iterable<string>, optional: Iterable<string> | undefined): void {
    this.#addBuildDependencies(dependencies, optional, true)
  }

  #addBuildDependencies(
    dependencies: Iterable<string>,
    optional: Iterable<string> | undefined,
    isComplete: boolean,
  ): void {
    const compilation = this.#compilation
    this.#compilation = undefined
    for (const dependency of dependencies) this.#dependencies.add(dependency)
    for (const dependency of optional ?? []) this.#optionalDependencies.add(dependency)
    if (compilation === undefined) return
    this.#leaveOut(compilation, isComplete)
    this.#open?.environments.why.note(compilation)
    if (!this.#reads.isOn) return
    // Loaders load modules while they run, such as the plugins that a config names.
    for (const file of loadedFiles()) this.#dependencies.add(file)
    this.#inputs = this.#reads.end(compilation, this.#folder, this.#open?.environments.inputs ?? new Set())
  }

  get #wanted(): Dependencies {
    return { all: this.#dependencies, optional: this.#optionalDependencies, inputs: this.#inputs }
  }

  beginIdle(): void {
    this.#open?.packs.endReadAhead()
    this.#report()
    if (this.#writing.isDone && !this.#repeatable.isChanged) return
    writeBeforeExit(this)
    // Early and on its own, because a process that exits without closing the compiler has no time for it.
    const open = this.#open
    open?.environments
      .capture(this.#wanted)
      .then(open.commit)
      .catch(() => undefined)
    const { idleTimeout = IDLE_TIMEOUT_MS, idleTimeoutForInitialStore = IDLE_TIMEOUT_FOR_INITIAL_STORE_MS } =
      this.#options
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

  /** Begins to write pending values: in slices while webpack is idle, otherwise all at once. */
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
      if (this.#writing.isDone) markWritten(this)
    }
    return (this.#written = write())
  }

  /** Called when the process exits. Writes the pending values that can be written synchronously. */
  writeNow(): void {
    const environment = this.#open?.environments.covering(this.#wanted)
    if (this.#open === undefined || environment === undefined || this.#compilation !== undefined) return
    try {
      this.#putNote(this.#open)
      this.#writing.writeNow(this.#open, environment)
    } catch (error) {
      this.#warnings.failed('cannot be written', error)
    }
  }

  /** Writes pending values and closes the cache; a later build opens it again. */
  async shutdown(): Promise<void> {
    this.endIdle()
    this.#report()
    await this.write()
    markWritten(this)
    this.#reads.close()
    const opening = this.#opening
    this.#opening = this.#beginning = this.#open = undefined
    try {
      const cache = await opening
      if (cache !== undefined) await this.counting.close(cache)
    } catch (error) {
      this.#warnings.failed('cannot be closed', error)
    }
  }

  /** Called with the error of a build that has no result, before or after the idle time begins. */
  failed(error: Error): void {
    const compilation = this.#compilation ?? this.#reported
    if (compilation === undefined || !this.#repeatable.isOfLoaders(error, compilation)) return
    this.#writing.pending.clear()
  }

  /** Drops pending values that are of no use to the next build, because it could not repeat what else their loaders did. */
  #leaveOut(compilation: Compilation, isComplete: boolean): void {
    const repeatable = this.#repeatable
    const { modules, everything, did } = repeatable.unrepeatable(compilation)
    if (did !== undefined) this.#warnings.once('did', did)
    for (const identifier of modules) this.#writing.pending.delete(identifier)
    if (everything !== undefined) {
      this.#writing.pending.clear()
      this.counting.unstored = `the next build could not repeat ${everything.what}`
      const text = `nothing of this build is stored, because the next one could not repeat ${everything.what}. ${STATELESS}`
      if (everything.isError) this.#logger.log(text)
      else this.#warnings.once('unrepeatable', text)
    }
    const isFirst = isComplete && !this.#isCompared
    this.#isCompared ||= isComplete
    const lost = isFirst && everything === undefined ? repeatable.compare(compilation, this.#hasRestored) : []
    if (lost.length > 0 && !repeatable.isStateful)
      this.#warnings.once(
        'lost',
        `this build lacks ${listOf(lost)}, which a plugin makes of what loaders do. The next build takes nothing from the cache. ${STATELESS}`,
      )
    else if (repeatable.isStateful)
      this.#warnings.once(
        'stateful',
        `nothing is cached, because a plugin makes ${listOf(repeatable.lost)} of what loaders do. ${STATELESS}`,
      )
    if (lost.length > 0 || repeatable.isStateful) {
      this.#writing.pending.clear()
      this.counting.unstored = `a plugin makes ${listOf(repeatable.isStateful ? repeatable.lost : lost)} of what loaders do`
    }
  }

  /** Adds the dependencies of a failed build. webpack does not report them, although the modules are valid. */
  #report(): void {
    const compilation = this.#compilation
    if (compilation === undefined) return
    compilation.summarizeDependencies()
    this.#reported = compilation
    this.#addBuildDependencies(compilation.buildDependencies, compilation.optionalBuildDependencies, false)
  }

  async #openCache(): Promise<Cache | undefined> {
    const { dir, engine, secret, requireSecret, maxBytes, readOnly } = this.#options
    try {
      const where = { name: 'webpack', dir: cacheFolder(dir, this.#compiler.context, 'webpack') }
      const cache = await openCache({
        ...where,
        engine,
        secret,
        requireSecret,
        maxBytes,
        readOnly,
        onWarning: this.#warnings.report,
      })
      if (cache.status().engine !== 'none') return cache
      await cache.close() // webpack's own parts of a cache need WebAssembly, and would end the process
      return undefined
    } catch (error) {
      this.#warnings.failed('cannot be opened', error)
      return undefined
    }
  }

  async #begin(fileSystemInfo: FileSystemInfo, beganMs: number): Promise<void> {
    const cache = await this.#opening
    if (cache === undefined) return
    this.#folder = cache.status().dir
    checkRequests(this.#compiler, this.#folder)
    const { root } = this.#reads
    const codec = new ValueCodec(this.#compiler.webpack, root)
    const identity = identityOf(this.#compiler, this.#options, { folder: this.#folder, root }, this.#ordinal ?? 1)
    for (const dependency of [...identity.buildDependencies, ...(this.#reads.isOn ? loadedFiles() : [])])
      this.#dependencies.add(dependency)
    if (this.#reads.isOn) this.#reads.noteConfig(this.#dependencies)
    const records = new Entries(cache.namespace('webpack environments', { version: String(LAYOUT) }), root)
    const why = new Why(cache, identity, this.#compiler.context, (name) => this.#reads.notes.pathOf(name))
    const parts = {
      compiler: this.#compiler,
      records,
      identity,
      fileSystemInfo,
      why,
      codec,
      reads: this.#reads,
    }
    const { notes, isWritten } = this.#reads
    for (const path of this.#dependencies)
      if (isAbsolute(path) && !/[\\/]$/.test(path)) notes.loaded(path, beganMs, isWritten)
    const environments = new Environments(parts)
    environments.noteBuild(beganMs)
    const changed = (this.#stats.changed = await environments.begin())
    if (changed.length > 0) this.#logger.log(`everything is built again, because these changed: ${changed.join(', ')}`)
    const { name, version } = environments.entries
    const pointers = new Entries(cache.namespace(`webpack ${name}`, { version }), root)
    const commit = this.counting.over(cache)
    const ofPacks = `webpack packs ${name}`
    const packs = new Packs(
      pointers,
      cache.namespace(ofPacks, { version }),
      new Parts(cache, ofPacks, version, root),
      codec,
      new SourceHashes(this.#compiler),
      commit,
    )
    const isReadable = runForeign(() => this.#repeatable.load(environments.note))
    if (isReadable && cache.status().engine === 'native') packs.readAhead()
    this.#open = { commit, packs, environments, isReadable }
  }

  /** The value of an entry with this etag and a valid environment; undefined if there is none. */
  #read({ packs, environments, isReadable }: Open, identifier: string, etag: Etag | null): unknown {
    if (!isReadable) return undefined
    const cannotRestore = (error: unknown): void =>
      this.#warnings.failed(`has an entry that cannot be restored (${identifier})`, error)
    try {
      const pointer = packs.find(identifier)
      if (pointer === undefined || pointer.etag !== textOf(etag)) return undefined
      const isValid = environments.isValid(pointer.environment)
      const read = (verdict: boolean): unknown => (verdict ? packs.read(identifier, pointer) : undefined)
      const value = typeof isValid === 'boolean' ? read(isValid) : isValid.then(read)
      return value instanceof Promise ? value.catch(cannotRestore) : value
    } catch (error) {
      return cannotRestore(error)
    }
  }

  /** Puts what the next build is compared with. Returns whether it did. */
  #putNote({ environments }: Open): boolean {
    const note = this.#options.readOnly === true ? undefined : this.#repeatable.changed()
    if (note !== undefined) environments.note = note
    return note !== undefined
  }

  /** Nothing describes what the results were made with: an input has changed while the process had it in memory. */
  #dropPending(): void {
    this.#writing.pending.clear()
    this.#logger.log('nothing of this build is stored, because its inputs have changed since they were read')
  }

  async #writePending(isSliced: boolean): Promise<void> {
    await this.#beginning
    const open = this.#open
    if (open === undefined) return this.#writing.pending.clear()
    if (this.#compilation !== undefined) return
    const isNoted = this.#putNote(open)
    if (this.#writing.isDone && !isNoted && (this.#options.readOnly === true || !open.environments.putAgain())) return
    if (this.#writing.pending.size > 0) {
      const {
        why,
        entries: { version },
      } = open.environments
      const environment = await open.environments.capture(this.#wanted)
      if (environment === undefined) return this.#dropPending()
      const isIdle = isSliced ? () => this.#isIdle : undefined
      // If the next build has begun, its commit writes what has been put so far.
      if (
        !(await why.putAll(version, isIdle)) ||
        !(await this.#writing.putAll(open, environment, isIdle, this.#compiler.watchMode))
      )
        return
    }
    if (!isSliced) await open.packs.tidy((id) => open.environments.isValid(id))
    this.#isInitialStore = false
    this.#logger.log(`wrote ${(await this.#writing.commit(open)).entries} entries`)
    if (this.#options.readOnly !== true && open.environments.putAgain()) await this.#writing.commit(open)
  }
}

function isEqual(one: Etag | null, other: Etag | null): boolean {
  const text = textOf(one)
  return text !== undefined && text === textOf(other)
}

/** Calls `answer` with a value, or with the result of a promise. */
export function settle(value: unknown, answer: (value: unknown) => void): void {
  if (value instanceof Promise) value.then(answer, () => answer(undefined))
  else answer(value)
}
