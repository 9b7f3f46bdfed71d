/**
 * Varve as a cache store of Metro, in the place of its FileStore, which keeps one file per module.
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

/** JavaScript, with its map as Metro has it. */
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

/** What Metro's transformer makes of a module: Metro fails a bundle for anything else. */
const result = hasFields({ dependencies: listOf(dependency), output: outputs })

/**
 * A `CacheStore` of Metro. Metro's keys are hashes of all that decides about a module's output, so entries of several
 * projects, platforms and versions of Metro may share a folder. Values are what Metro's transformer makes of a
 * module; anything else that the folder holds is a miss.
 *
 * @typeParam T - type of the values, as in Metro's `CacheStore`
 */
export class VarveMetroStore<T = unknown> {
  /** In Metro's log. */
  readonly name: string = 'VarveMetroStore'
  /** Counts of this process. */
  readonly stats: { hits: number; misses: number } = { hits: 0, misses: 0 }
  readonly #space: LazyNamespace

  /** Opens the cache at the first call. Throws INVALID_OPTION where an option is unknown or of the wrong kind. */
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

  /** Resolves when the value is committed, or in memory where the folder cannot be written. */
  async set(key: Buffer, value: T): Promise<void> {
    const space = await this.#space.open()
    space.tryPut(key, value)
    await space.committed()
  }

  /** Removes everything; called by `metro --reset-cache`. */
  async clear(): Promise<void> {
    const space = await this.#space.open()
    space.clear('')
    await space.committed()
  }

  /** Lets go of the folder, which Metro does not ask for: the end of its process does the same. */
  async close(): Promise<void> {
    await this.#space.close()
  }
}
