/** Resolves the options of `openCache`: checks, defaults, the environment, the directory and the secret. Writes nothing. */
import {
  ANYTHING,
  BOOLEAN,
  byteSize,
  checkOptions,
  type Fields,
  FUNCTION,
  oneOf,
  STRING,
  TEXT,
  TEXTS,
  wrongValue,
} from '../checks/options.ts'
import { VarveError } from '../errors.ts'
import { type Degraded, inMemory } from '../health/degraded.ts'
import { cacheDirectory, memoryDirectory, NoPlace } from '../health/directory.ts'
import { type Secret, secretOf } from '../health/secret.ts'
import { historyMode } from '../history/history.ts'
import type { CacheOptions, Durability, EngineChoice, HistoryMode } from '../options.ts'

const FIELDS: Fields<CacheOptions> = {
  name: STRING,
  dir: ['the path of a directory', TEXT[1]],
  inMemory: BOOLEAN,
  version: STRING,
  maxBytes: ["a number of bytes or a text such as '500MB'", (value) => ['number', 'string'].includes(typeof value)],
  durability: oneOf('relaxed', 'durable'),
  readOnly: BOOLEAN,
  shared: BOOLEAN,
  engine: oneOf('auto', 'native', 'wasm'),
  // `secretOf` checks it, so that no message contains its value.
  secret: ANYTHING,
  layers: ['an array of paths of directories', TEXTS[1]],
  remote: [
    "what openRemote() of '@varve/remote' returns, or false",
    (value) => value === false || (typeof value === 'object' && value !== null && 'attach' in value),
  ],
  requireSecret: BOOLEAN,
  onWarning: FUNCTION,
  onDamage: FUNCTION,
  history: oneOf('auto', 'always', 'never'),
  strict: BOOLEAN,
}

/** Smallest cap in bytes that leaves room for a log and a manifest. */
const MAX_BYTES_MIN = 65_536
const MAX_BYTES_DEFAULT = 1024 ** 3

/** The options of one cache with defaults and the environment applied. `layers` and `remote` are resolved with the store. */
export interface ResolvedOptions extends Pick<
  CacheOptions,
  'name' | 'version' | 'layers' | 'remote' | 'strict' | 'onWarning' | 'onDamage'
> {
  /** Absolute path. A cache in memory has one for its name. */
  readonly dir: string
  readonly inMemory: boolean
  /** Why there is no directory for this cache, which is then in memory. */
  readonly placeless: Degraded | undefined
  readonly maxBytes: number
  readonly durability: Durability
  readonly readOnly: boolean
  readonly shared: boolean
  readonly engine: EngineChoice
  readonly history: HistoryMode
  readonly secret: Secret
}

/** Throws INVALID_OPTION, INVALID_ARGUMENT (a short `secret`) or SECRET_MISSING. */
export function resolveOptions(options: CacheOptions): ResolvedOptions {
  checkOptions('openCache()', options, FIELDS)
  if (options.name === undefined)
    throw wrongValue("openCache(): option 'name'", undefined, "the name of your tool, for example 'my-tool'")
  const history = historyMode(options.history)
  const secret = secretOf(options)
  if (options.inMemory === true) checkInMemory(options)
  return {
    ...directoryOf(options),
    name: options.name,
    inMemory: options.inMemory ?? false,
    version: options.version,
    maxBytes: maxBytesOf(options.maxBytes),
    durability: options.durability ?? 'relaxed',
    readOnly: options.readOnly ?? false,
    shared: options.shared ?? false,
    engine: options.engine ?? 'auto',
    history,
    secret,
    layers: options.layers,
    remote: options.remote,
    strict: options.strict,
    onWarning: options.onWarning,
    onDamage: options.onDamage,
  }
}

/** Throws INVALID_OPTION for options that contradict `inMemory: true`. */
function checkInMemory({ dir, engine, remote }: CacheOptions): void {
  const hasRemote = remote !== undefined && remote !== false
  const conflict = dir !== undefined ? 'dir' : engine === 'native' ? 'engine' : hasRemote ? 'remote' : undefined
  if (conflict === undefined) return
  const why = conflict === 'engine' ? 'a cache in memory uses WebAssembly' : 'a cache in memory has no directory'
  throw new VarveError(
    'INVALID_OPTION',
    `openCache() takes either 'inMemory: true' or '${conflict}': ${why}. Leave one of them out`,
  )
}

function directoryOf(options: CacheOptions): Pick<ResolvedOptions, 'dir' | 'placeless'> {
  const { name, dir, inMemory: isInMemory } = options
  if (isInMemory === true) return { dir: memoryDirectory(name), placeless: undefined }
  try {
    return { dir: cacheDirectory(name, dir), placeless: undefined }
  } catch (error) {
    if (error instanceof NoPlace) return { dir: memoryDirectory(name), placeless: inMemory(error.message) }
    throw error
  }
}

function maxBytesOf(given: number | string | undefined): number {
  if (given === undefined) return MAX_BYTES_DEFAULT
  const bytes = typeof given === 'number' ? given : byteSize(given)
  if (bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= MAX_BYTES_MIN) return bytes
  throw wrongValue(
    "openCache(): option 'maxBytes'",
    given,
    `a whole number of bytes from ${MAX_BYTES_MIN}, or a text such as '500MB' or '2GiB'`,
  )
}
