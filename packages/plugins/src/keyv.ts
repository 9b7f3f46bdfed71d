/**
 * A store for Keyv 5 and 6. Libraries that accept a Keyv instance can use Varve through it.
 *
 * @example
 * import Keyv from 'keyv'
 * import { VarveKeyv } from '@varve/plugins/keyv'
 * const keyv = new Keyv({ store: new VarveKeyv({ dir: '.cache/pages' }), namespace: 'pages' })
 */
import { EventEmitter } from 'node:events'
import type { VarveError } from 'varve'
import { LazyNamespace, ADAPTER_FIELDS, type AdapterOptions } from './adapters/namespace.ts'
import { type TimedValue, TIME_MAX_MS } from './adapters/value.ts'
import { checkOptions } from './build/options.ts'

/** Options of `new VarveKeyv(options)`. */
export interface VarveKeyvOptions extends AdapterOptions {}

/** An entry of `setMany`. */
export interface VarveKeyvEntry {
  readonly key: string
  readonly value: unknown
  /** Milliseconds until the entry is a miss. */
  readonly ttl?: number | undefined
}

/**
 * A Keyv store. The first call opens the cache. Once `set` resolves, the entry is committed and survives a process crash. All
 * calls of `set` in one turn of the event loop share a commit, so a crash loses at most the entries of that turn. Emits 'error' if an
 * entry could not be written; it stays in memory, and the next commit tries again.
 */
export class VarveKeyv extends EventEmitter {
  /** Set by Keyv 5, whose keys begin with it. Keyv 6 does not set it and adds prefixes itself. */
  declare namespace?: string | undefined
  /** Keyv 5 iterates only over stores with a known dialect, so this store claims one. */
  readonly opts: Record<string, unknown>
  readonly #space: LazyNamespace

  /** Throws INVALID_OPTION if an option is unknown or of the wrong kind. */
  constructor(options: VarveKeyvOptions = {}) {
    super()
    checkOptions('new VarveKeyv()', options, ADAPTER_FIELDS)
    const { secret: _, ...shown } = options
    this.opts = { ...shown, url: `varve://${options.dir ?? ''}`, dialect: 'sqlite' }
    const onWarning = (warning: VarveError): void => this.#warn(warning, options.onWarning)
    this.#space = new LazyNamespace('keyv', { ...options, onWarning }, 'clone')
  }

  async get<Value>(key: string): Promise<Value | undefined> {
    const space = await this.#space.open()
    return valueOf(space.get(key)) as Value | undefined
  }

  async getMany<Value>(keys: readonly string[]): Promise<(Value | undefined)[]> {
    const space = await this.#space.open()
    return space.getMany(keys).map((entry) => valueOf(entry) as Value | undefined)
  }

  async has(key: string): Promise<boolean> {
    return (await this.get(key)) !== undefined
  }

  async hasMany(keys: readonly string[]): Promise<boolean[]> {
    return (await this.getMany(keys)).map((value) => value !== undefined)
  }

  /** Resolves to true once the entry is committed, or to false if it is in memory only. */
  async set(key: string, value: unknown, ttl?: number): Promise<boolean> {
    const space = await this.#space.open()
    if (value === undefined) space.delete(key)
    else space.put(key, value, expiryOf(ttl))
    return space.committed()
  }

  /** As `set`, with one commit for all entries. */
  async setMany(entries: readonly VarveKeyvEntry[]): Promise<boolean[]> {
    return Promise.all(entries.map(({ key, value, ttl }) => this.set(key, value, ttl)))
  }

  /** Deletes an entry. Resolves to whether it existed. */
  async delete(key: string): Promise<boolean> {
    const space = await this.#space.open()
    const entry = space.get(key)
    if (entry === undefined) return false
    space.delete(key)
    await space.committed()
    return !isExpired(entry)
  }

  /** Deletes entries. Resolves to whether all of them existed. */
  async deleteMany(keys: readonly string[]): Promise<boolean> {
    const found = await Promise.all(keys.map((key) => this.delete(key)))
    return found.every(Boolean)
  }

  /** Removes all entries of Keyv's namespace, or all entries if it has none. */
  async clear(): Promise<void> {
    const space = await this.#space.open()
    space.clear(prefixOf(this.namespace))
    await space.committed()
  }

  /** Yields keys, with their prefix, and values. Leaves out expired entries. */
  async *iterator<Value>(namespace?: string): AsyncGenerator<[key: string, value: Awaited<Value>], void> {
    const space = await this.#space.open()
    for (const [key, entry] of space.entries(prefixOf(namespace))) {
      const value = valueOf(entry)
      if (value !== undefined) yield [key, value as Awaited<Value>]
    }
  }

  /** Commits and closes the cache; a later call opens it again. */
  async disconnect(): Promise<void> {
    await this.#space.close()
  }

  /** Reports a warning to `onWarning`, or to the process, and to listeners of 'error'. */
  #warn(warning: VarveError, onWarning: VarveKeyvOptions['onWarning']): void {
    if (onWarning !== undefined) onWarning(warning)
    else process.emitWarning(warning.message, { type: 'VarveWarning', code: warning.code })
    try {
      if (this.listenerCount('error') > 0) this.emit('error', warning)
    } catch {
      // Keyv throws if 'error' has no listener. A cache that cannot write must not fail its host.
    }
  }
}

const prefixOf = (namespace: string | undefined): string =>
  namespace === undefined || namespace === '' ? '' : `${namespace}:`

/** When an entry expires; 0 for never, also for a time beyond those that an entry can have. */
const expiryOf = (ttl = 0): number => {
  const timeMs = Date.now() + ttl
  return ttl > 0 && timeMs <= TIME_MAX_MS ? timeMs : 0
}

const isExpired = (entry: TimedValue): boolean => entry.timeMs !== 0 && Date.now() > entry.timeMs

/** The value of an entry; undefined if it has expired. It stays, as its removal could remove what another process sets meanwhile. */
const valueOf = (entry: TimedValue | undefined): unknown =>
  entry === undefined || isExpired(entry) ? undefined : entry.value
