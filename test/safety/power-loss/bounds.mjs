// @ts-check
// The commits that may be the newest one after a crash: derived from the marks in a recording, which the program writes
// when a commit starts and when it is acknowledged.

/** @import { Operation } from './operations.mjs' */

/**
 * Positions in the list of contents.
 * @typedef {{ durable: number, acknowledged: number, begun: number }} Bounds
 */

/** The bounds after each number of operations. @param {readonly Operation[]} operations @param {readonly number[]} numbers @returns {Bounds[]} */
export function boundsOf(operations, numbers) {
  /** @type {Bounds} */
  let bounds = { durable: 0, acknowledged: 0, begun: 0 }
  const list = [bounds]
  for (const operation of operations) {
    if (operation.kind === 'mark') bounds = moved(bounds, operation.text, numbers)
    list.push(bounds)
  }
  return list
}

/** @param {Bounds} bounds @param {string} text @param {readonly number[]} numbers @returns {Bounds} */
function moved(bounds, text, numbers) {
  const [word, number, durability] = text.split(' ')
  const index = numbers.indexOf(Number(number))
  if (word === 'durable') return { ...bounds, durable: bounds.acknowledged }
  if (index === -1) throw new Error(`a mark of no commit: ${text}`)
  if (word === 'begin') return { ...bounds, begun: index }
  return { ...bounds, acknowledged: index, durable: durability === 'durable' ? index : bounds.durable }
}

/**
 * What is wrong with a folder, given how a crash at that point may leave it; undefined: nothing.
 * @param {{ problem?: string | undefined, matches: readonly number[], lost: readonly number[] }} verdict
 * @param {Bounds} bounds
 * @param {boolean} isWhole only the process died
 */
export function judge({ problem, matches, lost }, { durable, acknowledged, begun }, isWhole) {
  if (problem !== undefined) return problem
  const least = isWhole ? acknowledged : durable
  if (matches.every((index) => index < least)) return `an acknowledged commit is lost: found ${matches.join(' or ')}, acknowledged ${least}`
  if (!matches.some((index) => index >= least && index <= begun)) return `found a commit that was not begun: ${matches.join(' or ')} of ${begun}`
  const gone = lost.filter((index) => index <= least)
  return gone.length > 0 ? `a file of the acknowledged commit ${gone.join(' and ')} is lost` : undefined
}
