// @ts-check
// The same data for every subject and run, from a fixed seed: keys of 50 characters as bundlers use them, and values of random
// bytes that do not compress.

import { randomOf } from '../../test/safety/random.mjs'

export const SEED = 42
const KEY_LENGTH = 50

/** A key of the store. @param {number} index @param {string} [kind] */
export const keyOf = (index, kind = 'module') =>
  flat(`/project/src/components/${kind}-${index}.tsx`.padEnd(KEY_LENGTH, '|'))

/** A key like `keyOf(index)` that no store has. @param {number} index */
export const missingKeyOf = (index) => flat(`${keyOf(index).slice(0, -1)}!`)

/** Flattens a string: V8 stores a concatenation as its parts until it is read. @param {string} text */
const flat = (text) => Buffer.from(text).toString('latin1')

/**
 * Values of one size, as slices of one array. From 64 MiB on they overlap, so that large values need no more memory.
 * @param {number} count
 * @param {number} bytes of each value
 * @returns {Uint8Array[]}
 */
export function valuesOf(count, bytes) {
  const room = Math.max(bytes, Math.min(count * bytes, 64 << 20))
  const random = randomOf(SEED)
  const words = Uint32Array.from({ length: Math.ceil(room / 4) }, () => random(2 ** 32))
  const source = Buffer.from(words.buffer, 0, room)
  const places = Math.max(1, Math.floor((room - bytes) / 64) + 1)
  return Array.from({ length: count }, (_, index) => {
    const start = count * bytes <= room ? index * bytes : ((index * 521) % places) * 64
    return source.subarray(start, start + bytes)
  })
}

/**
 * The same elements in an order that no file cache can predict.
 * @template T
 * @param {readonly T[]} elements
 * @param {number} [seed]
 * @returns {T[]}
 */
export function shuffled(elements, seed = SEED) {
  const result = [...elements]
  const random = randomOf(seed)
  for (let index = result.length - 1; index > 0; index--) {
    const other = random(index + 1)
    const kept = /** @type {T} */ (result[index])
    result[index] = /** @type {T} */ (result[other])
    result[other] = kept
  }
  return result
}
