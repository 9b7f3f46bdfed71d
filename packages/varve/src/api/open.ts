/** Opens a cache: checks the options, finds the directory, loads an engine. */
import { Cache } from './cache.ts'
import { type Degraded, degradedWarning, inMemory, noEngine, unsynced } from '../health/degraded.ts'
import { cacheDirectory, memoryDirectory, NoPlace } from '../health/directory.ts'
import { directoryIn, domainOf, markUntrusted, type TrustDomain } from '../health/domain.ts'
import type { EngineName, EngineOptions, EngineStore } from '../engine/engine.ts'
import { type LoadedEngine, loadEngineOrNone } from '../engine/load.ts'
import { toVarveError, VarveError } from '../errors.ts'
import { Commits } from '../session/commits.ts'
import { historyMode, Recorder } from '../history/recorder.ts'
import type { CacheOptions, Durability } from '../options.ts'
import { Place } from '../health/place.ts'
import { layersBelow } from '../remote/below.ts'
import { unrecorded } from '../reads/sink.ts'
import { Session } from '../session/session.ts'
import { secretOf } from '../health/secret.ts'
import { byteSize } from '../checks/size.ts'
import { BOOLEAN, checkOptions, type Fields, FUNCTION, oneOf, PATHS, STRING, wrongValue } from '../checks/validate.ts'

const FIELDS: Fields<CacheOptions> = {
  name: STRING,
  dir: { expected: 'the path of a directory', accepts: (value) => typeof value === 'string' && value !== '' },
  inMemory: BOOLEAN,
  version: STRING,
  maxBytes: {
    expected: "a number of bytes or a text such as '500MB'",
    accepts: (value) => ['number', 'string'].includes(typeof value),
  },
  durability: oneOf('relaxed', 'durable'),
  readOnly: BOOLEAN,
  shared: BOOLEAN,
  engine: oneOf('auto', 'native', 'wasm'),
  // `secretOf` checks it, so that no message contains its value.
  secret: { expected: 'a secret', accepts: () => true },
  layers: PATHS,
  remote: {
    expected: "what openRemote() of '@varve/remote' returns, or false",
    accepts: (value) => value === false || (typeof value === 'object' && value !== null && 'attach' in value),
  },
  requireSecret: BOOLEAN,
  onWarning: FUNCTION,
  onDamage: FUNCTION,
  history: oneOf('auto', 'always', 'never'),
  strict: BOOLEAN,
}

/** Smallest cap that leaves room for a log and a manifest. */
const MAX_BYTES_MIN = 65_536
const MAX_BYTES_DEFAULT = 1024 ** 3

/**
 * Opens the cache of a tool. The first commit creates the cache directory. Several processes and worker threads may have
 * the cache open at the same time, and read and write it.
 *
 * Rejects with INVALID_OPTION, INVALID_ARGUMENT (a short `secret`), SECRET_MISSING, ENGINE_UNAVAILABLE, NEWER_FORMAT or IO. A damaged cache
 * opens, with its damaged entries as misses. If the directory cannot be used or written, or this process cannot start WebAssembly, the cache
 * opens as well: `status().degraded` and one warning give the reason and the fix.
 *
 * @example
 * await using cache = await openCache({ name: 'my-tool', version: '1.2.0', maxBytes: '500MB' })
 */
export function openCache(options: CacheOptions): Promise<Cache> {
  return unrecorded(() => open(options))
}

async function open(options: CacheOptions): Promise<Cache> {
  checkOptions('openCache()', options, FIELDS)
  if (options.name === undefined) throw wrongValue('name', undefined, "the name of your tool, for example 'my-tool'")
  const durability: Durability = options.durability ?? 'relaxed'
  const mode = historyMode(options.history)
  const { bytes: secret, warning: secretWarning } = secretOf(options)
  if (options.inMemory === true) checkInMemory(options)
  const { dir: given, placeless } = placeOf(options)
  try {
    const request = { engine: options.engine ?? 'auto', inMemory: options.inMemory, dir: given }
    const loaded = await loadEngineOrNone(request)
    const lacking = loaded.lacking === undefined ? undefined : noEngine(loaded.lacking)
    const folder = loaded.engine.folderName(secret)
    const isOnDisk = loaded.inMemory !== true && placeless === undefined
    const maxBytes = maxBytesOf(options.maxBytes)
    const own = lacking === undefined ? options : { ...options, layers: [], remote: false as const }
    const below = await layersBelow({ ...own, dir: isOnDisk ? given : undefined }, folder)
    const { layers, warnings, remote } = below
    const dir = isOnDisk && options.readOnly !== true ? directoryIn(below.domain, given) : given
    const domain = isOnDisk && domainOf(dir) === 'untrusted' ? 'untrusted' : below.domain
    const onDisk = isOnDisk ? new Place(dir, folder, options) : undefined
    if (options.readOnly !== true) markFor(domain, dir, folder, onDisk)
    const engineOptions = { durability, readOnly: options.readOnly ?? false, maxBytes, secret, layers }
    const { store, engine, reason, ...opening } = await openStore(
      dir,
      loaded,
      lacking ?? placeless ?? onDisk?.degraded,
      engineOptions,
    )
    const used = opening.degraded?.mode === 'memory' ? undefined : onDisk
    const isUnsyncable = used !== undefined && engine.name === 'wasm' && !engineOptions.readOnly
    const degraded = opening.degraded ?? (isUnsyncable ? unsynced() : undefined)
    const session = new Session(store, options, used, remote?.discard === undefined ? [] : remote.layers)
    await soundOrClosed(session)
    if (secretWarning !== undefined) session.warn(secretWarning)
    if (loaded.warning !== undefined) session.warn(loaded.warning, 'engine')
    if (degraded !== undefined) session.warn(degradedWarning(degraded), 'degraded')
    for (const warning of warnings) session.warn(warning)
    void remote?.later?.then((warning) => warning !== undefined && session.warn(warning))
    const ownPlace = secret === undefined ? dir : `${dir}/${folder}`
    const place = domain === 'trusted' ? ownPlace : `${ownPlace} (${domain})` // shares no work in flight with a trusted cache
    const opened = { engine: engine.name, reason, dir, domain, durability }
    const published = { name: options.name, dir, secret, shared: options.shared ?? false }
    // What a remote reads and asks for is no work of the build that closes the cache.
    const closed = (): Promise<VarveError | undefined> =>
      unrecorded(async () => {
        await remote?.discard?.([...session.damagedLayers])
        if (used === undefined || engine.name === 'none') return undefined
        return remote?.publish?.({ ...published, engine: engine.name })
      })
    const attached =
      remote === undefined ? null : { layers: remote.report.layers, fetchedBytes: remote.report.fetchedBytes }
    const recorder = new Recorder({
      mode,
      name: options.name,
      engine: engine.name,
      tally: session.tally,
      remote: attached,
    })
    return new Cache(session, new Commits(session, degraded, used, recorder), opened, {
      isReadOnly: engineOptions.readOnly,
      place,
      remote,
      closed,
    })
  } catch (error) {
    throw toVarveError(error)
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

/** The cache directory. A cache in memory has a path for its name; so has one for which there is no directory. */
function placeOf({ name, dir, inMemory: isInMemory }: CacheOptions): {
  readonly dir: string
  readonly placeless?: Degraded
} {
  if (isInMemory === true) return { dir: memoryDirectory(name) }
  try {
    return { dir: cacheDirectory(name, dir) }
  } catch (error) {
    if (error instanceof NoPlace) return { dir: memoryDirectory(name), placeless: inMemory(error.message) }
    throw error
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

interface OpenStore extends LoadedEngine<EngineName> {
  readonly store: EngineStore
  readonly degraded: Degraded | undefined
}

/** The store of the directory; one in memory if the directory cannot be used. */
async function openStore(
  dir: string,
  loaded: LoadedEngine<EngineName>,
  degraded: Degraded | undefined,
  options: EngineOptions,
): Promise<OpenStore> {
  if (degraded?.mode !== 'memory') {
    try {
      return { ...loaded, store: await loaded.engine.open(dir, options), degraded }
    } catch (error) {
      const failure = toVarveError(error)
      // A condition that may pass, such as an I/O error, is an error, so that no commit resolves by accident.
      if (failure.code !== 'PERMISSION') throw failure
      return openStore(dir, loaded, { ...inMemory(failure.message), fix: 'give this user access to it' }, options)
    }
  }
  const { engine, lacking, ...memory } = await loadEngineOrNone({ inMemory: true })
  // Without the secret, nothing shows which layers are authentic.
  const layers = options.secret === undefined ? options.layers : []
  const store = await engine.open(dir, { ...options, secret: undefined, layers })
  const reason = lacking === undefined ? `WebAssembly in memory: ${degraded.why}` : memory.reason
  return { engine, reason, store, degraded }
}

/** Reports damage that opening detected. If damage is an error, closes the cache first. */
async function soundOrClosed(session: Session): Promise<void> {
  try {
    session.lookForDamage()
  } catch (error) {
    await session.close()
    throw error
  }
}

function maxBytesOf(given: number | string | undefined): number {
  if (given === undefined) return MAX_BYTES_DEFAULT
  const bytes = typeof given === 'number' ? given : byteSize(given)
  if (bytes !== undefined && Number.isSafeInteger(bytes) && bytes >= MAX_BYTES_MIN) return bytes
  throw wrongValue(
    'maxBytes',
    given,
    `a whole number of bytes from ${MAX_BYTES_MIN}, or a text such as '500MB' or '2GiB'`,
  )
}
