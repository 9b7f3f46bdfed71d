/** Checks options, those of the packages for plugins and remotes as well. Each message names the field, the value and the fix. */
import { VarveError } from '../errors.ts'

/** What an option accepts, in words that complete 'expected ...', and as a check. Undefined is always accepted and means the default. */
export type Field = readonly [expected: string, accepts: (value: unknown) => boolean]

/** A field for each option, so that a new option cannot be forgotten. */
export type Fields<Options> = { readonly [Name in keyof Required<Options>]: Field }

const isFilled = (value: unknown): boolean => typeof value === 'string' && value !== ''

export const BOOLEAN: Field = ['true or false', (value) => typeof value === 'boolean']
export const STRING: Field = ['a string', (value) => typeof value === 'string']
export const TEXT: Field = ['a string that is not empty', isFilled]
export const TEXTS: Field = [
  'an array of strings that are not empty',
  (value) => Array.isArray(value) && value.every(isFilled),
]
export const FUNCTION: Field = ['a function', (value) => typeof value === 'function']
export const SIGNAL: Field = [
  'an AbortSignal',
  (value) => typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
]
/** For options that are checked elsewhere, such as secrets, whose values are in no message. */
export const ANYTHING: Field = ['anything', () => true]

/** A field that takes one of a few words. */
export function oneOf(...words: readonly string[]): Field {
  return [words.map((word) => `'${word}'`).join(' or '), (value) => typeof value === 'string' && words.includes(value)]
}

/**
 * Throws INVALID_OPTION if `given` is not an object, has an unknown field, or a value of the wrong type.
 *
 * @param call begins the message
 * @param advise the end of the message for an unknown option; undefined for the usual suggestion
 */
export function checkOptions<Options extends object>(
  call: string,
  given: Options,
  fields: Fields<Options>,
  advise?: (name: string) => string | undefined,
): void {
  const value: unknown = given
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new VarveError('INVALID_OPTION', `${call} takes an object with options, not ${describe(value)}`)
  }
  const known: Readonly<Record<string, Field>> = fields
  for (const [name, fieldValue] of Object.entries(value)) {
    const field = Object.hasOwn(known, name) ? known[name] : undefined
    if (field === undefined)
      throw unknownName(`${call} has no option '${name}'`, name, Object.keys(known), advise?.(name))
    const [expected, accepts] = field
    if (fieldValue !== undefined && !accepts(fieldValue))
      throw wrongValue(`${call}: option '${name}'`, fieldValue, expected)
  }
}

/** An INVALID_OPTION that names the option and its value; `expected` completes the sentence. */
export function wrongValue(option: string, value: unknown, expected: string): VarveError {
  return new VarveError('INVALID_OPTION', `${option} is ${describe(value)}; expected ${expected}`)
}

/** An INVALID_OPTION for a name that is not in `known`, with `advice`, the nearest known name or all of them. */
export function unknownName(problem: string, name: string, known: readonly string[], advice?: string): VarveError {
  const near = suggest(name, known)
  const suggestion = near === undefined ? `expected one of ${known.join(', ')}` : `did you mean '${near}'?`
  return new VarveError('INVALID_OPTION', `${problem}; ${advice ?? suggestion}`)
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

/** Fewest single letters to insert, remove, replace or swap with the next one to make `target` of `source`, one row at a time. */
function editDistance(source: string, target: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: target.length + 1 }, (_, index) => index)
  for (let i = 0; i < source.length; i++) {
    const row = [i + 1]
    for (let j = 0; j < target.length; j++) {
      const replaced = (previous[j] ?? 0) + (source[i] === target[j] ? 0 : 1)
      const isSwap = i > 0 && j > 0 && source[i] === target[j - 1] && source[i - 1] === target[j]
      const swapped = isSwap ? (beforePrevious[j - 1] ?? 0) + 1 : Infinity
      row.push(Math.min(replaced, swapped, (previous[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1))
    }
    beforePrevious = previous
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
