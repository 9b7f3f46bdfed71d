/** Checks what users give to plugins and adapters. `varve` checks each option, this adds what to do instead of a secret. */
import { VarveError } from 'varve'
import { checkOptions as check, describe, type Field, type Fields } from 'varve/internal'

/** Names, of which an empty one is accepted. */
export const NAMES: Field = [
  'an array of strings',
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
]
export const SIZE: Field = [
  "bytes or a text such as '500MB'",
  (value) => typeof value === 'string' || (typeof value === 'number' && value > 0),
]

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
  check(call, options, fields, (name) => advise(name) ?? secretAdvice(name, fields))
}

/** What to do instead of an option `key` or `secret`, which are easily confused: a secret must not become a cache key. */
function secretAdvice(name: string, known: object): string | undefined {
  if (name !== 'key' && name !== 'secret') return undefined
  if ('secret' in known) return "did you mean 'secret'?"
  const secret = 'set a secret as VARVE_SECRET in the environment'
  return name === 'key' && 'cacheKey' in known ? `did you mean 'cacheKey'? If it is a secret, ${secret}` : secret
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
