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
import { performance } from 'node:perf_hooks'
import { type Cache, type Namespace, openCache } from 'varve'
import type { Compiler } from 'webpack'
import { Warnings } from '../build/warnings.ts'
import { isWritten, writeBeforeExit } from './before-exit.ts'
import { Environments, type FileSystemInfo } from './environment.ts'
import { GroupSizes, groupsOf, kindOf, type Pending } from './groups.ts'
import { identityOf, LAYOUT, ordinalOf } from './identity.ts'
import type { VarveWebpackOptions } from './options.ts'
import { type Item, Packs } from './packs.ts'
import { decodePointer, type Etag, textOf } from './pointer.ts'
import { checkRequests } from './requests.ts'
import type { VarveWebpackStats } from './stats.ts'
import { asBuffer, ValueCodec } from './value.ts'

/** How long entries are serialised at a stretch in idle time, milliseconds. */
const SLICE_MS = 10

/** Values in the first pack of a slice of idle time. */
const ITEMS_FIRST = 4
const IDLE_TIMEOUT_MS = 5000
const IDLE_TIMEOUT_FOR_INITIAL_STORE_MS = 1000

/** Called with the outcome of a lookup, so that each layer can keep what a lower one found. */
export type GotHandler = (result: unknown, callback: () => void) => void

/** What a layer has while its cache is open and its environment checked. */
interface Open {
  readonly cache: Cache
  readonly pointers: Namespace<Uint8Array>
  readonly packs: Packs
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
  readonly #pending: Map<string, Pending> = new Map()
  readonly #sizes: GroupSizes = new GroupSizes()
  readonly #dependencies: Set<string> = new Set()
  readonly #optionalDependencies: Set<string> = new Set()
  readonly #warnings: Warnings
  #opening: Promise<Cache | undefined> | undefined
  #beginning: Promise<void> | undefined
  #open: Open | undefined
  #writing: Promise<void> = Promise.resolve()
  #idleTimer: NodeJS.Timeout | undefined
  #isIdle = false
  #isInitialStore = true
  /** Whether webpack told what the newest build depends on: without that, an entry could outlive its loader. */
  #isReported = false

  constructor(compiler: Compiler, options: VarveWebpackOptions, stats: VarveWebpackStats) {
    this.#compiler = compiler
    this.#options = options
    this.#stats = stats
    this.#logger = compiler.getInfrastructureLogger('VarveWebpackPlugin')
    this.#warnings = new Warnings((text) => this.#logger.warn(text))
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
  begin(fileSystemInfo: FileSystemInfo): void {
    this.open()
    this.#isReported = false
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
    const pending = this.#pending.get(identifier)
    if (pending !== undefined) answer(textOf(pending.etag) === textOf(etag) ? pending.data : undefined)
    else if (this.#open !== undefined) settle(this.#read(this.#open, identifier, etag), answer)
    else if (this.#beginning === undefined) answer(undefined)
    else settle(this.#beginning.then(() => this.#open && this.#read(this.#open, identifier, etag)), answer)
  }

  store(identifier: string, etag: Etag | null, data: unknown): void {
    if (this.#options.readonly !== true) this.#pending.set(identifier, { etag, data })
  }

  /** What the build depended on besides its modules: loaders, plugins, whatever they named. */
  addBuildDependencies(dependencies: Iterable<string>, optional: Iterable<string> | undefined): void {
    this.#isReported = true
    for (const dependency of dependencies) this.#dependencies.add(dependency)
    for (const dependency of optional ?? []) this.#optionalDependencies.add(dependency)
  }

  beginIdle(): void {
    this.#open?.packs.endReadAhead()
    if (this.#pending.size === 0 || !this.#isReported) return
    writeBeforeExit(this)
    const { idleTimeout = IDLE_TIMEOUT_MS, idleTimeoutForInitialStore = IDLE_TIMEOUT_FOR_INITIAL_STORE_MS } = this.#options
    const delay = this.#isInitialStore ? Math.min(idleTimeout, idleTimeoutForInitialStore) : idleTimeout
    this.#idleTimer = setTimeout(() => {
      this.#isIdle = true
      this.write()
    }, delay).unref()
  }

  endIdle(): void {
    clearTimeout(this.#idleTimer)
    this.#isIdle = false
  }

  /** Begins to write what is pending; in slices while webpack is idle, else at a stretch. */
  write(): Promise<void> {
    isWritten(this)
    const isSliced = this.#isIdle
    const write = (): Promise<void> => this.#writePending(isSliced)
    this.#writing = this.#writing.then(write).catch((error: unknown) => this.#warnings.failed('cannot be written', error))
    return this.#writing
  }

  /** Writes what is pending and lets go of the cache; a later build opens it again. */
  async shutdown(): Promise<void> {
    this.endIdle()
    await this.write()
    const opening = this.#opening
    this.#opening = this.#beginning = this.#open = undefined
    try {
      const cache = await opening
      await cache?.close()
    } catch (error) {
      this.#warnings.failed('cannot be closed', error)
    }
  }

  async #openCache(): Promise<Cache | undefined> {
    const { dir, engine, key, requireSecret, maxBytes, readonly: readOnly } = this.#options
    try {
      return await openCache({
        name: 'webpack',
        dir: dir === undefined ? undefined : resolve(this.#compiler.context, dir),
        engine,
        key,
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
    for (const dependency of identity.buildDependencies) this.#dependencies.add(dependency)
    const records = cache.namespace('webpack environments', { version: String(LAYOUT) })
    const environments = new Environments(this.#compiler, records, identity, fileSystemInfo)
    const version = await environments.begin()
    const pointers = cache.namespace(`webpack ${identity.name}`, { version })
    const values = cache.namespace(`webpack packs ${identity.name}`, { version })
    const packs = new Packs(pointers, values, new ValueCodec(this.#compiler.webpack))
    if (cache.status().engine === 'native') packs.readAhead()
    this.#open = { cache, pointers, packs, environments }
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
    if (this.#open === undefined) this.#pending.clear()
    if (this.#open === undefined || this.#pending.size === 0 || !this.#isReported) return
    const { cache, packs, environments } = this.#open
    const environment = await environments.capture(this.#dependencies, this.#optionalDependencies)
    let items = isSliced ? ITEMS_FIRST : Number.POSITIVE_INFINITY
    for (const group of groupsOf(this.#pending, (kind) => Math.min(items, this.#sizes.of(kind)))) {
      const startMs = performance.now()
      await this.#writeGroup(packs, environment, group)
      if (!isSliced) continue
      // As many at once as fit into half a slice, going by the last group.
      const spentMs = Math.max(performance.now() - startMs, 0.1)
      items = Math.round(Math.min(Math.max((items * SLICE_MS) / 2 / spentMs, 1), items * 2))
      await new Promise((resume) => setImmediate(resume))
      if (!this.#isIdle) return // the next build has begun; what is put already goes into the next commit
    }
    if (!isSliced) await packs.tidy((id) => environments.isValid(id))
    this.#isInitialStore = false
    packs.noteOrder()
    const report = await cache.commit()
    this.#logger.log(`wrote ${report.entries} entries`)
  }

  /** Packs a group of values; where one cannot be stored, finds it by halves and leaves it out. */
  async #writeGroup(packs: Packs, environment: string, group: readonly [string, Pending][]): Promise<void> {
    const items: Item[] = []
    for (const [identifier, { etag, data }] of group) {
      if (typeof data === 'object' && data !== null) items.push({ identifier, etag: textOf(etag), data })
    }
    const bytes = items.length === 0 ? undefined : await packs.write(environment, items)
    const [first] = items
    if (bytes !== undefined) {
      this.#stats.stored += items.length
      this.#stats.bytesWritten += bytes
      this.#sizes.note(kindOf(first?.identifier ?? ''), items.length, bytes)
    } else if (items.length > 1) {
      const middle = group.length >> 1
      await this.#writeGroup(packs, environment, group.slice(0, middle))
      await this.#writeGroup(packs, environment, group.slice(middle))
      return
    } else if (first !== undefined) {
      this.#stats.skipped += 1
      this.#logger.debug(`skipped ${first.identifier}: not serialisable, or too large`)
    }
    for (const [identifier, pending] of group) {
      if (this.#pending.get(identifier) === pending) this.#pending.delete(identifier)
    }
  }
}

/** Answers with a value now, or with what a promise of it comes to. */
function settle(value: unknown, answer: (value: unknown) => void): void {
  if (value instanceof Promise) value.then(answer, () => answer(undefined))
  else answer(value)
}
