// @ts-check
// Prints the results of the demo as a table.
import Table from 'cli-table3'
import prettyBytes from 'pretty-bytes'
import { nameOf } from './steps.mjs'

const LEFT = /** @type {const} */ ('left')
const RIGHT = /** @type {const} */ ('right')
const HEAD = ['cache', 'step', 'seconds', 'hits', 'misses', 'bytes on disk', 'files', 'same bundle']

/** @param {readonly import('./steps.mjs').Row[]} rows */
export function tableOf(rows) {
  const colAligns = HEAD.map((name) => (name === 'cache' || name === 'step' ? LEFT : RIGHT))
  const table = new Table({ head: HEAD, colAligns, style: { head: [], border: [], compact: true } })
  for (const row of rows) {
    const { step, seconds, hits, misses, bytes, files, identical } = row
    const size = prettyBytes(bytes, { binary: true })
    table.push([nameOf(row), step, seconds.toFixed(1), hits, misses, size, files, identical ? 'yes' : 'NO'])
  }
  return table.toString()
}
