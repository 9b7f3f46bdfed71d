// @ts-check
// Builds generated programs, one after the other in one process: `build.mjs <orders as JSON>` prints the outcome of each. What a program
// read is forgotten before the next one is built, as if that had a process for itself.
import { sep } from 'node:path'
import { messageOf, print, textsOf } from '../staleness/build/outcome.mjs'
import { BUILDS, forgetStats } from './tools.mjs'

/** @typedef {import('./tools.mjs').Settings} Settings */
/** @typedef {import('../staleness/build/outcome.mjs').Outcome} Outcome */
/** @typedef {{ folder: string, settings: Settings }} Order */

/** Directories that a build writes. */
const OUTPUTS = ['dist', 'gen']

/** @param {Order} order @returns {Promise<Outcome>} */
async function build({ folder, settings }) {
  process.chdir(folder)
  forgetStats()
  const outcome = await BUILDS[settings.tool](folder, settings).catch((/** @type {unknown} */ error) => ({
    errors: [messageOf(error)],
    warnings: [],
    hits: 0,
  }))
  return { ...outcome, files: textsOf(OUTPUTS) }
}

/** What the config of a program read is an input of what is built later in the process. @param {string} folder */
async function forgetStartUp(folder) {
  const { installReads } = await import('varve/reads')
  const reads = /** @type {Map<string, { path: string }> | undefined} */ (installReads()?.ambient?.reads)
  for (const [key, { path }] of reads ?? []) if (path === folder || path.startsWith(folder + sep)) reads?.delete(key)
}

/** @type {Order[]} */
const orders = JSON.parse(process.argv[2] ?? '[]')
for (const order of orders) {
  print(await build(order))
  if (order.settings.isCached) await forgetStartUp(order.folder)
}
