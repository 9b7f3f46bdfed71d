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
