/** Checks options before they are used. Each message names the field, the value and the fix. */
import { VarveError } from '../errors.ts'
import { suggest } from './suggest.ts'

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
