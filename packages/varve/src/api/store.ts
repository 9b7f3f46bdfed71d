/** Opens the store of a cache: loads the engine, fetches layers, decides which directory is used, and opens it. */
import type { EngineName, EngineOptions, EngineStore } from '../engine/engine.ts'
import { type LoadedEngine, loadEngineOrNone } from '../engine/load.ts'
import { toVarveError, type VarveError } from '../errors.ts'
import { type Degraded, inMemory, noEngine, unsynced } from '../health/degraded.ts'
import { directoryIn, domainOf, markUntrusted, type TrustDomain } from '../health/domain.ts'
import { Place } from '../health/place.ts'
import type { Attachment } from '../remote/attach.ts'
import { layersBelow } from '../remote/layers.ts'
import type { ResolvedOptions } from './resolve.ts'

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
