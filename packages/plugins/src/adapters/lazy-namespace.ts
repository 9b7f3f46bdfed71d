/**
 * A namespace for tools that expect a store to be there at once: its cache is opened at the first use and commits by
 * itself. All that is put in one turn of the event loop is one commit, made at the end of that turn; reads see what
 * other processes had committed when the turn began, and a miss looks again.
 *
 *   open (once) -> get, put ... put -> end of the turn: commit -> the promises of `committed` resolve
 *
 * No state of the folder fails a call: what cannot be read is a miss, what cannot be written stays in memory, and a
 * warning tells. Only wrong options and arguments throw.
 */
import { setImmediate as atEndOfTurn } from 'node:timers' // not the global one, which test runners replace
import { type Cache, type CacheOptions, type Namespace, openCache, VarveError } from 'varve'
import type { AdapterOptions } from './options.ts'
import { type DataKind, decodeValue, encodeValue, type Stamped } from './value.ts'

/** Raised when the bytes of a value change their meaning. */
const LAYOUT = 1

/** Failures of a folder; a cache in memory takes its place. Any other is the caller's mistake. */
const UNUSABLE: ReadonlySet<string> = new Set(['PERMISSION', 'DISK_FULL', 'IO', 'DAMAGED', 'NEWER_FORMAT', 'BUSY', 'EXHAUSTED', 'INTERNAL'])

/** An adapter's namespace, opened at first use. */
export class LazyNamespace {
  readonly #tool: string
  readonly #options: AdapterOptions
  readonly #dataKind: DataKind
  readonly #warned: Set<string> = new Set()
  #opening: Promise<OpenNamespace> | undefined

  /** `tool` names the namespace, and the cache unless the options do. Opens nothing yet. */
  constructor(tool: string, options: AdapterOptions, dataKind: DataKind) {
    this.#tool = tool
    this.#options = options
    this.#dataKind = dataKind
  }

  /** The open namespace, the same until `close`. Rejects with INVALID_OPTION or ENGINE_UNAVAILABLE. */
  open(): Promise<OpenNamespace> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Commits what is put, folds what is due and lets go of the folder. A later use opens it again. */
  async close(): Promise<void> {
    const opening = this.#opening
    this.#opening = undefined
    const space = await opening?.catch(() => undefined)
    await space?.close()
  }

  async #open(): Promise<OpenNamespace> {
    const { name = this.#tool, dir, version = '', maxBytes, durability, readonly: readOnly = false, engine } = this.#options
    const warn = (warning: VarveError): void => this.#warn(warning)
    const wanted = { name, dir, maxBytes, durability, readOnly, engine, onWarning: warn }
    const [cache, isUsable] = await openOrKeepInMemory(wanted, warn)
    const space = cache.namespace(this.#tool, { version: `${LAYOUT} ${version}` })
    return new OpenNamespace(cache, space, this.#dataKind, isUsable && !readOnly, warn)
  }

  #warn(warning: VarveError): void {
    if (this.#warned.has(warning.code)) return
    this.#warned.add(warning.code)
    const { onWarning } = this.#options
    if (onWarning === undefined) process.emitWarning(warning.message, { type: 'VarveWarning', code: warning.code })
    else onWarning(warning)
  }
}

/** A namespace that is open: reads are synchronous, writes are committed at the end of the turn. */
export class OpenNamespace {
  readonly #cache: Cache
  readonly #space: Namespace<Uint8Array>
  readonly #dataKind: DataKind
  readonly #isWritable: boolean
  readonly #warn: (warning: VarveError) => void
  #committing: Promise<boolean> | undefined
  #isFresh = false

  constructor(cache: Cache, space: Namespace<Uint8Array>, dataKind: DataKind, isWritable: boolean, warn: (warning: VarveError) => void) {
    this.#cache = cache
    this.#space = space
    this.#dataKind = dataKind
    this.#isWritable = isWritable
    this.#warn = warn
  }

  /** The value that any process committed before this turn, or this one has put; undefined for a miss. Throws KEY_TOO_LONG. */
  get(key: string | Uint8Array): Stamped | undefined {
    this.#refresh()
    const encoded = this.#space.get(key) ?? this.#lookAgain(() => this.#space.get(key))
    return encoded === undefined ? undefined : decodeValue(encoded)
  }

  /** The values of many keys, in their order. */
  getMany(keys: readonly string[]): (Stamped | undefined)[] {
    this.#refresh(true)
    return this.#space.getMany(keys).map((encoded) => (encoded === undefined ? undefined : decodeValue(encoded)))
  }

  /** Whether there is an entry; its value is not read. */
  has(key: string): boolean {
    this.#refresh()
    return this.#space.has(key) || this.#lookAgain(() => this.#space.has(key))
  }

  /** Puts a value, to be committed at the end of this turn. Throws KEY_TOO_LONG or VALUE_TOO_LONG. */
  put(key: string | Uint8Array, value: unknown, timeMs = 0): void {
    this.#space.put(key, encodeValue(value, timeMs, this.#dataKind))
    void this.committed()
  }

  /** As `put`; what cannot be kept, such as a value over 64 MiB, is a warning. */
  tryPut(key: string | Uint8Array, value: unknown, timeMs = 0): void {
    try {
      this.put(key, value, timeMs)
    } catch (error) {
      this.#warn(toWarning(error))
    }
  }

  /** Removes an entry, to be committed at the end of this turn. */
  delete(key: string): void {
    this.#space.delete(key)
    void this.committed()
  }

  /** The keys that are strings and begin with `prefix`, in no useful order. */
  keys(prefix: string): string[] {
    this.#refresh(true)
    return [...this.#space.keys()].filter((key) => typeof key === 'string').filter((key) => key.startsWith(prefix))
  }

  /** The entries whose keys are strings and begin with `prefix`, in no useful order. */
  *entries(prefix: string): IterableIterator<[key: string, entry: Stamped]> {
    this.#refresh(true)
    for (const [key, encoded] of this.#space.entries()) {
      const entry = typeof key === 'string' && key.startsWith(prefix) ? decodeValue(encoded) : undefined
      if (typeof key === 'string' && entry !== undefined) yield [key, entry]
    }
  }

  /** Removes every entry whose key begins with `prefix`, or is no string and `prefix` is empty. */
  clear(prefix: string): void {
    this.#refresh(true)
    for (const key of this.#space.keys()) {
      if (prefix === '' || (typeof key === 'string' && key.startsWith(prefix))) this.#space.delete(key)
    }
    void this.committed()
  }

  /** Resolves to true when all that was put so far is committed, to false where it could not be and stays in memory. */
  committed(): Promise<boolean> {
    this.#committing ??= this.#commit()
    return this.#committing
  }

  /** Bytes of the folder and whether all of them are sound, for tools that cannot do with part of their cache. */
  async examine(): Promise<{ readonly bytes: number; readonly isSound: boolean }> {
    try {
      const { sound, bytes } = await this.#cache.verify()
      return { bytes, isSound: sound }
    } catch (error) {
      this.#warn(toWarning(error))
      return { bytes: 0, isSound: false }
    }
  }

  /** Waits for the commit under way and closes the cache. */
  async close(): Promise<void> {
    await this.#committing
    try {
      await this.#cache.close()
    } catch (error) {
      this.#warn(toWarning(error))
    }
  }

  async #commit(): Promise<boolean> {
    await new Promise<void>((resolve) => atEndOfTurn(resolve))
    this.#committing = undefined
    if (!this.#isWritable) return false
    try {
      await this.#cache.commit()
      return true
    } catch (error) {
      this.#warn(toWarning(error))
      return false
    }
  }

  /** A miss may be an entry that another process committed in this very turn, and told this one about. */
  #lookAgain<Found>(look: () => Found): Found {
    this.#refresh(true)
    return look()
  }

  /** Takes up what other processes committed, once a turn or now: that costs 4 to 130 us, a lookup less than one. */
  #refresh(isNow = false): void {
    if (this.#isFresh && !isNow) return
    this.#isFresh = true
    atEndOfTurn(() => void (this.#isFresh = false))
    try {
      this.#cache.refresh()
    } catch (error) {
      this.#warn(toWarning(error)) // what is known already can still be read
    }
  }
}

function toWarning(error: unknown): VarveError {
  return error instanceof VarveError ? error : new VarveError('INTERNAL', String(error), { cause: error })
}

/** The cache, or an empty one in memory where its folder cannot be used; and which of the two it is. */
async function openOrKeepInMemory(options: CacheOptions, warn: (warning: VarveError) => void): Promise<[cache: Cache, isUsable: boolean]> {
  try {
    return [await openCache(options), true]
  } catch (error) {
    if (!(error instanceof VarveError) || !UNUSABLE.has(error.code)) throw error
    warn(error)
    return [await openCache({ ...options, engine: 'memory' }), false]
  }
}
