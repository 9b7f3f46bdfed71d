// @ts-check
// Runs rows: each step, then one in another folder, is built with Varve and without.
import { TOOLS } from '../generator/program.mjs'
import { AGAIN, FIRST } from './scenario.mjs'

/** @typedef {import('./rows.mjs').Row} Row */
/** @typedef {import('../generator/program.mjs').Program} Program */
/** @typedef {import('../generator/program.mjs').Tool} Tool */

/** The last step of every row. */
const MOVED = 'another checkout'

/** @param {Row} row @returns {readonly Tool[]} */
export const toolsOf = ({ tools = TOOLS }) => tools

/** @param {string | undefined} text @returns {import('../generator/program.mjs').Operation[]} */
function operationsIn(text = '') {
  const parts = text === '' ? [] : text.split(';')
  return parts.map((part) => {
    const [kind = '', subject = '', kept] = part.trim().split(' ')
    return { kind, subject, isKept: kept === 'kept' }
  })
}

/** @param {Row} row @param {Tool} tool @returns {Program} */
export function programOf({ m0, m1, e0, start, load, config, more, steps }, tool) {
  return {
    seed: 0,
    tool,
    format: 'cjs',
    hook: 'transform',
    isParallel: false,
    collects: 'none',
    virtual: 'none',
    modules: ['m0', 'm1'],
    config: operationsIn(config),
    load: operationsIn(load),
    start: operationsIn(start),
    calls: { m0: operationsIn(m0), m1: operationsIn(m1), e0: operationsIn(e0) },
    declared: {},
    ...more,
    edits: [...Object.values(steps), [['move']]],
  }
}

/**
 * @param {Row} row
 * @param {Tool} tool
 * @param {import('../generator/run.mjs').Lane} lane
 * @returns {Promise<string | undefined>} how a build with Varve differs, if one does
 */
export async function differenceIn(row, tool, lane) {
  const names = [FIRST, AGAIN, ...Object.keys(row.steps), MOVED]
  const { fault, steps } = await lane.run(programOf(row, tool))
  if (fault !== undefined) return `${names[fault.step]}: ${fault.difference}`
  // webpack's root is the repository, in which the project was moved; a checkout of its own would need packages of its own.
  const answering = tool === 'webpack' ? [1] : [1, names.length - 1]
  const silent = answering.find((step) => (steps[step]?.hits ?? 0) === 0)
  return row.isRefused === true || silent === undefined ? undefined : `${names[silent]}: the cache answered nothing`
}
