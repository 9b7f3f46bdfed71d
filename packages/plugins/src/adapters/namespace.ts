/**
 * The namespace of an adapter: of keyv, unstorage, metro, jest and parcel. These create a store synchronously, so the first use opens its
 * cache, which commits by itself. A directory that cannot be used costs misses and a warning, not an error.
 */
import { type CacheOptions, type Cache, openCache, VarveError, type Namespace } from 'varve'
import { ANYTHING, BOOLEAN, type Fields, FUNCTION, oneOf, STRING, TEXT } from 'varve/internal'
import { SIZE } from '../build/options.ts'
import { isAnything, type Shape } from '../build/pack.ts'
import { closeBeforeExit, isClosed } from '../build/before-exit.ts'
import { type DataKind, decodeValue, encodeValue, type TimedValue } from './value.ts'
import { setImmediate as atEndOfTurn } from 'node:timers' // not the global one, which test runners replace
import { Buffer } from 'node:buffer'

/** Options of `openCache` that adapters have as they are. */
type SharedOptions = Pick<
  CacheOptions,
  'dir' | 'maxBytes' | 'durability' | 'readOnly' | 'inMemory' | 'engine' | 'secret' | 'requireSecret' | 'onWarning'
>

/**
 * Options of an adapter's cache. A directory that cannot be opened, and a secret that is required and missing, disable the cache with one
 * warning: every entry is a miss.
 */
export interface AdapterOptions extends SharedOptions {
  /**
   * Name of the cache. Adapters with different names never share entries, even if `VARVE_DIR` puts all caches into one directory.
   * A name consists of letters, digits and `. _ @ + -`.
   * @defaultValue the name of the tool, such as `'keyv'`
   */
  readonly name?: string | undefined
  /**
   * Invalidates all entries when it changes, and frees their space. Use it for inputs that the tool's keys do not cover.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
}

export const ADAPTER_FIELDS: Fields<AdapterOptions> = {
  name: TEXT,
  dir: TEXT,
  version: STRING,
  maxBytes: SIZE,
  durability: oneOf('relaxed', 'durable'),
  readOnly: BOOLEAN,
  inMemory: BOOLEAN,
  engine: oneOf('auto', 'native', 'wasm'),
  // `openCache` checks it, and does not print its value.
  secret: ANYTHING,
  requireSecret: BOOLEAN,
  onWarning: FUNCTION,
}

/** Version of the layout of values. */
const LAYOUT = 1

/** Failures of the directory or of the machine, for which the adapter uses memory. Any other is a mistake of the caller. */
const UNUSABLE: ReadonlySet<string> = new Set([
  'SECRET_MISSING',
  'PERMISSION',
  'DISK_FULL',
  'IO',
  'NOT_A_CACHE',
  'DAMAGED',
  'NEWER_FORMAT',
  'BUSY',
  'EXHAUSTED',
  'ENGINE_UNAVAILABLE',
  'INTERNAL',
])

/** The namespace of an adapter, opened at first use. */
export class LazyNamespace {
  readonly #tool: string
  readonly #options: AdapterOptions
  readonly #dataKind: DataKind
  readonly #shape: Shape<unknown>
  readonly #warned: Set<string> = new Set()
  #opening: Promise<OpenNamespace> | undefined

  /**
   * Opens nothing yet.
   *
   * @param tool name of the namespace, and of the cache unless the options have one
   * @param shape values of another shape are misses
   */
  constructor(tool: string, options: AdapterOptions, dataKind: DataKind, shape: Shape<unknown> = isAnything) {
    this.#tool = tool
    this.#options = options
    this.#dataKind = dataKind
    this.#shape = shape
  }

  /** The open namespace, the same one until `close`. Rejects with INVALID_OPTION. */
  open(): Promise<OpenNamespace> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Commits and closes the cache. A later use opens it again. */
  async close(): Promise<void> {
    const opening = this.#opening
    this.#opening = undefined
    const space = await opening?.catch(() => undefined)
    isClosed(this)
    await space?.close()
  }

  async #open(): Promise<OpenNamespace> {
    const { name = this.#tool, version = '', readOnly = false, ...others } = this.#options
    const warn = (warning: VarveError): void => this.#warn(warning)
    const wanted = { ...others, name, readOnly, onWarning: warn }
    const cache = await openUsable(wanted, warn)
    if (cache?.status().remote !== undefined) closeBeforeExit(this)
    const space = cache?.namespace(this.#tool, { version: `${LAYOUT} ${version}` }) ?? new MemoryNamespace()
    return new OpenNamespace({
      cache,
      space,
      isWritable: cache !== undefined && !readOnly,
      dataKind: this.#dataKind,
      shape: this.#shape,
      warn,
    })
  }

  #warn(warning: VarveError): void {
    if (this.#warned.has(warning.code)) return
    this.#warned.add(warning.code)
    const { onWarning } = this.#options
    if (onWarning === undefined) process.emitWarning(warning.message, { type: 'VarveWarning', code: warning.code })
    else onWarning(warning)
  }
}

/** The cache; undefined if its directory cannot be used. */
async function openUsable(options: CacheOptions, warn: (warning: VarveError) => void): Promise<Cache | undefined> {
  try {
    return await openCache(options)
  } catch (error) {
    if (!(error instanceof VarveError) || !UNUSABLE.has(error.code)) throw error
    warn(error)
    return undefined
  }
}

// A namespace that commits automatically. All puts in one turn of the event loop form one commit at the end of that turn.
// Reads see the commits that other processes had made when the turn began; a miss refreshes and looks again.
//
//   get, put ... put -> end of the turn: commit -> the promises of `committed` resolve
//
// No state of the directory fails a call. An entry that cannot be read is a miss; one that cannot be written stays in memory.
// Both cause a warning. Only wrong arguments throw.

/** The parts of an open namespace. */
export interface Parts {
  /** Undefined if the directory cannot be used. */
  readonly cache: Cache | undefined
  readonly space: Namespace<Uint8Array> | MemoryNamespace
  /** False if nothing is ever committed. */
  readonly isWritable: boolean
  readonly dataKind: DataKind
  /** The shape of values; a value of another shape is a miss. */
  readonly shape: Shape<unknown>
  readonly warn: (warning: VarveError) => void
}

/** An open namespace. Reads are synchronous; writes are committed at the end of the turn. */
export class OpenNamespace {
  readonly #parts: Parts
  #committing: Promise<boolean> | undefined
  #isFresh = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The value that this process has put, or that any process has committed; undefined for a miss. Throws KEY_TOO_LONG. */
  get(key: string | Uint8Array): TimedValue | undefined {
    this.#refresh()
    const encoded = this.#parts.space.get(key) ?? this.#lookAgain(() => this.#parts.space.get(key))
    return this.#decode(encoded)
  }

  /** The values of many keys, in the order of the keys. */
  getMany(keys: readonly string[]): (TimedValue | undefined)[] {
    this.#refresh(true)
    return this.#parts.space.getMany(keys).map((encoded) => this.#decode(encoded))
  }

  /** Whether there is an entry. Does not read its value. */
  has(key: string): boolean {
    this.#refresh()
    return this.#parts.space.has(key) || this.#lookAgain(() => this.#parts.space.has(key))
  }

  /** Puts a value, which is committed at the end of this turn. Throws KEY_TOO_LONG or VALUE_TOO_LONG. */
  put(key: string | Uint8Array, value: unknown, timeMs = 0): void {
    this.#parts.space.put(key, encodeValue(value, timeMs, this.#parts.dataKind))
    void this.committed()
  }

  /** As `put`, but warns instead of throwing if the value cannot be stored, for example because it exceeds 64 MiB. */
  tryPut(key: string | Uint8Array, value: unknown, timeMs = 0): void {
    try {
      this.put(key, value, timeMs)
    } catch (error) {
      this.#parts.warn(toWarning(error))
    }
  }

  /** Removes an entry. The removal is committed at the end of this turn. */
  delete(key: string): void {
    this.#parts.space.delete(key)
    void this.committed()
  }

  /** The string keys that begin with `prefix`, in no particular order. */
  keys(prefix: string): string[] {
    this.#refresh(true)
    return [...this.#parts.space.keys()]
      .filter((key) => typeof key === 'string')
      .filter((key) => key.startsWith(prefix))
  }

  /** The entries whose string keys begin with `prefix`, in no particular order. */
  *entries(prefix: string): IterableIterator<[key: string, entry: TimedValue]> {
    this.#refresh(true)
    for (const [key, encoded] of this.#parts.space.entries()) {
      const entry = typeof key === 'string' && key.startsWith(prefix) ? this.#decode(encoded) : undefined
      if (typeof key === 'string' && entry !== undefined) yield [key, entry]
    }
  }

  /** Removes all entries whose string keys begin with `prefix`; with an empty prefix, all entries. */
  clear(prefix: string): void {
    this.#refresh(true)
    for (const key of this.#parts.space.keys()) {
      if (prefix === '' || (typeof key === 'string' && key.startsWith(prefix))) this.#parts.space.delete(key)
    }
    void this.committed()
  }

  /** Resolves to true once all earlier writes are committed, or to false if they could not be and stay in memory. */
  committed(): Promise<boolean> {
    this.#committing ??= this.#commit()
    return this.#committing
  }

  /** The size of the directory and whether all of it is sound, for tools that need their cache to be complete. */
  async examine(): Promise<{ readonly bytes: number; readonly isSound: boolean }> {
    try {
      const report = await this.#parts.cache?.verify()
      return { bytes: report?.bytes ?? 0, isSound: report?.sound ?? true }
    } catch (error) {
      this.#parts.warn(toWarning(error))
      return { bytes: 0, isSound: false }
    }
  }

  /** Waits for the running commit and closes the cache. */
  async close(): Promise<void> {
    await this.#committing
    try {
      await this.#parts.cache?.close()
    } catch (error) {
      this.#parts.warn(toWarning(error))
    }
  }

  async #commit(): Promise<boolean> {
    await new Promise<void>((resolve) => atEndOfTurn(resolve))
    this.#committing = undefined
    if (!this.#parts.isWritable) return false
    try {
      const report = await this.#parts.cache?.commit()
      return report?.inMemory !== true
    } catch (error) {
      this.#parts.warn(toWarning(error))
      return false
    }
  }

  #decode(encoded: Uint8Array | undefined): TimedValue | undefined {
    return encoded === undefined ? undefined : decodeValue(encoded, this.#parts.shape)
  }

  /** Repeats a lookup that missed: another process may have committed the entry during this turn. */
  #lookAgain<Found>(look: () => Found): Found {
    this.#refresh(true)
    return look()
  }

  /** Reads the commits of other processes, once per turn or now. This costs 4 to 130 us; a lookup costs less than one. */
  #refresh(isNow = false): void {
    if (this.#isFresh && !isNow) return
    this.#isFresh = true
    atEndOfTurn(() => void (this.#isFresh = false))
    try {
      this.#parts.cache?.refresh()
    } catch (error) {
      this.#parts.warn(toWarning(error)) // entries of earlier commits can still be read
    }
  }
}

function toWarning(error: unknown): VarveError {
  return error instanceof VarveError ? error : new VarveError('INTERNAL', String(error), { cause: error })
}

type Key = string | Uint8Array

/** An in-memory namespace with the methods that an adapter uses. */
export class MemoryNamespace {
  /** Entries by the bytes of their key, as one character each. */
  readonly #entries: Map<string, [key: Key, value: Uint8Array]> = new Map()

  get(key: Key): Uint8Array | undefined {
    const found = this.#entries.get(nameOf(key))
    return found && new Uint8Array(found[1]) // a copy, because callers may modify what they get
  }

  getMany(keys: readonly Key[]): (Uint8Array | undefined)[] {
    return keys.map((key) => this.get(key))
  }

  has(key: Key): boolean {
    return this.#entries.has(nameOf(key))
  }

  put(key: Key, value: Uint8Array): void {
    this.#entries.set(nameOf(key), [key, value])
  }

  delete(key: Key): void {
    this.#entries.delete(nameOf(key))
  }

  /** The entries that there are when the loop begins. */
  *entries(): IterableIterator<[key: Key, value: Uint8Array]> {
    for (const [key, value] of Array.from(this.#entries.values())) yield [key, new Uint8Array(value)]
  }

  *keys(): IterableIterator<Key> {
    for (const [key] of this.#entries.values()) yield key
  }
}

const nameOf = (key: Key): string => Buffer.from(key).toString('latin1')
