// @ts-check
// The code that `npm run bench` and `npm run bench -- --rivals` share: options, the selection of ids, and the format of numbers.
import { parseArgs } from 'node:util'
import { StepFailed } from '../scripts/common/steps.mjs'
import { measure } from './programs.mjs'
import { programPrefix } from './results.mjs'

/** @typedef {import('./programs.mjs').Figure} Figure */
/** @typedef {import('./programs.mjs').Program} Program */
/** @typedef {{ isQuick: boolean, isFull: boolean, isJson: boolean, only: readonly string[], runs: number }} Options */

/** How often the full form of `npm run bench -- --rivals` measures everything. */
const RUNS = 3

/** @returns {Options} */
export function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      runs: { type: 'string' },
    },
  })
  const { quick: isQuick, full: isFull, json: isJson, only } = values
  if (isQuick && isFull) throw new Error('--quick and --full exclude each other')
  const runs = Number(values.runs ?? (isQuick ? 1 : RUNS))
  if (!Number.isInteger(runs) || runs < 1) throw new Error(`--runs takes a whole number from 1 on, not ${values.runs}`)
  return { isQuick, isFull, isJson, only, runs }
}

/**
 * @param {readonly Program[]} programs
 * @param {{ isQuick: boolean, only: readonly string[] }} choice
 */
export async function figuresOf(programs, { isQuick, only }) {
  const figures = await measure(programs, { isQuick, only: [...new Set(only.map(programPrefix))] })
  if (figures.length > 0) return figures
  process.stderr.write(`no id${isQuick ? ' of the quick form' : ''} begins with ${only.join(' or ')}\n`)
  throw new StepFailed('nothing to measure')
}

/**
 * Returns the items whose ids were selected.
 * @template {{ id: string }} Item
 * @param {readonly Item[]} items
 * @param {readonly string[]} only
 */
export const wanted = (items, only) =>
  items.filter(({ id }) => only.length === 0 || only.some((prefix) => id.startsWith(prefix)))

const digits = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, roundingPriority: 'auto' })
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** Three significant digits. @param {number | null} number */
export function shown(number) {
  if (number === null) return ''
  return number >= 1000 ? whole.format(number) : digits.format(number)
}

/** The style of all tables of the benches. */
export const PLAIN = { head: [], border: [], compact: true }
