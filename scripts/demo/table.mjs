// @ts-check
// Prints the results of the demo: a table in 80 columns, and one sentence.
import { size } from '../../packages/varve/dist/cli/output/output.js'
import { table, wrapped } from '../../packages/varve/dist/cli/output/table.js'
import { nameOf } from './steps.mjs'

/** @typedef {import('./steps.mjs').Row} Row */

const COLUMNS = 80
const HEAD = ['cache', 'step', 'seconds', 'hits', 'misses', 'on disk', 'files', 'same bundle']

/** @param {readonly Row[]} rows */
export function tableOf(rows) {
  const cells = rows.map((row) => {
    const { step, seconds, hits, misses, bytes, files, identical } = row
    return [
      nameOf(row),
      step,
      seconds.toFixed(1),
      String(hits),
      String(misses),
      size(bytes),
      String(files),
      identical ? 'yes' : 'NO',
    ]
  })
  return table(HEAD, cells, HEAD.slice(2), COLUMNS)
}

/** What the builds show, in one sentence. @param {readonly Row[]} rows */
export function sentenceOf(rows) {
  const without = secondsOf(rows, 'none', 'warm')
  const warm = secondsOf(rows, 'varve', 'warm')
  const change = secondsOf(rows, 'varve', 'change')
  const same = rows.every(({ identical }) => identical) ? 'all bundles are the same' : 'BUNDLES DIFFER'
  const sentence = `A build without a cache took ${without} s, with Varve ${warm} s, and ${change} s after a change of one file; ${same}.`
  return wrapped(sentence, COLUMNS).join('\n')
}

/** @param {readonly Row[]} rows @param {Row['cache']} cache @param {Row['step']} step */
function secondsOf(rows, cache, step) {
  return rows.find((row) => row.cache === cache && row.step === step)?.seconds.toFixed(1) ?? '?'
}
