// @ts-check
// All rows with each of their tools and all scenarios, or those whose name matches, two at a time. Each row and each step of a
// scenario is one line; the last lines count.
import { availableParallelism } from 'node:os'
import { Lane } from '../generator/run.mjs'
import { installPlugins } from './install.mjs'
import { ROWS } from './rows.mjs'
import { runScenario } from './run.mjs'
import { SCENARIOS } from './scenarios.mjs'
import { differenceIn, toolsOf } from './table.mjs'

/** @typedef {import('./run.mjs').StepResult} StepResult */

/** @typedef {object} Counts
 * @property {number} right steps after which Varve builds what a build without a cache does
 * @property {number} wrong
 * @property {number} limits wrong steps whose reason is documented
 * @property {number} ownWrong steps of webpack after which webpack's own cache is wrong
 */

/**
 * @param {string} filter
 * @param {(line: string) => void} report
 * @returns {Promise<Counts>}
 */
export async function runStaleness(filter, report) {
  await installPlugins()
  const counts = { right: 0, wrong: 0, limits: 0, ownWrong: 0 }
  const isChosen = (/** @type {string} */ name) => new RegExp(filter, 'i').test(name)
  const rows = ROWS.flatMap((row) => toolsOf(row).map((tool) => ({ row, tool, name: `${tool}: ${row.name}` }))).filter(
    ({ name }) => isChosen(name),
  )
  const rest = SCENARIOS.filter(({ name }) => isChosen(name))
  const work = async (/** @type {number} */ index) => {
    const lane = new Lane(`row-${process.pid}-${index}`)
    for (let next = rows.shift(); next !== undefined; next = rows.shift()) {
      const difference = await differenceIn(next.row, next.tool, lane)
      const result = { step: 'all steps', difference, ownDifference: undefined, limit: undefined }
      report(`${verdictOf(result, counts)} ${next.name}${notesOf(result)}`)
    }
    lane.close()
    for (let scenario = rest.shift(); scenario !== undefined; scenario = rest.shift()) {
      const { name } = scenario
      const results = await runScenario(scenario, { isOwnIncluded: true }).catch((/** @type {Error} */ error) => [
        broken(error),
      ])
      for (const result of results) report(`${verdictOf(result, counts)} ${name} / ${result.step}${notesOf(result)}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, (_, index) => work(index)))
  return counts
}

/** A scenario that could not be built is wrong, and the others go on. @param {Error} error @returns {StepResult} */
const broken = ({ message }) => ({ step: 'not run', difference: message, ownDifference: undefined, limit: undefined })

/** @param {StepResult} result @param {Counts} counts */
function verdictOf({ difference, ownDifference, limit }, counts) {
  if (ownDifference !== undefined) counts.ownWrong += 1
  if (difference !== undefined && limit !== undefined) {
    counts.limits += 1
    return 'limit'
  }
  const isRight = difference === undefined && limit === undefined
  counts[isRight ? 'right' : 'wrong'] += 1
  return isRight ? 'right' : 'WRONG'
}

/** @param {StepResult} result */
function notesOf({ difference, ownDifference, limit }) {
  const unneeded = limit !== undefined && difference === undefined ? 'is right, although listed as a limit' : undefined
  const own = ownDifference === undefined ? undefined : `webpack's own cache: ${ownDifference}`
  const notes = [difference, unneeded, limit, own].filter((note) => note !== undefined)
  return notes.length === 0 ? '' : `: ${notes.join('; ')}`
}
