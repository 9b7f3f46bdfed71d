// @ts-check
// Runs cases in lanes: several at a time; each lane takes the next case when it is free.
import { availableParallelism } from 'node:os'

/** One lane per processor, at most four. */
const LANES = Math.min(4, availableParallelism())

/**
 * Runs `work` for every item; returns the results in the order of the items.
 * @template T, R
 * @param {readonly T[]} items
 * @param {(item: T, lane: number) => Promise<R>} work
 * @param {number} [lanes]
 */
export async function inLanes(items, work, lanes = LANES) {
  /** @type {R[]} */
  const results = []
  const queue = items.entries()
  const lane = async (/** @type {unknown} */ _, /** @type {number} */ number) => {
    for (const [index, item] of queue) results[index] = await work(item, number)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return results
}
