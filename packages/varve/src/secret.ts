/** The secret of a keyed cache: from the option, else from the environment. No message says anything of its value. */
import { VarveError } from './errors.ts'
import type { EngineChoice } from './options.ts'

/** Shortest secret in bytes; the engine has the same. */
const SECRET_BYTES_MIN = 16

/**
 * The secret as bytes of its own. What is in memory needs none unless it is asked for. Throws INVALID_ARGUMENT for one that
 * is too short or of another kind.
 */
export function secretOf(given: unknown, engine?: EngineChoice): Uint8Array | undefined {
  const fromEnvironment = given === undefined && engine !== 'memory' ? globalThis.process?.env?.['VARVE_KEY'] : undefined
  const [value, origin] = given === undefined ? [fromEnvironment || undefined, 'VARVE_KEY'] : [given, "option 'key'"]
  if (value === undefined) return undefined
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
    throw new VarveError('INVALID_ARGUMENT', `${origin} is of another kind; expected a Uint8Array or a string of at least ${SECRET_BYTES_MIN} bytes`)
  }
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : Uint8Array.from(value)
  if (bytes.length >= SECRET_BYTES_MIN) return bytes
  throw new VarveError(
    'INVALID_ARGUMENT',
    `${origin} has ${bytes.length} bytes, the least is ${SECRET_BYTES_MIN}; take random ones, such as the 64 digits of 'openssl rand -hex 32'`,
  )
}
