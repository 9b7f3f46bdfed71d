/**
 * The first two steps of `openCache`, and what is known of a store since then: `resolveOptions` is pure and knows what the caller wants,
 * `openStore` loads the engine and opens the directory.
 */
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
import { VarveError, toVarveError } from '../errors.ts'
import { type Degraded, inMemory, noEngine, unsynced, Place } from '../health/place.ts'
import { cacheDirectory, memoryDirectory, NoPlace } from '../health/directory.ts'
import { type Secret, secretOf } from '../health/secret.ts'
import { historyMode } from '../history/history.ts'
import type { CacheOptions, Durability, EngineChoice, HistoryMode } from '../options.ts'
import type { EngineName, EngineOptions, EngineStore } from '../engine/engine.ts'
import { type LoadedEngine, loadEngineOrNone } from '../engine/load.ts'
import { directoryIn, domainOf, markUntrusted, type TrustDomain } from '../health/domain.ts'
import type { Attachment } from '../remote/attach.ts'
import { layersBelow } from '../remote/layers.ts'
import type { RemoteReport } from '../remote/remote.ts'
import type { EngineStatus, LayerReport } from '../reports.ts'

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

// The store: the engine is loaded, layers are fetched, and the directory is decided on and opened.

/** An open store, and how it was opened. */
export interface OpenedStore {
  readonly store: EngineStore
  readonly engine: EngineName
  /** Why this engine, as a phrase. */
  readonly reason: string
  /** Absolute path of the cache directory. */
  readonly dir: string
  readonly domain: TrustDomain
  /** Distinguishes the cache from others of this process: caches share work in flight only with caches of the same identity. */
  readonly identity: string
  /** Undefined for a store in memory. */
  readonly place: Place | undefined
  /** What limits the cache from the start. */
  readonly degraded: Degraded | undefined
  readonly remote: Attachment | undefined
  readonly engineWarning: VarveError | undefined
  readonly layerWarnings: readonly VarveError[]
}

/** Throws ENGINE_UNAVAILABLE, NEWER_FORMAT or IO. A directory that cannot be used is replaced by memory, see `degraded`. */
export async function openStore(options: ResolvedOptions): Promise<OpenedStore> {
  const { durability, readOnly, maxBytes } = options
  const secret = options.secret.bytes
  const loaded = await loadEngineOrNone(options)
  const folder = loaded.engine.folderName(secret)
  const isOnDisk = loaded.inMemory !== true && options.placeless === undefined
  const source = loaded.lacking === undefined ? options : { ...options, layers: [], remote: false as const }
  const below = await layersBelow({ ...source, dir: isOnDisk ? options.dir : undefined }, folder)
  const dir = isOnDisk && !readOnly ? directoryIn(below.domain, options.dir) : options.dir
  const domain = isOnDisk && domainOf(dir) === 'untrusted' ? 'untrusted' : below.domain
  const place = isOnDisk ? new Place(dir, folder, options) : undefined
  if (!readOnly) markFor(domain, dir, folder, place)

  const limit = loaded.lacking === undefined ? (options.placeless ?? place?.degraded) : noEngine(loaded.lacking)
  const engineOptions = { durability, readOnly, maxBytes, secret, layers: below.layers }
  const opened = await openIn(dir, loaded, limit, engineOptions)
  const isInMemory = place === undefined || opened.degraded?.mode === 'memory'
  const isUnsyncable = !isInMemory && opened.engine.name === 'wasm' && !readOnly
  const ownPlace = secret === undefined ? dir : `${dir}/${folder}`
  return {
    store: opened.store,
    engine: opened.engine.name,
    reason: opened.reason,
    dir,
    domain,
    identity: domain === 'trusted' ? ownPlace : `${ownPlace} (${domain})`,
    place: isInMemory ? undefined : place,
    degraded: opened.degraded ?? (isUnsyncable ? unsynced() : undefined),
    remote: below.remote,
    engineWarning: loaded.warning,
    layerWarnings: below.warnings,
  }
}

/** Marks an untrusted directory before the engine writes to it. If that fails, its path is enough. */
function markFor(domain: TrustDomain, dir: string, folder: string, place: Place | undefined): void {
  if (domain === 'trusted' || place === undefined || place.degraded !== undefined) return
  if (place.check(true) !== undefined) return
  try {
    markUntrusted(dir, folder)
  } catch {
    // See above.
  }
}

/** A store, and the engine that opened it. */
interface EngineOpening {
  readonly engine: LoadedEngine<EngineName>['engine']
  readonly reason: string
  readonly store: EngineStore
  readonly degraded: Degraded | undefined
}

/** The store of the directory; one in memory if the directory cannot be used. */
async function openIn(
  dir: string,
  loaded: LoadedEngine<EngineName>,
  degraded: Degraded | undefined,
  options: EngineOptions,
): Promise<EngineOpening> {
  if (degraded?.mode === 'memory') return openInMemory(dir, degraded, options)
  const { engine, reason } = loaded
  try {
    return { engine, reason, store: await engine.open(dir, options), degraded }
  } catch (error) {
    const failure = toVarveError(error)
    // A condition that may pass, such as an I/O error, is an error, so that no commit resolves by accident.
    if (failure.code !== 'PERMISSION') throw failure
    return openInMemory(dir, { ...inMemory(failure.message), fix: 'give this user access to it' }, options)
  }
}

async function openInMemory(dir: string, degraded: Degraded, options: EngineOptions): Promise<EngineOpening> {
  const { engine, lacking, reason } = await loadEngineOrNone({ inMemory: true })
  // Without the secret, nothing shows which layers are authentic.
  const layers = options.secret === undefined ? options.layers : []
  const store = await engine.open(dir, { ...options, secret: undefined, layers })
  return { engine, reason: lacking === undefined ? `WebAssembly in memory: ${degraded.why}` : reason, store, degraded }
}

// What an open cache reports about itself.

/** The state of a cache. */
export interface CacheStatus extends EngineStatus {
  /** `'none'`: this process can start no engine, see `degraded`. */
  readonly engine: EngineName
  /** Why Varve uses this engine, as a phrase. */
  readonly reason: string
  /** Absolute path of the cache directory. For a cache in memory, a path that does not exist. */
  readonly dir: string
  /**
   * `'untrusted'`: what the cache has, or reads from layers, may come from an untrusted scope of a remote. No trusted scope publishes it,
   * and unless it is read-only, it has the directory `.untrusted/<name>` beside that of trusted builds.
   */
  readonly domain: TrustDomain
  readonly durability: Durability
  /** What the next commit, or `close`, writes. A commit under way no longer counts. */
  readonly pending: {
    /** Number of calls of `put` and `delete`, several calls for one key included. */
    readonly entries: number
    /** Bytes that they take in a log: keys, values and a few bytes each. */
    readonly bytes: number
  }
  /**
   * What limits the cache, why, and how to fix it; undefined if nothing does. If the directory cannot be written from the
   * start, relaxed commits stay in memory (`CommitReport.inMemory`) and are written as soon as that is possible. A commit
   * that fails later rejects, and its entries stay buffered for the next one.
   */
  readonly degraded: Degraded | undefined
  /** What `openCache` got from the remote, and how much of it was used; undefined if the cache has none. */
  readonly remote: RemoteReport | undefined
}

/** What the remote has given up to now. */
export function remoteNow(remote: Attachment | undefined, layers: readonly LayerReport[]): RemoteReport | undefined {
  if (remote === undefined) return undefined
  const hits = layers.reduce((sum, { path, hits: ofLayer }) => sum + (remote.layers.includes(path) ? ofLayer : 0), 0)
  return { ...remote.report, hits }
}
