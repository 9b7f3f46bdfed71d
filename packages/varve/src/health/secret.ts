/**
 * The secret of an authenticated cache: from the option, else from the environment. No message shows any part of it.
 *
 *   VARVE_REQUIRE_SECRET   no secret, or an empty VARVE_KEY
 *   1                      an error, as with requireSecret: true
 *   not set                the directory for builds without a secret; an empty VARVE_KEY, which is a CI secret that is
 *                          missing as a rule, is warned of
 *   0                      the same without a warning, as with requireSecret: false: this build is meant to have none
 */
import { isBytes } from '../values/bytes.ts'
import { VarveError } from '../errors.ts'
import type { CacheOptions } from '../options.ts'
import { variable } from '../host/permission.ts'

/**
 * Shortest secret in bytes; the engine has the same. The name of the cache's folder is a hash of the secret, so anyone who
 * sees it can try 310,000 secrets a second. Stretching it (scrypt) would delay every build; random bytes cost nothing.
 */
const SECRET_BYTES_MIN = 32

const WAY_OUT = `at least ${SECRET_BYTES_MIN} random bytes, for example the output of 'openssl rand -hex 32'`

/** What `secretOf` found. */
export interface Secret {
  /** A copy of the secret; undefined = the cache has none. */
  readonly bytes: Uint8Array | undefined
  readonly warning: VarveError | undefined
}

/**
 * The secret that the options or the environment name. A cache in memory needs none unless one is given. Throws
 * INVALID_ARGUMENT if it is too short or of another kind, SECRET_MISSING if there is none and one is required.
 */
export function secretOf({ key, requireSecret, engine }: Pick<CacheOptions, 'key' | 'requireSecret' | 'engine'> = {}): Secret {
  if (key !== undefined) return { bytes: bytesOf(key, "option 'key'"), warning: undefined }
  if (engine === 'memory') return { bytes: undefined, warning: undefined }
  const named = variable('VARVE_KEY')
  if (named !== undefined && named !== '') return { bytes: bytesOf(named, 'VARVE_KEY'), warning: undefined }
  const wanted = variable('VARVE_REQUIRE_SECRET') ?? ''
  // What is neither 1 nor 0 is an attempt to require one.
  const isRequired = requireSecret === true || !['', '0', 'false'].includes(wanted)
  const found = named === '' ? 'VARVE_KEY is empty' : 'VARVE_KEY is not set'
  if (isRequired) {
    const by = requireSecret === true ? 'requireSecret' : 'VARVE_REQUIRE_SECRET'
    const message = `the cache cannot be opened without a secret: ${found}, and ${by} requires one. Set VARVE_KEY to ${WAY_OUT}`
    throw new VarveError('SECRET_MISSING', message)
  }
  const isMeant = requireSecret === false || wanted !== ''
  return { bytes: undefined, warning: named === undefined || isMeant ? undefined : emptyWarning() }
}

function bytesOf(value: unknown, origin: string): Uint8Array {
  if (typeof value !== 'string' && !isBytes(value)) {
    throw new VarveError('INVALID_ARGUMENT', `${origin} is of another kind; expected a Uint8Array or a string: ${WAY_OUT}`)
  }
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : Uint8Array.from(value)
  if (bytes.length >= SECRET_BYTES_MIN) return bytes
  throw new VarveError('INVALID_ARGUMENT', `${origin} has ${bytes.length} bytes, which can be guessed; expected ${WAY_OUT}`)
}

function emptyWarning(): VarveError {
  return new VarveError(
    'SECRET_MISSING',
    'VARVE_KEY is empty: this build uses the cache without a secret, whose entries anyone who can write to it can forge. Set ' +
      'VARVE_KEY, or VARVE_REQUIRE_SECRET=1 to make this an error, or VARVE_REQUIRE_SECRET=0 if this build is meant to have no secret',
  )
}
