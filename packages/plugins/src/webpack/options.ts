/** Options and statistics of VarveWebpackPlugin. */
import type { EngineChoice } from 'varve'
import { REPORT, type ReportOption, checkOptions, SIZE } from '../build/options.ts'
import { ANYTHING, BOOLEAN, type Field, type Fields, oneOf, STRING, TEXT } from 'varve/internal'

/** Options of `new VarveWebpackPlugin(options)`. */
export interface VarveWebpackOptions {
  /**
   * Name of the compiler in the cache. Compilers with the same name share their entries; others do not.
   * @defaultValue the compiler's name, mode, target and project, and a number if compilers of one MultiCompiler agree in all four
   */
  readonly name?: string | undefined
  /**
   * Cache directory, relative to the compiler's context. With `'git'`, all worktrees of the Git repository share one; see `dir` of
   * `openCache`.
   * @defaultValue `node_modules/.cache/varve/webpack` next to the nearest package.json
   */
  readonly dir?: string | undefined
  /**
   * Invalidates all entries of this compiler when it changes, and frees their space. Use it for inputs that the plugin does not
   * record, such as environment variables that the config reads: `version: process.env.TARGET`.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * More files, directories (ending in `/`) and packages that decide how modules are built, under any group name:
   * `{ tools: ['./tools/'] }`. webpack follows their imports, and a change invalidates all entries. Some need not be named: loaders,
   * the config, its imports and bases, the script that calls webpack, and modules of the project that `require` loaded. Costs
   * about 100 ms once, after the first build, and a few ms at each start.
   * @defaultValue `{}`
   */
  readonly buildDependencies?: Readonly<Record<string, readonly string[]>> | undefined
  /**
   * Records build dependencies automatically: the config, its imports and bases, the script that calls webpack, and modules of the
   * project that `require` loaded. Also records what loaders and plugins read through `node:fs`, `require` and `process.env`
   * while they run. With `false`, only `buildDependencies`, loaders and reported dependencies count, which suits a config
   * that changes with every build. Costs up to a tenth of the CPU time of a small cold build.
   * @defaultValue `true`
   */
  readonly trackReads?: boolean | undefined
  /**
   * Vouches that plugins make their files, errors and warnings of the modules of a build, and not of what loaders did besides their
   * results. Set it if a warning reports that nothing of a build is stored, and you know that the plugin it names needs no loader to run.
   * @defaultValue `false`: what a build with modules from the cache could not repeat is found out, and such builds are not stored
   */
  readonly stateless?: boolean | undefined
  /**
   * Reads the cache and writes nothing. For builds that may use a cache but must not change it, such as pull requests.
   * @defaultValue `false`
   */
  readonly readOnly?: boolean | undefined
  /**
   * The engine of Varve. Both engines read and write the same directory.
   * @defaultValue `'auto'`: the native engine, or WebAssembly if the addon cannot be loaded
   */
  readonly engine?: EngineChoice | undefined
  /**
   * A secret of at least 32 random bytes. An entry that was not written with the same secret is a miss. For caches that travel
   * through a place to which others can write. Costs time for every byte read or written; see `secret` of `openCache`.
   * @defaultValue the environment variable `VARVE_SECRET`, which keeps the secret out of config files; none if it is not set
   */
  readonly secret?: Uint8Array | string | undefined
  /**
   * Disables the cache if there is no secret: one warning, and every entry is a miss. See `requireSecret` of `openCache`.
   * @defaultValue `true` if the environment has `VARVE_REQUIRE_SECRET=1`, otherwise `false`
   */
  readonly requireSecret?: boolean | undefined
  /**
   * Maximum size of the cache directory, in bytes or as a text such as `'500MB'`. The least recently used entries are evicted first.
   * @defaultValue `'1GiB'`
   */
  readonly maxBytes?: number | string | undefined
  /**
   * Prints one line after the first build of the compiler: how many modules came from the cache, how long their loaders and
   * parsing took when they were built, and why others were rebuilt. `'summary'` also appends the line to the job summary of
   * GitHub Actions (`GITHUB_STEP_SUMMARY`).
   * @defaultValue `VARVE_REPORT` in the environment: `1` or `summary`; otherwise `false`
   */
  readonly report?: ReportOption | undefined
  /**
   * Idle time after a rebuild before new entries are written, in milliseconds. A shorter time loses less if the process is killed,
   * and competes with the next rebuild more often, for at most 10 ms at a time.
   * @defaultValue `5000`
   */
  readonly idleTimeout?: number | undefined
  /**
   * The same after the first build of the process, in milliseconds.
   * @defaultValue `1000`
   */
  readonly idleTimeoutForInitialStore?: number | undefined
}

const MILLISECONDS: Field = ['a number of milliseconds', (value) => typeof value === 'number' && value >= 0]

const FIELDS: Fields<VarveWebpackOptions> = {
  name: TEXT,
  dir: TEXT,
  version: STRING,
  buildDependencies: ['an object of arrays of strings', isListOfNames],
  trackReads: BOOLEAN,
  stateless: BOOLEAN,
  readOnly: BOOLEAN,
  engine: oneOf('auto', 'native', 'wasm'),
  // `openCache` checks it, and does not print its value.
  secret: ANYTHING,
  requireSecret: BOOLEAN,
  maxBytes: SIZE,
  report: REPORT,
  idleTimeout: MILLISECONDS,
  idleTimeoutForInitialStore: MILLISECONDS,
}

/** Options of webpack's own filesystem cache, by their names in lower case, and what to use instead. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ['allowcollectingmemory', 'lazy parts are always read on demand'],
  ['cachedirectory', "did you mean 'dir'?"],
  ['cachelocation', "did you mean 'dir'?"],
  ['compression', 'values are always compressed'],
  ['directory', "did you mean 'dir'?"],
  ['hashalgorithm', 'every byte is checksummed'],
  ['idletimeoutafterlargechanges', "use 'idleTimeout'"],
  ['immutablepaths', 'set snapshot.immutablePaths of webpack'],
  ['managedpaths', 'set snapshot.managedPaths of webpack'],
  ['maxage', "use 'maxBytes': the least recently used entries are evicted first"],
  ['maxmemorygenerations', "set maxGenerations of cache: { type: 'memory' }"],
  ['maxsize', "did you mean 'maxBytes'?"],
  ['memorycacheunaffected', "set cacheUnaffected of cache: { type: 'memory' }"],
  ['profile', "see 'stats' of the plugin"],
  ['store', 'entries are always stored in packs'],
  ['type', "leave it out, and set cache: { type: 'memory' } of webpack"],
])

/** Throws INVALID_OPTION if an option is unknown or of the wrong kind. */
export function checkWebpackOptions(options: VarveWebpackOptions): void {
  checkOptions('VarveWebpackPlugin', options, FIELDS, (name) => ADVICE.get(name.toLowerCase()))
}

function isListOfNames(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const isText = (item: unknown): boolean => typeof item === 'string'
  return Object.values(value).every((group) => Array.isArray(group) && group.every(isText))
}

/** Counts of all compilers since the plugin was constructed. */
export interface VarveWebpackStats {
  /** Lookups that this cache answered. */
  hits: number
  /** Lookups that this cache could not answer. */
  misses: number
  /** Entries written. */
  stored: number
  /** Identifiers of values that were not stored: webpack cannot serialise them, their etag cannot be computed, or they exceed 512 MiB. */
  skipped: string[]
  /** Bytes of values written, as webpack serialised them. */
  bytesWritten: number
  /**
   * What every entry depends on and has changed since an earlier build, so that webpack builds everything again: configs, loaders,
   * packages, and files, directories and environment variables that loaders or plugins read. Paths are relative to the compiler's
   * context. webpack stops at the first change that it finds, so the list may be incomplete.
   */
  changed: readonly string[]
}
