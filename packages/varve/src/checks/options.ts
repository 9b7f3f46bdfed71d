/** Checks options before they are used. Each message names the field, the value and the fix. */
import { VarveError } from '../errors.ts'

/** What a field may hold; undefined is always allowed and means the default. */
export interface Field {
  /** The end of the phrase 'expected ...'. */
  readonly expected: string
  accepts(value: unknown): boolean
}

/** A field for each option, so that a new option cannot be forgotten. */
export type Fields<Options> = { readonly [Name in keyof Required<Options>]: Field }

export const BOOLEAN: Field = { expected: 'true or false', accepts: (value) => typeof value === 'boolean' }
export const STRING: Field = { expected: 'a string', accepts: (value) => typeof value === 'string' }
export const FUNCTION: Field = { expected: 'a function', accepts: (value) => typeof value === 'function' }
export const PATHS: Field = {
  expected: 'an array of paths of directories',
  accepts: (value) => Array.isArray(value) && value.every((path) => typeof path === 'string' && path !== ''),
}
export const SIGNAL: Field = {
  expected: 'an AbortSignal',
  accepts: (value) => typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
}

/** A field that takes one of a few words. */
export function oneOf(...words: readonly string[]): Field {
  return {
    expected: words.map((word) => `'${word}'`).join(' or '),
    accepts: (value) => typeof value === 'string' && words.includes(value),
  }
}

/**
 * Throws INVALID_OPTION if `given` is not an object, has an unknown field, or a value of the wrong type. `call` names the
 * call in the message.
 */
export function checkOptions<Options extends object>(call: string, given: Options, fields: Fields<Options>): void {
  const value: unknown = given
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new VarveError('INVALID_OPTION', `${call} takes an object with options, not ${describe(value)}`)
  }
  const known: Readonly<Record<string, Field>> = fields
  for (const [name, fieldValue] of Object.entries(value)) {
    const field = Object.hasOwn(known, name) ? known[name] : undefined
    if (field === undefined) throw unknownOption(call, name, Object.keys(known))
    if (fieldValue !== undefined && !field.accepts(fieldValue)) throw wrongValue(name, fieldValue, field.expected)
  }
}

/** An INVALID_OPTION that names field and value; `expected` completes the sentence. */
export function wrongValue(name: string, value: unknown, expected: string): VarveError {
  return new VarveError('INVALID_OPTION', `option '${name}' is ${describe(value)}; expected ${expected}`)
}

function unknownOption(call: string, name: string, known: readonly string[]): VarveError {
  const near = suggest(name, known)
  const wayOut = near === undefined ? `it takes ${known.join(', ')}` : `did you mean '${near}'?`
  return new VarveError('INVALID_OPTION', `${call} has no option '${name}'; ${wayOut}`)
}

/** A value in a message: short, on one line. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return value.length > 60 ? `'${value.slice(0, 60)}...'` : `'${value}'`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

/**
 * The nearest of `known` to `given`, undefined if more than a third of the letters differ.
 * Upper and lower case count as the same.
 *
 * @example
 * suggest('readonly', ['readOnly', 'name']) // 'readOnly'
 */
export function suggest(given: string, known: readonly string[]): string | undefined {
  if (given.length > 64) return undefined
  let nearest: string | undefined
  let nearestDistance = Infinity
  for (const word of known) {
    const distance = editDistance(given.toLowerCase(), word.toLowerCase())
    if (distance <= Math.max(1, Math.floor(word.length / 3)) && distance < nearestDistance) {
      nearest = word
      nearestDistance = distance
    }
  }
  return nearest
}

/** Fewest single letters to insert, remove or replace to make `target` of `source` (Levenshtein), one row at a time. */
function editDistance(source: string, target: string): number {
  let previous = Array.from({ length: target.length + 1 }, (_, index) => index)
  for (let i = 0; i < source.length; i++) {
    const row = [i + 1]
    for (let j = 0; j < target.length; j++) {
      const replaced = (previous[j] ?? 0) + (source[i] === target[j] ? 0 : 1)
      row.push(Math.min(replaced, (previous[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1))
    }
    previous = row
  }
  return previous[target.length] ?? 0
}

const UNITS: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
}

/**
 * Bytes of a text such as `'500MB'`, `'1.5 GiB'` or `'4096'`, rounded down; undefined if the text is not a size. KB, MB, GB
 * and TB are powers of 1000, KiB, MiB, GiB and TiB of 1024, in any case of letters.
 */
export function byteSize(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,15}(?:\.\d{1,6})?) ?([a-z]{0,3})$/i.exec(text.trim()) ?? []
  if (amount === undefined || unit === undefined) return undefined
  const factor = unit === '' ? 1 : UNITS[unit.toLowerCase()]
  return factor === undefined ? undefined : Math.floor(Number(amount) * factor)
}
