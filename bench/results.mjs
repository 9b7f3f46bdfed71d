// @ts-check
// Turns figures into results: Varve's figure next to the rival it is compared with, and the goal if there is one.
import { GOALS, isGoalOf } from './goals.mjs'

/** @typedef {import('./goals.mjs').Goal} Goal */
/** @typedef {import('./goals.mjs').Metric} Metric */
/** @typedef {import('./programs.mjs').Figure} Figure */

/**
 * @typedef {object} Result
 * @property {string} id
 * @property {Metric} metric
 * @property {number} ours
 * @property {number | null} rival
 * @property {string | null} name of the rival
 * @property {number | null} ratio
 * @property {string} unit
 */
/** @typedef {Result & { goal: { of: 'ratio' | 'ours', max: number } | null, isMet: boolean | null }} Compared */
/** @typedef {Compared & { range: [least: number, most: number], isStable: boolean }} Repeated `range` is that of the ratios of all runs */

/** Varve's subjects, and the suffixes that distinguish their ids. */
const OURS = new Map([
  ['varve', ''],
  ['varve-2-threads', '/threads_2'],
  ['varve-4-threads', '/threads_4'],
  ['varve-native', '/native'],
  ['varve-wasm', '/wasm'],
])
/** Subjects that are not rivals: limits, and webpack without a cache. */
const BESIDE = new Set(['raw-append', 'bytes', 'no cache'])

/** The id that programs use. @param {string} prefix */
export function programPrefix(prefix) {
  const suffix = [...OURS.values()].find((text) => text !== '' && prefix.endsWith(text)) ?? ''
  return prefix.slice(0, prefix.length - suffix.length)
}

/** @param {readonly Figure[]} figures @returns {Result[]} */
export const resultsOfOurs = (figures) => figures.flatMap((figure) => (OURS.has(figure.name) ? alone(figure) : []))

/** @param {Figure} figure @returns {Result} */
function alone({ id, name, metric, value, unit }) {
  return { id: `${id}${OURS.get(name)}`, metric, ours: value, rival: null, name: null, ratio: null, unit }
}

/** One result for each goal, and one against the best rival for figures without a goal. @param {readonly Figure[]} figures @returns {Compared[]} */
export function compare(figures) {
  return figures
    .filter(({ name }) => OURS.has(name))
    .flatMap((ours) => {
      const goals = GOALS.filter(
        (goal) => goal.ours === ours.name && goal.metric === ours.metric && isGoalOf(goal, ours.id),
      )
      const results = goals.flatMap((goal) => against(ours, rivalOf(goal, ours, figures), goal))
      return results.length > 0 ? results : against(ours, usualRival(ours, figures))
    })
}

/** @param {Goal} goal @param {Figure} ours @param {readonly Figure[]} figures */
function rivalOf({ best, bestId }, ours, figures) {
  const id = bestId ?? ours.id
  return least(
    figures.filter((figure) => figure.id === id && figure.metric === ours.metric && best.includes(figure.name)),
  )
}

/**
 * Several threads are compared with one thread. Other figures are compared with the best of the rivals that goals name for another
 * metric, or else with the best of all rivals.
 * @param {Figure} ours
 * @param {readonly Figure[]} figures
 */
function usualRival(ours, figures) {
  const same = figures.filter(({ id, metric }) => id === ours.id && metric === ours.metric)
  if (ours.name.endsWith('-threads')) return same.find(({ name }) => name === 'varve')
  const rivals = same.filter(({ name }) => !OURS.has(name) && !BESIDE.has(name))
  const named = GOALS.flatMap((goal) => (isGoalOf(goal, ours.id) ? goal.best : []))
  return least(rivals.filter(({ name }) => named.includes(name))) ?? least(rivals)
}

/** @param {readonly Figure[]} figures */
const least = (figures) => figures.toSorted((left, right) => left.value - right.value)[0]

/** @param {Figure} ours @param {Figure | undefined} rival @param {Goal} [goal] @returns {Compared[]} */
function against(ours, rival, goal) {
  if (rival === undefined) return []
  const ratio = ours.value / rival.value
  const name = rival.id === ours.id ? rival.name : `${rival.name}, ${rival.id}`
  const isMet = goal === undefined ? null : (goal.of === 'ours' ? ours.value : ratio) <= goal.max
  const limit = goal === undefined ? null : { of: goal.of, max: goal.max }
  return [{ ...alone(ours), rival: rival.value, name, ratio: Number(ratio.toPrecision(4)), goal: limit, isMet }]
}

/** Ratios of several runs that differ by more than this part of their median are not stable. */
const SPREAD_MAX = 0.1

/**
 * Several runs of the same workloads as one, which all have the same results in the same order: of each result the one with the
 * median ratio, and the range of the ratios.
 * @param {readonly (readonly Compared[])[]} runs
 * @returns {Repeated[]}
 */
export function combined(runs) {
  return (runs[0] ?? []).map((_, at) => {
    const sorted = runs
      .flatMap((results) => results[at] ?? [])
      .toSorted((left, right) => (left.ratio ?? 0) - (right.ratio ?? 0))
    const middle = /** @type {Compared} */ (sorted[sorted.length >> 1])
    const [low, high] = [sorted[0]?.ratio ?? 0, sorted.at(-1)?.ratio ?? 0]
    return { ...middle, range: [low, high], isStable: high - low <= SPREAD_MAX * (middle.ratio ?? 0) }
  })
}

/** The output of `--json`, which has only times. @param {readonly Result[]} results */
export function jsonOf(results) {
  const times = results.filter(({ metric }) => metric === 'wall' || metric === 'cpu')
  const rows = times.map(({ id, metric, ours, rival, name, ratio, unit }) => ({
    id,
    metric,
    ours,
    rival,
    name,
    ratio,
    unit,
  }))
  return `${JSON.stringify(rows, undefined, 2)}\n`
}
