/** Lists of named digests: names and digests in turn, sorted by name, which compare fast and are short as JSON. */
import { digestOf } from '../inputs/digest.ts'

/** Names and digests in turn, sorted by name. */
export type Digests = readonly string[]

/** The digests of named inputs. Throws INVALID_ARGUMENT for one that cannot be hashed. */
export function digestsOf(inputs: Readonly<Record<string, unknown>>): Digests {
  const digests: string[] = []
  for (const name of Object.keys(inputs).sort()) digests.push(name, digestOf(inputs[name], name))
  return digests
}

/** A map of names to digests as a list. */
export function sorted(digests: ReadonlyMap<string, string>): Digests {
  return [...digests].sort(([a], [b]) => (a < b ? -1 : 1)).flat()
}

/** The digest of that name, undefined if there is none. */
export function digestIn(digests: Digests, name: string): string | undefined {
  for (let i = 0; i < digests.length; i += 2) if (digests[i] === name) return digests[i + 1]
  return undefined
}

/** The names of a list. */
export function namesIn(digests: Digests): string[] {
  return digests.filter((_, index) => index % 2 === 0)
}

/** Whether two lists are the same. */
export function sameDigests(one: Digests, other: Digests): boolean {
  if (one.length !== other.length) return false
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false
  return true
}

/** Whether a value read from a cache is such a list. */
export function isDigests(value: unknown): value is Digests {
  return Array.isArray(value) && value.length % 2 === 0 && value.every((part) => typeof part === 'string')
}
