// @ts-check
// Random numbers from a seed: the same seed, the same test or attack (splitmix32).

/** A whole number from 0 up to `below`. @typedef {(below: number) => number} Random */

/** @param {number} seed @returns {Random} */
export function randomOf(seed) {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x9e3779b9) >>> 0
    let value = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    value = Math.imul(value ^ (value >>> 15), 0x735a2d97)
    return ((value ^ (value >>> 15)) >>> 0) % below
  }
}

/** One of a list. @template T @param {Random} random @param {readonly T[]} list @returns {T} */
export function pick(random, list) {
  const found = list[random(list.length)]
  if (found === undefined) throw new Error('the list is empty')
  return found
}

/** A seed from numbers and texts. @param {...(number | string)} parts */
export function seedOf(...parts) {
  const numbers = parts.flatMap((part) => (typeof part === 'number' ? [part] : [...Buffer.from(part), -1]))
  return numbers.reduce((seed, number) => randomOf(seed ^ number)(2 ** 32), 0)
}

/** Bytes that no compressor makes shorter. @param {number} seed @param {number} count */
export function noise(seed, count) {
  const random = randomOf(seed)
  return Buffer.from(Uint32Array.from({ length: Math.ceil(count / 4) }, () => random(2 ** 32)).buffer, 0, count)
}
