/** The options of all wrappers of plugins and loaders, and how they are checked: `varve` checks each, this adds what to do instead of a secret. */
import { type CacheOptions, gitDirectory, VarveError } from 'varve'
import {
  checkOptions as check,
  describe,
  type Field,
  type Fields,
  ANYTHING,
  BOOLEAN,
  FUNCTION,
  oneOf,
  STRING,
  TEXT,
} from 'varve/internal'
import { join, resolve } from 'node:path'

/** Names, of which an empty one is accepted. */
export const NAMES: Field = [
  'an array of strings',
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
]
export const SIZE: Field = [
  "bytes or a text such as '500MB'",
  (value) => typeof value === 'string' || (typeof value === 'number' && value > 0),
]

/**
 * Throws INVALID_OPTION for the first option that is unknown or wrong.
 *
 * @param call begins the message
 * @param advise the end of the message for an unknown option; undefined for the usual suggestion
 */
export function checkOptions<Options extends object>(
  call: string,
  options: Options,
  fields: Fields<Options>,
  advise: (name: string) => string | undefined = () => undefined,
): void {
  check(call, options, fields, (name) => advise(name) ?? secretAdvice(name, fields))
}

/** What to do instead of an option `key` or `secret`, which are easily confused: a secret must not become a cache key. */
function secretAdvice(name: string, known: object): string | undefined {
  if (name !== 'key' && name !== 'secret') return undefined
  if ('secret' in known) return "did you mean 'secret'?"
  const secret = 'set a secret as VARVE_SECRET in the environment'
  return name === 'key' && 'cacheKey' in known ? `did you mean 'cacheKey'? If it is a secret, ${secret}` : secret
}

/** Throws INVALID_ARGUMENT unless this is one plugin. Many packages make several plugins, or a promise of one. */
export function checkPlugin(plugin: unknown): void {
  if (Array.isArray(plugin)) {
    throw new VarveError(
      'INVALID_ARGUMENT',
      'cached() takes one plugin, not an array of plugins; wrap those that are slow',
    )
  }
  const isObject = typeof plugin === 'object' && plugin !== null
  if (isObject && typeof Reflect.get(plugin, 'name') === 'string') return
  const advice =
    isObject && 'then' in plugin
      ? 'a promise; await it first'
      : isObject
        ? 'an object without a name'
        : describe(plugin)
  throw new VarveError('INVALID_ARGUMENT', `cached() takes a plugin, not ${advice}`)
}

/** Which reports a build makes: a line, or a line and a job summary. */
export type ReportOption = boolean | 'summary'

/** The check of an option `report`. */
export const REPORT: Field = ["true, false or 'summary'", (value) => typeof value === 'boolean' || value === 'summary']

/** Options that decide the results of a plugin, and options of the cache. */
export interface CachedOptions extends Pick<CacheOptions, 'readOnly' | 'engine' | 'maxBytes'> {
  /**
   * The options of the plugin, or any value that changes with them. A plugin hides its options in closures, so the cache
   * cannot see them. Accepts plain data, RegExp, Map, Set and Date. A function cannot be compared; pass its name instead.
   * @defaultValue Vite: the text of the config file and of all its imports. Other tools have no default, and cache nothing without it
   */
  readonly cacheKey?: unknown
  /**
   * Invalidates all results of this plugin when it changes. For inputs that no other option covers.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * Packages whose installed versions decide the results: the plugin's own and those that it uses, for example
   * `['@vitejs/plugin-vue', 'vue']`. This gives fewer misses than the default, but a missing name gives stale results.
   * @defaultValue all installed packages, by a digest of the lock file
   */
  readonly packages?: readonly string[] | undefined
  /**
   * Files that the plugin reads without reporting them, relative to the root. A change invalidates all its results. The usual
   * config files (`CONFIG_FILES`) are always included.
   * @defaultValue `[]`
   */
  readonly files?: readonly string[] | undefined
  /**
   * Records what the plugin reads through `node:fs`, `require` and `process.env`, and its local modules, as inputs of all its
   * results. Costs about 1 us for each read. Reads in other processes, in worker threads and in native addons cannot be
   * recorded. Results of a plugin that uses these are stored only if `files` is set.
   * @defaultValue `true`
   */
  readonly trackReads?: boolean | undefined
  /**
   * Packages whose processes, worker threads and native addons read nothing that decides the results, for example `['nx']`.
   * Results of a plugin that uses these are stored, although their reads cannot be recorded.
   * @defaultValue `[]`
   */
  readonly trust?: readonly string[] | undefined
  /**
   * Environment variables that the plugin or the config file reads. NODE_ENV, BABEL_ENV and BROWSERSLIST_ENV are always
   * included.
   * @defaultValue `[]`
   */
  readonly env?: readonly string[] | undefined
  /**
   * The project directory. Paths inside it, and inside the checkout around it, are stored relative to it, so that another checkout finds
   * the same entries. A checkout has `.git`, or a workspace if nothing around it has.
   * @defaultValue Vite and Rspack: the tool's own root; other tools: the working directory
   */
  readonly root?: string | undefined
  /**
   * Cache directory, relative to the root. With `'git'`, all worktrees of the Git repository share one; see `dir` of
   * `openCache`.
   * @defaultValue `node_modules/.cache/varve/<tool>` next to the nearest package.json
   */
  readonly dir?: string | undefined
  /**
   * Prints one line at the end of each build, for all plugins that share the cache: how many modules came from the cache, how
   * long they took when they were made, and why others were rebuilt. `'summary'` also appends the line to the job summary of
   * GitHub Actions (`GITHUB_STEP_SUMMARY`).
   * @defaultValue `VARVE_REPORT` in the environment: `1` or `summary`; otherwise `false`
   */
  readonly report?: ReportOption | undefined
  /**
   * Called after each build, once for each plugin, with the statistics of its calls.
   * @defaultValue no function
   */
  readonly onStats?: ((stats: CachedStats) => void) | undefined
}

/** An option of plugins that have other hooks than those whose results are cached. */
export interface StatelessOption {
  /**
   * Caches a plugin although its hooks show that it may keep something of one module until a later hook: hooks for the whole bundle, or
   * modules that only the plugin can load. Set it for a plugin that keeps nothing: a hit skips its `load` or `transform`, and what these
   * would have kept is missing in later hooks.
   * @defaultValue `false`: such a plugin is not cached, unless Varve knows it, and one warning names the hook
   */
  readonly stateless?: boolean | undefined
}

/** Statistics of the calls of one plugin in one build. */
export interface CachedStats {
  /** Name of the plugin. */
  readonly name: string
  /** Calls answered from the cache. */
  readonly hits: number
  /** Calls that ran because the cache had no valid result. */
  readonly misses: number
  /** Number of calls whose results cannot be cached, by reason; the plugin ran. */
  readonly uncacheable: Readonly<Record<string, number>>
  /** Number of misses, by reason, as in `TaskStats.reasons` of `varve`. */
  readonly reasons: Readonly<Record<string, number>>
  /** Files and variables that the plugin has read so far, without those that its calls report: inputs of all its results. */
  readonly reads: { readonly files: readonly string[]; readonly variables: readonly string[] }
}

/** The directory that the option `dir` names: relative to `base`, or in the repository of `base`. Undefined for the default. */
export function cacheFolder(dir: string | undefined, base: string, tool: string): string | undefined {
  const shared = dir === 'git' ? gitDirectory(base) : undefined
  if (dir === undefined || dir === 'git') return shared === undefined ? undefined : join(shared, 'varve', tool)
  return resolve(base, dir)
}

/** The checks of CachedOptions. */
export const FIELDS: Fields<CachedOptions> = {
  cacheKey: ANYTHING,
  version: STRING,
  packages: NAMES,
  files: NAMES,
  trackReads: BOOLEAN,
  trust: NAMES,
  env: NAMES,
  root: TEXT,
  dir: TEXT,
  readOnly: BOOLEAN,
  engine: oneOf('auto', 'native', 'wasm'),
  maxBytes: SIZE,
  report: REPORT,
  onStats: FUNCTION,
}
