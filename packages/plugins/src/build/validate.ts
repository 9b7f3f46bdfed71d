/** Checks options. The error for an unknown option has a suggestion, the error for a wrong value names what is expected. */
import { VarveError } from 'varve'

/** The values that an option accepts, in words and as a check; undefined always means the default. */
export type Field = readonly [expected: string, accepts: (value: unknown) => boolean]

/** A field for each option; the compiler reports a missing one. */
export type Fields<Options> = { readonly [Name in keyof Required<Options>]: Field }

export const STRING: Field = ['a string', (value) => typeof value === 'string']
export const TEXT: Field = ['a string that is not empty', (value) => typeof value === 'string' && value !== '']
export const TEXTS: Field = [
  'an array of strings',
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
]
export const BOOLEAN: Field = ['true or false', (value) => typeof value === 'boolean']
export const FUNCTION: Field = ['a function', (value) => typeof value === 'function']
export const ANYTHING: Field = ['anything', () => true]
export const SIZE: Field = [
  "bytes or a text such as '500MB'",
  (value) => typeof value === 'string' || (typeof value === 'number' && value > 0),
]

/** A field that accepts one of a few words. */
export function oneOf(...words: readonly string[]): Field {
  return [words.map((word) => `'${word}'`).join(' or '), (value) => typeof value === 'string' && words.includes(value)]
}

/**
 * Throws INVALID_OPTION for the first option that is unknown or wrong.
 *
 * @param call begins the message
 * @param advise the end of the message for an unknown option; undefined for the usual suggestion
 */
export function checkOptions<Options extends object>(
  call: string,
  options: Options,
  fields: Fields<Options>,
  advise: (name: string) => string | undefined = () => undefined,
): void {
  const given: unknown = options
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new VarveError('INVALID_OPTION', `${call} takes an object with options, not ${describe(given)}`)
  }
  const known: ReadonlyMap<string, Field> = new Map(Object.entries(fields))
  for (const [name, value] of Object.entries(given)) {
    const field = known.get(name)
    if (field === undefined) {
      const advice = advise(name) ?? secretAdvice(name, known)
      throw unknownName(`${call} has no option '${name}'`, name, [...known.keys()], advice)
    }
    const [expected, accepts] = field
    if (value !== undefined && !accepts(value)) {
      throw new VarveError('INVALID_OPTION', `${call}: option '${name}' is ${describe(value)}; expected ${expected}`)
    }
  }
}

/** What to do instead of an option `key` or `secret`, which are easily confused: a secret must not become a cache key. */
function secretAdvice(name: string, known: ReadonlyMap<string, Field>): string | undefined {
  if (name !== 'key' && name !== 'secret') return undefined
  if (known.has('secret')) return "did you mean 'secret'?"
  const secret = 'set a secret as VARVE_SECRET in the environment'
  return name === 'key' && known.has('cacheKey') ? `did you mean 'cacheKey'? If it is a secret, ${secret}` : secret
}

/** An INVALID_OPTION for a name that is not in `known`, with `advice`, the nearest known name or all of them. */
export function unknownName(problem: string, name: string, known: readonly string[], advice?: string): VarveError {
  const word = name.toLowerCase()
  const near = known.find((option) => differsLittle(word, option.toLowerCase()))
  const suggestion = near === undefined ? `expected one of ${known.join(', ')}` : `did you mean '${near}'?`
  return new VarveError('INVALID_OPTION', `${problem}; ${advice ?? suggestion}`)
}

/** A short description of a value, for messages. */
export function describe(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'string' ? `'${value.slice(0, 60)}'` : String(value)
}

/** Whether two words differ in one or two adjacent letters only. */
function differsLittle(given: string, option: string): boolean {
  const shortest = Math.min(given.length, option.length)
  let start = 0
  while (start < shortest && given[start] === option[start]) start++
  let end = 0
  while (end < shortest - start && given.at(-1 - end) === option.at(-1 - end)) end++
  return Math.max(given.length, option.length) - start - end <= Math.min(2, shortest - 1)
}

/** Throws INVALID_ARGUMENT unless this is one plugin. Many packages make several plugins, or a promise of one. */
export function checkPlugin(plugin: unknown): void {
  if (Array.isArray(plugin)) {
    throw new VarveError(
      'INVALID_ARGUMENT',
      'cached() takes one plugin, not an array of plugins; wrap those that are slow',
    )
  }
  const isObject = typeof plugin === 'object' && plugin !== null
  if (isObject && typeof Reflect.get(plugin, 'name') === 'string') return
  const advice =
    isObject && 'then' in plugin
      ? 'a promise; await it first'
      : isObject
        ? 'an object without a name'
        : describe(plugin)
  throw new VarveError('INVALID_ARGUMENT', `cached() takes a plugin, not ${advice}`)
}
