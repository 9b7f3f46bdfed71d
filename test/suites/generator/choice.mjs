// @ts-check
// Choices of a generator.

/** @typedef {import('../../safety/random.mjs').Random} Random */

/** Whether something that happens so often in a hundred times happens now. @param {Random} random @param {number} percent */
export const chance = (random, percent) => random(100) < percent

/** Words of four digits each, so that two differ and have one size. @param {Random} random */
export function wordsOf(random) {
  const word = `w${1000 + random(9000)}`
  if (chance(random, 8)) return `warn ${word}`
  if (chance(random, 3)) return `bad ${word}`
  return chance(random, 20) ? `${word} and ${word}` : word
}
