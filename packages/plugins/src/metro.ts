/**
 * A cache store for Metro. It replaces Metro's FileStore, which writes one file per module.
 *
 * @example
 * // metro.config.js
 * const { VarveMetroStore } = require('@varve/plugins/metro')
 * module.exports = { cacheStores: [new VarveMetroStore()] }
 */
import { Buffer } from 'node:buffer'
import { resolve } from 'node:path'
import { DECLARED_FIELDS, type DeclaredInputs, type Inputs, inputsOf } from './adapters/inputs.ts'
import { LazyNamespace, ADAPTER_FIELDS, type AdapterOptions } from './adapters/namespace.ts'
import {
  either,
  hasFields,
  isAnything,
  isDictionary,
  isIndex,
  isText,
  listOf,
  nullable,
  optional,
  type Shape,
  tupleOf,
  withCheck,
} from './build/pack.ts'
import { sourceMap } from './build/source-map.ts'
import { TEXT } from 'varve/internal'
import { checkOptions } from './build/options.ts'

/** Options of `new VarveMetroStore(options)`. */
export interface VarveMetroOptions extends AdapterOptions, DeclaredInputs {
  /**
   * The project directory, whose installed packages and config files decide results.
   * @defaultValue the working directory
   */
  readonly root?: string | undefined
}

/** Time in milliseconds for which one look at the inputs counts: Metro asks for thousands of modules in a row. */
const LOOK_MS = 100

const place = tupleOf<(number | string | undefined)[]>(
  isIndex,
  isIndex,
  optional(isIndex),
  optional(isIndex),
  optional(isText),
)

/** A map in the compact format of newer versions: the positions of a standard map with one source. */
const compactMap = withCheck(hasFields({ mappings: isText, names: listOf(isText) }), ({ mappings, names }) =>
  sourceMap({ mappings, names, sources: [''] }),
)

/** JavaScript, with a map in one of Metro's own formats. */
const script = hasFields({
  code: isText,
  lineCount: isIndex,
  map: either(listOf(place), compactMap),
  functionMap: nullable(hasFields({ names: listOf(isText), mappings: isText })),
})

const output: Shape<{ readonly type: string; readonly data: unknown }> = withCheck(
  hasFields({ type: isText, data: isAnything }),
  ({ type, data }) => !type.startsWith('js/') || script(data),
)

const outputs = withCheck(listOf(output), (all) => all.filter(({ type }) => type.startsWith('js/')).length === 1)

const dependency = hasFields({
  name: isText,
  data: hasFields({ asyncType: nullable(isText), locs: listOf(isDictionary) }),
})

/** The result of Metro's transformer for a module. Metro fails the bundle for any other value. */
const result = hasFields({ dependencies: listOf(dependency), output: outputs })

/**
 * A `CacheStore` for Metro. Metro's keys are hashes of a module, its transformer and the platform, to which the store adds the
 * installed packages and the plugins of Babel. So several projects, platforms and versions of Metro can share a cache directory.
 * Values are results of Metro's transformer; any other value is a miss.
 *
 * @typeParam T - the type of values, as in Metro's `CacheStore`
 */
export class VarveMetroStore<T = unknown> {
  /** Name of the store in Metro's log. */
  readonly name: string = 'VarveMetroStore'
  /** Counts of this process. */
  readonly stats: { hits: number; misses: number } = { hits: 0, misses: 0 }
  readonly #space: LazyNamespace
  readonly #root: string
  readonly #declared: DeclaredInputs
  #inputs: Inputs | undefined
  #lookedMs = 0

  /** Throws INVALID_OPTION if an option is unknown or of the wrong kind. The first call of a method opens the cache. */
  constructor(options: VarveMetroOptions = {}) {
    checkOptions('new VarveMetroStore()', options, { ...ADAPTER_FIELDS, ...DECLARED_FIELDS, root: TEXT })
    const { root = '', env, files, ...others } = options
    this.#declared = { env, files }
    this.#root = resolve(root)
    this.#space = new LazyNamespace('metro', others, 'json', result)
  }

  /** The value of a key; null for a miss. */
  async get(key: Buffer): Promise<T | null> {
    const ownKey = this.#keyOf(key)
    const entry = ownKey === undefined ? undefined : (await this.#space.open()).get(ownKey)
    if (entry === undefined) this.stats.misses++
    else this.stats.hits++
    return entry === undefined ? null : (entry.value as T)
  }

  /** Resolves once the value is committed, or is in memory if the cache directory cannot be written. */
  async set(key: Buffer, value: T): Promise<void> {
    const ownKey = this.#keyOf(key)
    if (ownKey === undefined) return
    const space = await this.#space.open()
    space.tryPut(ownKey, value)
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

  /** The key of an entry; undefined if the transformer has old code in memory. */
  #keyOf(key: Buffer): Buffer | undefined {
    const nowMs = performance.now()
    // Changed inputs remain changed.
    if (this.#inputs === undefined || (this.#inputs.areFirst && nowMs - this.#lookedMs > LOOK_MS)) {
      this.#inputs = inputsOf({ folders: [this.#root], ...this.#declared })
      this.#lookedMs = nowMs
    }
    return this.#inputs.areFirst ? Buffer.concat([key, Buffer.from(this.#inputs.digest, 'hex')]) : undefined
  }
}
