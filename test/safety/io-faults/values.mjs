// @ts-check
// What the disturbed program commits, and how to find out which of its commits a cache holds.
import { openCache } from 'varve'
import { noise, seedOf } from '../random.mjs'

/** The commit that is large enough for a table, the one with a value that is a file, and the one that names a stored folder. */
const LARGE = 4
export const HUGE = 6
export const STORED = 5

/** The number of the last commit. */
const COMMITS = 10

/** Keys that every commit puts, all with its number. @param {number} number */
const sharedOf = (number) => Array.from({ length: number === LARGE ? 36 : 4 }, (_, i) => `k${i}`)

/** The key that only this commit puts: a lost one is not covered by those that follow. @param {number} number */
const ownOf = (number) => `only ${number}`

/** What a commit puts. @param {number} number */
export const keysOf = (number) => [...sharedOf(number), ownOf(number)]

/** @param {string} key @param {number} number */
export function valueOf(key, number) {
  const value = noise(seedOf(key, number), key === 'huge' ? 1_100_000 : number === LARGE ? 30_000 : 300 + number)
  value.writeUInt32LE(number, 0)
  return value
}

/**
 * The number of the newest commit in a cache. Throws where the cache holds no state that was committed.
 * @param {string} dir
 * @param {'native' | 'wasm'} engine
 * @param {boolean} [mayMiss] whether keys may be missing
 */
export async function newestCommit(dir, engine, mayMiss = false) {
  const cache = await openCache({ name: 'disturbed', dir, engine, onWarning: () => {} })
  try {
    const values = cache.namespace('n')
    const number = Math.max(...sharedOf(0).map((key) => numberOf(values.get(key))))
    if (number === -1 && [...values.keys()].length > 0) throw new Error('k0 to k3 are missing, other keys are there')
    for (const [i, key] of number === -1 ? [] : sharedOf(LARGE).entries()) {
      const expected = i < 4 ? number : number >= LARGE ? LARGE : -1
      const value = values.get(key)
      if (mayMiss && value === undefined) continue
      if (numberOf(value) !== expected)
        throw new Error(`${key} is of commit ${numberOf(value)}, the newest of ${number}`)
      if (value !== undefined && !valueOf(key, expected).equals(value)) throw new Error(`${key} has wrong bytes`)
    }
    for (let i = 0; i <= COMMITS; i++) {
      const value = values.get(ownOf(i))
      if (value === undefined ? i <= number && !mayMiss : i > number)
        throw new Error(`'${ownOf(i)}' is ${numberOf(value)}, the newest of ${number}`)
      if (value !== undefined && !valueOf(ownOf(i), i).equals(value)) throw new Error(`'${ownOf(i)}' has wrong bytes`)
    }
    const huge = values.get('huge')
    const isThere = huge !== undefined
    if (isThere !== number >= HUGE && (isThere || !mayMiss))
      throw new Error(`commit ${number}, and the huge value is ${isThere ? '' : 'not '}there`)
    if (huge !== undefined && !valueOf('huge', HUGE).equals(huge)) throw new Error('the huge value has wrong bytes')
    return number
  } finally {
    await cache.close()
  }
}

/** @param {Uint8Array | undefined} value */
const numberOf = (value) => (value === undefined ? -1 : Buffer.from(value.buffer, value.byteOffset, 4).readUInt32LE(0))
