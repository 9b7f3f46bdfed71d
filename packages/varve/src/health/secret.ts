/**
 * The secret of an authenticated cache, from the option or else from the environment. No message contains any part of it.
 * `VARVE_REQUIRE_SECRET` decides what a missing secret, or an empty `VARVE_SECRET`, leads to:
 *
 *   1         an error, as with requireSecret: true
 *   not set   the cache for builds without a secret; an empty VARVE_SECRET, usually a CI secret that is missing, causes a
 *             warning
 *   0         the same without a warning, as with requireSecret: false, for a build that has no secret on purpose
 *
 * Version 0.1 read `VARVE_KEY` instead. If it is left over, the warning or the error has the new name.
 */
import { isBytes, plainBytes } from '../values/bytes.ts'
import { VarveError } from '../errors.ts'
import type { CacheOptions } from '../options.ts'
import { variable } from '../host/permission.ts'

/**
 * Shortest secret in bytes; the engine has the same limit. The name of a directory in the cache is a hash of the secret,
 * so anyone who sees it can try 310,000 secrets a second. Key stretching (scrypt) would delay every build; random bytes
 * cost nothing.
 */
const SECRET_BYTES_MIN = 32

const WAY_OUT = `at least ${SECRET_BYTES_MIN} random bytes, for example the output of 'openssl rand -hex 32'`

/** The variable of version 0.1. */
const OLD = 'VARVE_KEY'

/** What `secretOf` found. */
export interface Secret {
  /** A copy of the secret; undefined = the cache has none. */
  readonly bytes: Uint8Array | undefined
  readonly warning: VarveError | undefined
  /** The state of the variable that the warning is about. */
  readonly found?: 'empty' | typeof OLD
}

/**
 * The secret from the options or the environment. A cache in memory has one only if the option is given. Throws
 * INVALID_ARGUMENT if it is too short or of the wrong type, SECRET_MISSING if it is required and missing.
 */
export function secretOf({
  secret,
  requireSecret,
  inMemory,
}: Pick<CacheOptions, 'secret' | 'requireSecret' | 'inMemory'> = {}): Secret {
  if (secret !== undefined) return { bytes: bytesOf(secret, "option 'secret'"), warning: undefined }
  if (inMemory === true) return { bytes: undefined, warning: undefined }
  const named = variable('VARVE_SECRET')
  if (named !== undefined && named !== '') return { bytes: bytesOf(named, 'VARVE_SECRET'), warning: undefined }
  const wanted = variable('VARVE_REQUIRE_SECRET') ?? ''
  // A value other than 1 and 0 is an attempt to require one.
  const isRequired = requireSecret === true || !['', '0', 'false'].includes(wanted)
  const isOld = (variable(OLD) ?? '') !== ''
  const found = isOld ? `${OLD} is no longer read` : named === '' ? 'VARVE_SECRET is empty' : 'VARVE_SECRET is not set'
  if (isRequired) {
    const by = requireSecret === true ? 'requireSecret' : 'VARVE_REQUIRE_SECRET'
    const message = `the cache cannot be opened without a secret: ${found}, and ${by} requires one. Set VARVE_SECRET to ${WAY_OUT}`
    throw new VarveError('SECRET_MISSING', message)
  }
  const isMeant = requireSecret === false || wanted !== ''
  if (isMeant || (named === undefined && !isOld)) return { bytes: undefined, warning: undefined }
  return {
    bytes: undefined,
    warning: missing(found, isOld ? 'Rename it to VARVE_SECRET' : 'Set VARVE_SECRET'),
    found: isOld ? OLD : 'empty',
  }
}

function bytesOf(value: unknown, origin: string): Uint8Array {
  if (typeof value !== 'string' && !isBytes(value)) {
    throw new VarveError(
      'INVALID_ARGUMENT',
      `${origin} has the wrong type; expected a Uint8Array or a string: ${WAY_OUT}`,
    )
  }
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : Uint8Array.from(plainBytes(value))
  if (bytes.length >= SECRET_BYTES_MIN) return bytes
  throw new VarveError(
    'INVALID_ARGUMENT',
    `${origin} has ${bytes.length} bytes, which can be guessed; expected ${WAY_OUT}`,
  )
}

function missing(found: string, fix: string): VarveError {
  return new VarveError(
    'SECRET_MISSING',
    `${found}: this build uses the cache without a secret, whose entries anyone who can write to it can forge. ${fix}, ` +
      'or set VARVE_REQUIRE_SECRET=1 to make this an error, or VARVE_REQUIRE_SECRET=0 if this build has no secret on purpose',
  )
}
