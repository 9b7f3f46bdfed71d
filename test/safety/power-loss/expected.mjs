// @ts-check
// The oracle: the contents of the cache after each commit of a workload, computed without the engine.
import { mix, mixText, noise } from './random.mjs'
import { commitsOf } from './workloads.mjs'

/** @import { Workload } from './workloads.mjs' */

/** @typedef {{ number: number, bytes: number, files: readonly number[] | undefined }} Expectation of one key: its commit */
/** @typedef {Map<string, Expectation>} Content by `<namespace>@<version>/<key>` */

/** The value of a key in a commit. @param {{ space: string, key: string, bytes: number, number: number }} put */
export function valueBytes({ space, key, bytes, number }) {
  const value = noise(mix(mixText(`${space}/${key}`), number), bytes)
  value.writeUInt32LE(number, 0)
  return value
}

/** A file of a folder that is stored. @param {string} key @param {number} number @param {number} index @param {number} bytes */
export const fileBytes = (key, number, index, bytes) => noise(mix(mixText(key), number, index, 77), bytes)

/**
 * The content after each commit; the first is the one of the folder that the recording starts with.
 * @param {Workload} workload
 * @param {ReadonlySet<string> | undefined} readable what of the first content a damaged folder still has
 * @returns {{ numbers: readonly number[], contents: readonly Content[] }}
 */
export function contentsOf(workload, readable) {
  /** @type {Content} */
  let content = new Map()
  const commits = commitsOf(workload)
  const base = commits.filter(({ isRecorded }) => !isRecorded)
  for (const one of base) content = after(content, one)
  if (readable !== undefined) content = new Map([...content].filter(([key]) => readable.has(key)))
  const contents = [content]
  const numbers = [base.length - 1]
  for (const one of commits.slice(base.length)) {
    content = after(content, one)
    contents.push(content)
    numbers.push(one.number)
  }
  return { numbers, contents }
}

/** @param {Content} content @param {ReturnType<typeof commitsOf>[number]} commit @returns {Content} */
function after(content, { step, number, versions }) {
  const next = new Map(content)
  const place = (/** @type {string} */ space) => `${space}@${versions[space]}/`
  const spaces = new Set([...step.puts, ...step.removes].map(({ space }) => space))
  for (const key of content.keys()) {
    const [space = ''] = key.split('@')
    if (spaces.has(space) && !key.startsWith(place(space))) next.delete(key)
  }
  for (const { space, key, bytes } of step.puts) next.set(place(space) + key, { number, bytes, files: undefined })
  for (const { space, key } of step.removes) next.delete(place(space) + key)
  for (const { key, files } of step.stored) next.set(place('outputs') + key, { number, bytes: 0, files })
  return next
}
