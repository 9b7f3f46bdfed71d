/** Opens a cache: checks the options, finds the folder, loads an engine. */
import { Cache } from './cache.ts'
import { cacheDirectory } from './directory.ts'
import { loadEngine } from './engine/load.ts'
import { toVarveError } from './errors.ts'
import type { CacheOptions, Durability } from './options.ts'
import { Session } from './session.ts'
import { secretOf } from './secret.ts'
import { byteSize } from './size.ts'
import { BOOLEAN, checkOptions, type Fields, FUNCTION, oneOf, STRING, wrongValue } from './validate.ts'

const FIELDS: Fields<CacheOptions> = {
  name: STRING,
  dir: { expected: 'the path of a folder', accepts: (value) => typeof value === 'string' && value !== '' },
  version: STRING,
  maxBytes: { expected: "a number of bytes or a text such as '500MB'", accepts: (value) => ['number', 'string'].includes(typeof value) },
  durability: oneOf('relaxed', 'durable'),
  readOnly: BOOLEAN,
  engine: oneOf('auto', 'native', 'wasm', 'memory'),
  // `secretOf` checks it, without a word about its value.
  key: { expected: 'a secret', accepts: () => true },
  onWarning: FUNCTION,
  onDamage: FUNCTION,
  strict: BOOLEAN,
}

/** Smallest cap that leaves room for a log and a manifest. */
const MAX_BYTES_MIN = 65_536
const MAX_BYTES_DEFAULT = 1024 ** 3

/**
 * Opens the cache of a tool and makes its folder at the first commit. Several processes and worker threads may have it
 * open at the same time, all of them reading and writing.
 *
 * Rejects with INVALID_OPTION, INVALID_ARGUMENT (a short `key`), ENGINE_UNAVAILABLE, NEWER_FORMAT, PERMISSION or IO. A damaged cache opens: what is
 * damaged is a miss.
 *
 * @example
 * await using cache = await openCache({ name: 'my-tool', version: '1.2.0', maxBytes: '500MB' })
 */
export async function openCache(options: CacheOptions): Promise<Cache> {
  checkOptions('openCache()', options, FIELDS)
  if (options.name === undefined) throw wrongValue('name', undefined, "the name of your tool, for example 'my-tool'")
  const dir = cacheDirectory(options.name, options.dir)
  const durability: Durability = options.durability ?? 'relaxed'
  const isReadOnly = options.readOnly ?? false
  const maxBytes = maxBytesOf(options.maxBytes)
  const key = secretOf(options.key, options.engine)
  try {
    const { engine, reason } = await loadEngine({ engine: options.engine ?? 'auto' })
    const store = await engine.open(dir, { durability, readOnly: isReadOnly, maxBytes, key })
    const place = key === undefined ? dir : `${dir}/${engine.folderName(key)}`
    const session = new Session(store, options)
    await soundOrClosed(session)
    return new Cache(session, { engine: engine.name, reason, dir, durability }, isReadOnly, place)
  } catch (error) {
    throw toVarveError(error)
  }
}

/** Has damage told that was met on the way; where it is an error, lets go of the folder first. */
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
  throw wrongValue('maxBytes', given, `a whole number of bytes from ${MAX_BYTES_MIN}, or a text such as '500MB' or '2GiB'`)
}
