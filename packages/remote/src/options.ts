/** Checks of arguments and options that all functions share, and of JSON from a store. */
import { VarveError } from 'varve'
import { ANYTHING, BOOLEAN, checkOptions, type Field, type Fields, FUNCTION } from 'varve/internal'

/** The longest time of a timer. */
export const MS_MAX: number = 2 ** 31 - 1

export const MS: Field = [
  `milliseconds, a number from 1 to ${MS_MAX}`,
  (value) => typeof value === 'number' && value >= 1 && value <= MS_MAX,
]
export const AGE_MS: Field = ['milliseconds, a number from 0', (value) => typeof value === 'number' && value >= 0]

/** Options of stores behind a server. Each store checks the credentials itself, so that no message has them. */
export const SERVER: Readonly<Record<'credentials' | 'allowInsecure' | 'requestMs', Field>> = {
  credentials: ANYTHING,
  allowInsecure: BOOLEAN,
  requestMs: MS,
}

/** Options of all calls that take time. */
export const CONTROL: Readonly<Record<'signal' | 'onProgress', Field>> = {
  signal: ['an AbortSignal', (value) => value instanceof AbortSignal],
  onProgress: FUNCTION,
}

/** The error for an option with an invalid value: which one, and what is expected. */
export function invalidOption(name: string, expected: string): VarveError {
  return new VarveError('INVALID_OPTION', `invalid ${name}: expected ${expected}`)
}

/** Throws INVALID_ARGUMENT unless this is a remote, and INVALID_OPTION for options that the call does not have. */
export function checkCall<Options extends object>(
  call: string,
  remote: unknown,
  options: Options,
  fields: Fields<Options>,
): void {
  const isRemote = typeof remote === 'object' && remote !== null && 'store' in remote && 'scopes' in remote
  if (!isRemote)
    throw new VarveError('INVALID_ARGUMENT', `${call}() takes what openRemote() returns as its first argument`)
  checkOptions(`${call}()`, options, fields)
}

/** Objects, arrays and members take up to 20 times the memory of their bytes. Throws SyntaxError if there are more than `partsMax`. */
export function parseJson(bytes: Uint8Array, partsMax: number): unknown {
  let parts = 0
  for (const byte of bytes) if (byte === 0x7b || byte === 0x5b || byte === 0x2c) parts += 1
  if (parts > partsMax) throw new SyntaxError(`the JSON has more than ${partsMax} parts`)
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString())
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** A whole number of things or bytes. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** SHA-256 in hex. */
export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
}
