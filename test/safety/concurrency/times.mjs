// @ts-check

/**
 * Figures of a measured time: what half and what 99 of 100 stayed within, to a tenth of a millisecond.
 * @param {string} name @param {readonly number[]} ms
 */
export function timesOf(name, ms) {
  const sorted = ms.toSorted((left, right) => left - right)
  const within = (/** @type {number} */ share) => Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10
  return { [`${name}P50Ms`]: within(0.5), [`${name}P99Ms`]: within(0.99) }
}
