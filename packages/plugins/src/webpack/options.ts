/** Options of VarveWebpackPlugin: what each does, its default and its price. Checked before anything else happens. */
import type { EngineChoice } from 'varve'
import { BOOLEAN, checkOptions, type Field, type Fields, oneOf, TEXT } from '../build/validate.ts'

/** Options of `new VarveWebpackPlugin(options)`. */
export interface VarveWebpackOptions {
  /**
   * Keeps apart what would otherwise meet in one folder: two compilers with the same name share their entries.
   * @defaultValue the compiler's name, mode, target and context; compilers of one MultiCompiler get a number where all
   * these are equal
   */
  readonly name?: string | undefined
  /**
   * Folder of the cache, relative to the compiler's context.
   * @defaultValue `node_modules/.cache/varve/webpack` beside the nearest package.json
   */
  readonly dir?: string | undefined
  /**
   * A change makes every entry of this compiler a miss and frees its space. Put in what is not recorded, such as
   * environment variables that the config reads.
   * @defaultValue `''`
   */
  readonly version?: string | undefined
  /**
   * More files, folders (ending in `/`) and packages that decide how modules are built, by any group name. Followed
   * through their imports; a change makes every entry a miss. Loaders, the config, what it imports or extends, the script
   * that calls webpack and modules of the project that `require` loaded need not be named. Costs some 100 ms once, after
   * the first build, and a few ms at each start.
   * @defaultValue `{}`
   */
  readonly buildDependencies?: Readonly<Record<string, readonly string[]>> | undefined
  /**
   * Record the config, what it imports or extends, the script that calls webpack and modules of the project that `require`
   * loaded as build dependencies, and what loaders and plugins read through `node:fs`, `require` and `process.env` while they
   * run. With `false` only `buildDependencies`, loaders and the dependencies that loaders report count: for a config that
   * changes in every build, at the price of naming what matters. Costs up to a tenth of the CPU of a small cold build.
   * @defaultValue `true`
   */
  readonly trackReads?: boolean | undefined
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
   * A secret of at least 32 random bytes: what was not written with it is a miss. For caches that come from where others may
   * write. Costs time for every byte that is read or written; see `secret` of `openCache`.
   * @defaultValue `VARVE_SECRET` in the environment, which keeps it out of config files; none where that is not set
   */
  readonly secret?: Uint8Array | string | undefined
  /**
   * Use no cache if there is no `secret` and `VARVE_SECRET` is missing or empty: one warning, and every entry is a miss. See
   * `requireSecret` of `openCache`.
   * @defaultValue `VARVE_REQUIRE_SECRET=1` in the environment requires one
   */
  readonly requireSecret?: boolean | undefined
  /**
   * Cap of the folder: bytes, or a text such as `'500MB'`. The least recently used entries go first.
   * @defaultValue `'1GiB'`
   */
  readonly maxBytes?: number | string | undefined
  /**
   * Milliseconds of idle time after a rebuild before new entries are written. Less loses less when the process is
   * killed, and competes with the next rebuild more often (for at most 10 ms at a time).
   * @defaultValue `5000`
   */
  readonly idleTimeout?: number | undefined
  /**
   * The same after the first build of the process.
   * @defaultValue `1000`
   */
  readonly idleTimeoutForInitialStore?: number | undefined
}

const MILLISECONDS: Field = ['milliseconds', isAmount]

const FIELDS: Fields<VarveWebpackOptions> = {
  name: TEXT,
  dir: ['a path', (value) => typeof value === 'string' && value !== ''],
  version: ['a string', (value) => typeof value === 'string'],
  buildDependencies: ['an object of arrays of strings', isListOfNames],
  trackReads: BOOLEAN,
  readOnly: BOOLEAN,
  engine: oneOf('auto', 'native', 'wasm'),
  // `openCache` checks it, so that no message contains its value.
  secret: ['a secret', () => true],
  requireSecret: BOOLEAN,
  maxBytes: ["bytes or a text such as '500MB'", (value) => typeof value === 'string' || isAmount(value)],
  idleTimeout: MILLISECONDS,
  idleTimeoutForInitialStore: MILLISECONDS,
}

/** Throws INVALID_OPTION that names the option, what is wrong with it and the way out. */
export function checkWebpackOptions(options: VarveWebpackOptions): void {
  checkOptions('VarveWebpackPlugin', options, FIELDS, WAYS_OUT)
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0
}

function isListOfNames(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const isText = (item: unknown): boolean => typeof item === 'string'
  return Object.values(value).every((group) => Array.isArray(group) && group.every(isText))
}

/** Options of webpack's own filesystem cache, in lower case, and what to use instead. */
const WAYS_OUT: ReadonlyMap<string, string> = new Map([
  ['cachedirectory', "did you mean 'dir'?"],
  ['cachelocation', "did you mean 'dir'?"],
  ['directory', "did you mean 'dir'?"],
  ['maxsize', "did you mean 'maxBytes'?"],
  ['allowcollectingmemory', 'what webpack left lazy is read when it is asked for'],
  ['compression', 'values are always compressed'],
  ['hashalgorithm', 'every byte is checksummed'],
  ['idletimeoutafterlargechanges', "use 'idleTimeout'"],
  ['immutablepaths', 'set snapshot.immutablePaths of webpack'],
  ['managedpaths', 'set snapshot.managedPaths of webpack'],
  ['maxage', "use 'maxBytes': the least recently used entries go first"],
  ['maxmemorygenerations', "set maxGenerations of cache: { type: 'memory' }"],
  ['memorycacheunaffected', "set cacheUnaffected of cache: { type: 'memory' }"],
  ['profile', "see 'stats' of the plugin"],
  ['store', 'there is one way to store'],
  ['type', "leave it out, and set cache: { type: 'memory' } of webpack"],
])
