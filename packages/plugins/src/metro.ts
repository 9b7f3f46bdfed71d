/**
 * A cache store for Metro. It replaces Metro's FileStore, which writes one file per module.
 *
 * @example
 * // metro.config.js
 * const { VarveMetroStore } = require('@varve/plugins/metro')
 * module.exports = { cacheStores: [new VarveMetroStore()] }
 */
import type { Buffer } from 'node:buffer'
import { LazyNamespace } from './adapters/lazy-namespace.ts'
import { ADAPTER_FIELDS, type AdapterOptions } from './adapters/options.ts'
import { isAnything, isDictionary, hasFields, isIndex, listOf, nullable, optional, type Shape, isText, tupleOf, withCheck } from './build/shape.ts'
import { checkOptions } from './build/validate.ts'

/** Options of `new VarveMetroStore(options)`. */
export interface VarveMetroOptions extends AdapterOptions {}

const place = tupleOf<(number | string | undefined)[]>(isIndex, isIndex, optional(isIndex), optional(isIndex), optional(isText))

/** JavaScript, with a map in Metro's own format. */
const script = hasFields({
  code: isText,
  lineCount: isIndex,
  map: listOf(place),
  functionMap: nullable(hasFields({ names: listOf(isText), mappings: isText })),
})

const output: Shape<{ readonly type: string; readonly data: unknown }> = withCheck(
  hasFields({ type: isText, data: isAnything }),
  ({ type, data }) => !type.startsWith('js/') || script(data),
)

const outputs = withCheck(listOf(output), (all) => all.filter(({ type }) => type.startsWith('js/')).length === 1)

const dependency = hasFields({ name: isText, data: hasFields({ asyncType: nullable(isText), locs: listOf(isDictionary) }) })

/** The result of Metro's transformer for a module. Metro fails the bundle for any other value. */
const result = hasFields({ dependencies: listOf(dependency), output: outputs })

/**
 * A `CacheStore` for Metro. Metro's keys are hashes of all inputs of a module's output, so several projects, platforms and
 * versions of Metro can share a cache directory. Values are results of Metro's transformer; any other value is a miss.
 *
 * @typeParam T - the type of values, as in Metro's `CacheStore`
 */
export class VarveMetroStore<T = unknown> {
  /** Name of the store in Metro's log. */
  readonly name: string = 'VarveMetroStore'
  /** Counts of this process. */
  readonly stats: { hits: number; misses: number } = { hits: 0, misses: 0 }
  readonly #space: LazyNamespace

  /** Throws INVALID_OPTION if an option is unknown or of the wrong kind. The first call of a method opens the cache. */
  constructor(options: VarveMetroOptions = {}) {
    checkOptions('new VarveMetroStore()', options, ADAPTER_FIELDS)
    this.#space = new LazyNamespace('metro', options, 'json', result)
  }

  /** The value of a key; null for a miss. */
  async get(key: Buffer): Promise<T | null> {
    const entry = (await this.#space.open()).get(key)
    if (entry === undefined) this.stats.misses++
    else this.stats.hits++
    return entry === undefined ? null : (entry.value as T)
  }

  /** Resolves once the value is committed, or is in memory if the cache directory cannot be written. */
  async set(key: Buffer, value: T): Promise<void> {
    const space = await this.#space.open()
    space.tryPut(key, value)
    await space.committed()
  }

  /** Removes all entries; called by `metro --reset-cache`. */
  async clear(): Promise<void> {
    const space = await this.#space.open()
    space.clear('')
    await space.committed()
  }

  /** Closes the cache. Metro does not call this; the exit of its process has the same effect. */
  async close(): Promise<void> {
    await this.#space.close()
  }
}
