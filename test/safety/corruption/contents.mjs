// @ts-check
// The contents of the caches that are damaged: keys that are written again in each round. The bytes of an answer show
// whether it is correct, from an earlier round, or was never written.
import { randomOf } from '../random.mjs'

export const KEYS = 9
export const ROUNDS = 5

/**
 * `small` values, `large` ones (blocks of their own, files), outputs in `files`, results of `tasks`.
 * @typedef {'small' | 'large' | 'files' | 'tasks'} Kind
 */

/** Which keys a round writes: all at first, fewer each time. @param {number} round */
export const keysOf = (round) => Array.from({ length: KEYS - round }, (_, index) => index + round)

/** The round that wrote key `key` last, of the first `rounds` ones; -1: none did. @param {number} key @param {number} rounds */
export const lastRound = (key, rounds) => Math.min(key, rounds - 1)

/**
 * The value of a key in a round; `salt` is different for each cache.
 * @param {Kind} kind @param {string} salt @param {number} key @param {number} round @returns {Buffer}
 */
export function valueOf(kind, salt, key, round) {
  const name = `${kind} ${salt} ${key} ${round}`
  const known = values.get(name) ?? makeValue(kind, salt, key, round)
  values.set(name, known)
  return known
}

/** @type {Map<string, Buffer>} */
const values = new Map()

/**
 * @param {Kind} kind
 * @param {string} salt
 * @param {number} key
 * @param {number} round
 */
function makeValue(kind, salt, key, round) {
  const text = `${salt} ${key} of round ${round} `
  if (kind !== 'large') return Buffer.from(text.repeat(1 + key * 30))
  // A file, packed; then values in blocks of their own, which cannot be compressed.
  if (key === 0) return Buffer.from(text.repeat(Math.ceil((1.1 * 2 ** 20) / text.length)))
  const seed = [...text].reduce((sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) >>> 0, 7)
  return Buffer.concat([Buffer.from(text), noise(randomOf(seed), 500 + key * 2_000)])
}

/** Bytes that cannot be compressed. @param {import('../random.mjs').Random} random @param {number} length */
export function noise(random, length) {
  const words = new Uint32Array(Math.ceil(length / 4)).map(() => random(2 ** 32))
  return Buffer.from(words.buffer, 0, length)
}

/**
 * The round whose value these bytes are; undefined: they were never written.
 * @param {Kind} kind
 * @param {string} salt
 * @param {number} key
 * @param {Uint8Array} found
 */
export function roundOf(kind, salt, key, found) {
  return keysOf(0).find((round) => round <= lastRound(key, ROUNDS) && valueOf(kind, salt, key, round).equals(found))
}

/**
 * Classifies answers. `rounds` has the round of each value found.
 * `right`: newest values only. `earlier`: the whole cache as after an earlier round. `stale`: anything else.
 * @param {ReadonlyMap<number, number>} rounds @returns {'right' | 'earlier' | 'stale'}
 */
export function judge(rounds) {
  const isStateAfter = (/** @type {number} */ count) =>
    [...rounds].every(([key, round]) => round === lastRound(key, count))
  if (isStateAfter(ROUNDS)) return 'right'
  return Array.from({ length: ROUNDS }, (_, count) => count).some(isStateAfter) ? 'earlier' : 'stale'
}
