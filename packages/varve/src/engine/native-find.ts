/**
 * Lookups of strings in the addon. What else a lookup needs is in memory that both share: an argument of Node-API takes 50
 * instructions, an answer 85.
 */
import type { EngineStore } from './engine.ts'
import { UNFIT } from '../values/key.ts'
import type { NodeStore } from './native-calls.ts'

/** In the scratch memory, and beyond any target. */
const IN_SCRATCH = -1
const OUTSIDE = 0x7fffffff

/**
 * `find` of a store.
 * @param cells the namespace, where the value begins in the target (below zero: in the scratch memory instead), and the answer
 */
export function finderOf(store: NodeStore, cells: Int32Array): NonNullable<EngineStore['find']> {
  const { find } = store
  let target: Uint8Array | undefined

  function placeIn(pool: Uint8Array, start: number): number {
    // The caller of an earlier lookup may have transferred the pool's memory, which the addon must not touch any more.
    if (pool.length === 0) return OUTSIDE
    if (pool !== target) {
      store.setTarget(pool)
      target = pool
    }
    return start
  }

  return (namespace, key, pool, start) => {
    cells[0] = namespace
    cells[1] = pool === undefined ? IN_SCRATCH : placeIn(pool, start)
    find(key)
    return cells[2] ?? UNFIT
  }
}
