// @ts-check
// Builds generated programs. `build.mjs <settings as JSON>` builds the one in the current folder once and prints the outcome.
// Without settings it builds without Varve what its parent asks for, again and again: what a build has loaded of the project is
// not loaded for the next one.
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { messageOf, print, textsOf } from '../staleness/build/outcome.mjs'
import { BUILDS } from './tools.mjs'

/** @typedef {import('./tools.mjs').Settings} Settings */
/** @typedef {import('../staleness/build/outcome.mjs').Outcome} Outcome */
/** @typedef {{ settings: Settings, env: Readonly<Record<string, string>> }} Order */

/** Directories that a build writes. */
const OUTPUTS = ['dist', 'gen']

/** @param {Settings} settings @returns {Promise<Outcome>} */
async function build(settings) {
  const outcome = await BUILDS[settings.tool](process.cwd(), settings).catch((/** @type {unknown} */ error) => ({
    errors: [messageOf(error)],
    warnings: [],
    hits: 0,
  }))
  return { ...outcome, files: textsOf(OUTPUTS) }
}

/** @param {Order} order @param {string} folder */
async function buildAgain({ settings, env }, folder) {
  process.chdir(folder)
  const before = { ...process.env }
  Object.assign(process.env, env)
  const { createRequire } = await import('node:module')
  const { cache } = createRequire(pathToFileURL(join(folder, 'package.json')))
  for (const path of Object.keys(cache)) if (path.startsWith(folder)) delete cache[path]
  const outcome = await build(settings)
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
  Object.assign(process.env, before)
  return outcome
}

const [, , given] = process.argv
if (given === undefined)
  process.on('message', (/** @type {Order & { folder: string }} */ order) => {
    buildAgain(order, order.folder).then((outcome) => process.send?.(outcome))
  })
else print(await build(JSON.parse(given)))
