// @ts-check
// Crash states of the built package: strace records programs that use it, with both engines. The simulated file system then
// crashes after each recorded operation, and the engine must read a committed state from what is left.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { inLanes } from '../lanes.mjs'
import { quickFolder } from '../quick-folder.mjs'
import { missingStrace } from '../strace.mjs'
import { rustPart } from '../suite.mjs'
import { record } from './record.mjs'
import { WORKLOADS } from './workloads.mjs'

/** @import { Violation } from '../suite.mjs' */

/** @type {import('../suite.mjs').Part} */
export const outside = {
  name: 'outside',
  async run(order) {
    const skipped = missingStrace(order.say)
    if (skipped !== undefined) return { figures: {}, violations: [], skipped }
    const folder = quickFolder('outside')
    try {
      const violations = await recordAll(folder, order.replay?.split(':')[0])
      const outcome = await rustPart('recordings', undefined, ['--recordings', folder]).run(order)
      return { ...outcome, violations: [...violations, ...outcome.violations] }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/**
 * Records every workload with both engines, each in a directory of its own.
 * @param {string} folder
 * @param {string | undefined} only the name of the one recording to make
 * @returns {Promise<Violation[]>}
 */
async function recordAll(folder, only) {
  const engines = /** @type {const} */ (['native', 'wasm'])
  const all = WORKLOADS.flatMap((workload) =>
    engines.map((engine) => ({ workload, engine, name: `${workload.name}-${engine}` })),
  )
  const results = await inLanes(
    all.filter(({ name }) => only === undefined || name === only),
    async ({ workload, engine, name }) => {
      const unsynced = await record(workload, engine, join(folder, name))
      return [...unsynced].map((path) => ({
        what: `${name}: a durable commit does not make the directory ${path} durable`,
        replay: name,
      }))
    },
  )
  return results.flat()
}
