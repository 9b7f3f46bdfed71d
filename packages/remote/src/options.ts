/** Checks of options that all functions share. */
import { VarveError } from 'varve'

/** The error for an option with an invalid value: which one, and what is expected. */
export function invalidOption(name: string, expected: string): VarveError {
  return new VarveError('INVALID_OPTION', `invalid ${name}: expected ${expected}`)
}

/** Throws INVALID_OPTION for a field that is not known, so that a misspelled option is never ignored. */
export function checkOptions(call: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) throw new VarveError('INVALID_OPTION', `${call} takes an object with options`)
  const unknown = Object.keys(options).find((field) => !known.includes(field))
  if (unknown === undefined) return
  throw new VarveError('INVALID_OPTION', `${call} has no option '${unknown}'; its options are ${known.map((field) => `'${field}'`).join(', ')}`)
}
