/** Checks of arguments and options that all functions share, and of JSON from a store. */
import { VarveError } from 'varve'

/** What an option may hold, in words and as a check. Undefined is always allowed and means the default. */
export type Field = readonly [expected: string, accepts: (value: unknown) => boolean]

const isFilledText = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** The longest time of a timer. */
export const MS_MAX: number = 2 ** 31 - 1

export const BOOLEAN: Field = ['true or false', (value) => typeof value === 'boolean']
export const TEXT: Field = ['a string', isFilledText]
export const TEXTS: Field = ['an array of strings', (value) => Array.isArray(value) && value.every(isFilledText)]
export const MS: Field = [
  `milliseconds, a number from 1 to ${MS_MAX}`,
  (value) => typeof value === 'number' && value >= 1 && value <= MS_MAX,
]
export const AGE_MS: Field = ['milliseconds, a number from 0', (value) => typeof value === 'number' && value >= 0]

/** Also an empty string. */
export const ANY_TEXT: Field = ['a string', (value) => typeof value === 'string']

/** Options of all stores behind a server. */
export const SERVER: Readonly<Record<'allowInsecure' | 'requestMs', Field>> = { allowInsecure: BOOLEAN, requestMs: MS }

/** Options of all calls that take time. */
export const CONTROL: Readonly<Record<'signal' | 'onProgress', Field>> = {
  signal: ['an AbortSignal', (value) => value instanceof AbortSignal],
  onProgress: ['a function', (value) => typeof value === 'function'],
}

/** The error for an option with an invalid value: which one, and what is expected. */
export function invalidOption(name: string, expected: string): VarveError {
  return new VarveError('INVALID_OPTION', `invalid ${name}: expected ${expected}`)
}

/** Throws INVALID_OPTION for a field that is not known, so that a misspelled option is never ignored. */
export function checkOptions(call: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw new VarveError('INVALID_OPTION', `${call} takes an object with options`)
  const unknown = Object.keys(options).find((field) => !known.includes(field))
  if (unknown === undefined) return
  throw new VarveError(
    'INVALID_OPTION',
    `${call} has no option '${unknown}'; its options are ${known.map((field) => `'${field}'`).join(', ')}`,
  )
}

/** Throws INVALID_OPTION for the first of these options that has another kind of value. */
export function checkValues(options: object, fields: Readonly<Record<string, Field>>): void {
  for (const [name, [expected, accepts]] of Object.entries(fields)) {
    const value: unknown = Reflect.get(options, name)
    if (value !== undefined && !accepts(value)) throw invalidOption(`option '${name}'`, expected)
  }
}

/** Throws INVALID_ARGUMENT unless this is a remote, and INVALID_OPTION for options that the call does not have. */
export function checkCall(
  call: string,
  remote: unknown,
  options: object,
  fields: Readonly<Record<string, Field>>,
): void {
  const isRemote = typeof remote === 'object' && remote !== null && 'store' in remote && 'scopes' in remote
  if (!isRemote)
    throw new VarveError('INVALID_ARGUMENT', `${call}() takes what openRemote() returns as its first argument`)
  checkOptions(`${call}()`, options, Object.keys(fields))
  checkValues(options, fields)
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
