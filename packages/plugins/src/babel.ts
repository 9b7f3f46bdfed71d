/**
 * Caches what Babel makes of files, for tools that call Babel themselves. In bundlers, use their plugins or the loader.
 *
 * @example
 * import * as core from '@babel/core'
 * import { cachedBabel } from '@varve/plugins/babel'
 *
 * const babel = await cachedBabel(core)
 * const result = await babel.transformAsync(code, { filename, presets: ['@babel/preset-env'] })
 * await babel.close()
 */
import { resolve } from 'node:path'
import { VarveError } from 'varve'
import { installReads } from 'varve/reads'
import {
  type BabelResult,
  type Entry,
  entryShape,
  keptOf,
  resultOf,
  type Transformed,
  transformed,
} from './babel/entry.ts'
import { Calls } from './build/calls.ts'
import { digest, lenientDigest } from './build/digest.ts'
import { callers } from './build/modules.ts'
import { type CachedOptions, FIELDS, checkOptions } from './build/options.ts'
import { projectRoot, type Root } from './build/root.ts'
import { disk } from './host/files.ts'

export type { BabelResult, Transformed } from './babel/entry.ts'
export type { CachedOptions, CachedStats } from './build/options.ts'

// Before a config creates its plugins, so that all that it reads is recorded. In a shared module this would run for each entry point.
installReads()

/** The part of `@babel/core` that is used. */
export interface Babel<Options extends object> {
  readonly version: string
  transformAsync(code: string, options?: Options): Promise<BabelResult | null>
}

/** Options of `cachedBabel`: those of all plugins, without `report`, because a program has no end of a build. */
export type CachedBabelOptions = Omit<CachedOptions, 'report'>

/** Babel with a cache in front. */
export interface CachedBabel<Options extends object> {
  /** As `transformAsync` of Babel, and rejects with its errors, which are not cached. A result with option `ast` is not cached. */
  transformAsync(code: string, options?: Options): Promise<Transformed | null>
  /** Transforms the code in a file, which is also the `filename`. */
  transformFileAsync(path: string, options?: Options): Promise<Transformed | null>
  /** Commits new results and closes the cache; Babel runs for later calls. Without it, results are committed in idle time. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Babel with a cache in front. A result depends on the code, the options, Babel's version, the installed packages, the program that
 * calls this function with its local imports and what it has read so far, and whatever Babel, its plugins and its presets read. Rejects
 * with INVALID_OPTION if an option is unknown or wrong.
 */
export async function cachedBabel<Options extends object>(
  babel: Babel<Options>,
  options: CachedBabelOptions = {},
): Promise<CachedBabel<Options>> {
  const given: unknown = babel
  if (typeof given !== 'object' || given === null || typeof Reflect.get(given, 'transformAsync') !== 'function') {
    throw new VarveError(
      'INVALID_ARGUMENT',
      "cachedBabel() takes what '@babel/core' exports, as in: import * as core from '@babel/core'",
    )
  }
  checkOptions('cachedBabel()', options, FIELDS)
  const cache = new BabelCache(babel, options)
  await cache.begin(callers())
  return cache
}

/** The calls of one `cachedBabel`. */
class BabelCache<Options extends object> implements CachedBabel<Options> {
  readonly #babel: Babel<Options>
  readonly #options: CachedBabelOptions
  readonly #root: Root
  readonly #calls: Calls
  readonly #beforeExit = (): void => void this.#calls.commit()

  constructor(babel: Babel<Options>, options: CachedBabelOptions) {
    this.#babel = babel
    this.#options = options
    this.#root = projectRoot(options.root ?? '')
    this.#calls = new Calls(options)
  }

  async transformAsync(code: string, options?: Options): Promise<Transformed | null> {
    const work = async (): Promise<Transformed | null> => transformed(await this.#babel.transformAsync(code, options))
    const settings = this.#digestOf(options)
    if (settings === undefined) {
      this.#calls.count(
        "has options that cannot be compared, such as a plugin; name plugins and presets, or set 'cacheKey'",
      )
      return this.#calls.reads.run(work)
    }
    const path = fileOf(options)
    return this.#calls.run<Transformed | null, Entry>({
      kind: 'transform',
      id: path ?? 'code without a file name',
      inputs: { code: digest(code, 'code'), 'options of Babel': settings },
      files: [],
      about: path,
      work,
      keep: keptOf,
      shape: entryShape,
      replay: resultOf,
    })
  }

  async transformFileAsync(path: string, options?: Options): Promise<Transformed | null> {
    const code = await disk.promises.readFile(path, 'utf8')
    return this.transformAsync(code, Object.assign({}, options, { filename: path }))
  }

  async close(): Promise<void> {
    process.off('beforeExit', this.#beforeExit)
    await this.#calls.end(false)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Opens the cache for the program in these modules. It may run for hours, so it counts as a server. */
  begin(modules: readonly string[]): Promise<void> {
    process.on('beforeExit', this.#beforeExit)
    const warn = (text: string): void => console.warn(`varve: ${text}`)
    const caller = { tool: 'babel', name: 'babel', root: this.#root.folder, keyOf: () => '', modules, isServer: true }
    return this.#calls.begin({ ...caller, inputs: { babel: this.#babel.version }, info: warn }, warn)
  }

  /** The digest of options, with paths relative to the root; undefined if they cannot be compared. */
  #digestOf(options: Options | undefined): string | undefined {
    const all = { cwd: process.cwd(), ...options }
    try {
      if (this.#options.cacheKey === undefined) digest(all, 'options')
    } catch {
      return undefined
    }
    return lenientDigest(all, (text) => this.#root.toRelative(text))
  }
}

/** Absolute path of the file that options name. */
function fileOf(options: object | undefined): string | undefined {
  const cwd: unknown = Reflect.get(options ?? {}, 'cwd')
  const filename: unknown = Reflect.get(options ?? {}, 'filename')
  return typeof filename === 'string' ? resolve(typeof cwd === 'string' ? cwd : '', filename) : undefined
}
