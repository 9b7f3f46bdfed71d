/** Checks options: unknown ones are refused with a suggestion, wrong ones with what was expected. */
import { VarveError } from 'varve'

/** What an option may hold, in words and as a check; undefined always means the default. */
export type Field = readonly [expected: string, accepts: (value: unknown) => boolean]

/** A field for each option, so that a new option cannot be forgotten. */
export type Fields<Options> = { readonly [Name in keyof Required<Options>]: Field }

export const TEXT: Field = ['a string that is not empty', (value) => typeof value === 'string' && value !== '']
export const TEXTS: Field = ['an array of strings', (value) => Array.isArray(value) && value.every((item) => typeof item === 'string')]
export const BOOLEAN: Field = ['true or false', (value) => typeof value === 'boolean']
export const FUNCTION: Field = ['a function', (value) => typeof value === 'function']
export const ANYTHING: Field = ['anything', () => true]

/** A field that takes one of a few words. */
export function oneOf(...words: readonly string[]): Field {
  return [words.map((word) => `'${word}'`).join(' or '), (value) => typeof value === 'string' && words.includes(value)]
}

const NO_WAYS_OUT: ReadonlyMap<string, string> = new Map()

/**
 * Throws INVALID_OPTION that names the option, what is wrong with it and the way out. `call` begins the message. `waysOut`
 * has the advice for names, in lower case, that users know from other tools.
 */
export function checkOptions<Options extends object>(
  call: string,
  options: Options,
  fields: Fields<Options>,
  waysOut: ReadonlyMap<string, string> = NO_WAYS_OUT,
): void {
  const given: unknown = options
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new VarveError('INVALID_OPTION', `${call} takes an object with options, not ${describe(given)}`)
  }
  const known: ReadonlyMap<string, Field> = new Map(Object.entries(fields))
  for (const [name, value] of Object.entries(given)) {
    const field = known.get(name)
    if (field === undefined) {
      const wayOut = waysOut.get(name.toLowerCase()) ?? secretAdvice(name, known)
      throw unknownName(`${call} has no option '${name}'`, name, [...known.keys()], wayOut)
    }
    const [expected, accepts] = field
    if (value !== undefined && !accepts(value)) {
      throw new VarveError('INVALID_OPTION', `${call}: option '${name}' is ${describe(value)}; expected ${expected}`)
    }
  }
}

/** An INVALID_OPTION for a name that is not one of `known`, with the nearest of them unless there is better advice. */
export function unknownName(problem: string, name: string, known: readonly string[], advice?: string): VarveError {
  const near = nearestName(name, known)
  const wayOut = near === undefined ? `the options are ${known.join(', ')}` : `did you mean '${near}'?`
  return new VarveError('INVALID_OPTION', `${problem}; ${advice ?? wayOut}`)
}

/** What to do instead of an option `key` or `secret`, names that are easily confused: a secret must not become a cache key. */
function secretAdvice(name: string, known: ReadonlyMap<string, Field>): string | undefined {
  if (name !== 'key' && name !== 'secret') return undefined
  if (known.has('secret')) return "did you mean 'secret'?"
  const secret = 'set a secret as VARVE_SECRET in the environment'
  return name === 'key' && known.has('cacheKey') ? `did you mean 'cacheKey'? If it is a secret, ${secret}` : secret
}

/** The first name that is meant, most likely. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const word = name.toLowerCase()
  return known.find((option) => differsLittle(word, option.toLowerCase()))
}

/** A value in a message: short, on one line. */
export function describe(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'string' ? `'${value.slice(0, 60)}'` : String(value)
}

/** Whether two words are equal but for one or two letters: the same beginning and the same end around them. */
function differsLittle(given: string, option: string): boolean {
  const shortest = Math.min(given.length, option.length)
  let start = 0
  while (start < shortest && given[start] === option[start]) start++
  let end = 0
  while (end < shortest - start && given.at(-1 - end) === option.at(-1 - end)) end++
  return Math.max(given.length, option.length) - start - end <= Math.min(2, shortest - 1)
}
