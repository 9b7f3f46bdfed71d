/** Options that all wrappers of plugins and loaders share: what each does, its default and its price. */
import type { EngineChoice } from 'varve'
import { ANYTHING, BOOLEAN, type Fields, FUNCTION, oneOf, TEXT, TEXTS } from './validate.ts'

/** What decides the results of a plugin besides its input, and where they are kept. */
export interface CachedOptions {
  /**
   * The options that the plugin was made with, or anything that changes with them: a plugin hides its options in
   * closures, where Varve cannot compare them. Plain data, including RegExp, Map, Set and Date. Functions are refused,
   * because they have no value to compare: pass their names.
   * @defaultValue Vite: the text of the config file and of the files it imports. Other tools: none, and nothing is cached
   */
  readonly cacheKey?: unknown
  /**
   * A change makes all results of this plugin misses. For what no other option covers.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * Packages whose installed versions decide: the plugin's own and those it works with, such as
   * `['@vitejs/plugin-vue', 'vue']`. Fewer misses than the default, at your own risk.
   * @defaultValue every installed package: a digest of the lock file
   */
  readonly packages?: readonly string[] | undefined
  /**
   * Files that the plugin reads and does not tell anybody about, relative to the root; a change makes all its results
   * misses. The usual config files (`CONFIG_FILES`) are always among them.
   * @defaultValue `[]`
   */
  readonly files?: readonly string[] | undefined
  /**
   * Records what the plugin reads through `node:fs`, `require` and `process.env`, and the local modules that it is made of:
   * inputs of all its results. Costs about 1 us for each read. What the plugin reads in other processes, in worker threads and
   * in native addons cannot be seen: its results are not stored unless `files` names what decides them.
   * @defaultValue `true`
   */
  readonly trackReads?: boolean | undefined
  /**
   * Environment variables that the plugin, or the config file, reads. NODE_ENV, BABEL_ENV and BROWSERSLIST_ENV are
   * always among them.
   * @defaultValue `[]`
   */
  readonly env?: readonly string[] | undefined
  /**
   * The project's folder. Paths inside it are kept relative to it, so that another checkout finds the same entries.
   * @defaultValue Vite and Rspack: the tool's own root; elsewhere the working directory
   */
  readonly root?: string | undefined
  /**
   * Folder of the cache, relative to the root.
   * @defaultValue `node_modules/.cache/varve/<tool>` beside the nearest package.json
   */
  readonly dir?: string | undefined
  /**
   * Read, write nothing. For builds that may use a cache but must not decide what is in it.
   * @defaultValue `false`
   */
  readonly readOnly?: boolean | undefined
  /**
   * Which engine of Varve to use; both read and write the same folder.
   * @defaultValue `'auto'`: native, WebAssembly where addons cannot be loaded
   */
  readonly engine?: EngineChoice | undefined
  /**
   * Cap of the folder: bytes, or a text such as `'500MB'`. The least recently used entries go first.
   * @defaultValue `'1GiB'`
   */
  readonly maxBytes?: number | string | undefined
  /**
   * Called after each build, once for each plugin, with what came of its calls.
   * @defaultValue nobody is told
   */
  readonly onStats?: ((stats: CachedStats) => void) | undefined
}

/** What came of the calls of one plugin in one build. */
export interface CachedStats {
  /** Name of the plugin. */
  readonly name: string
  /** Calls answered from the cache. */
  readonly hits: number
  /** Calls that were not in the cache; the plugin ran. */
  readonly misses: number
  /** Calls whose results cannot be kept, by reason; the plugin ran. */
  readonly uncacheable: Readonly<Record<string, number>>
  /** Why calls were not in the cache, and how many each: as `TaskStats.reasons` of `varve`. */
  readonly reasons: Readonly<Record<string, number>>
  /** What the plugin read so far, besides what its calls declare: inputs of all its results. */
  readonly reads: { readonly files: readonly string[]; readonly variables: readonly string[] }
}

/** The checks of these options. */
export const FIELDS: Fields<CachedOptions> = {
  cacheKey: ANYTHING,
  version: ['a string', (value) => typeof value === 'string'],
  packages: TEXTS,
  files: TEXTS,
  trackReads: BOOLEAN,
  env: TEXTS,
  root: TEXT,
  dir: TEXT,
  readOnly: BOOLEAN,
  engine: oneOf('auto', 'native', 'wasm'),
  maxBytes: ["bytes or a text such as '500MB'", (value) => typeof value === 'string' || (typeof value === 'number' && value >= 0)],
  onStats: FUNCTION,
}
