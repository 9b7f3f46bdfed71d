// @ts-check
// Cases in lanes: several at a time, each lane taking the next one as soon as it is free.
import { availableParallelism } from 'node:os'

/** As many as there are processors, at most four. */
const LANES = Math.min(4, availableParallelism())

/**
 * Does `work` for every item; returns what came of each, in the order of the items.
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
