// @ts-check
// `node bench/history.mjs`: what the record of a build costs. Builds of 100 entries with and without it take turns, in one cache each,
// and the figures are medians of the CPU time from the last put to the end of `close`, in milliseconds. `--builds 1100`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuUsage } from 'node:process'
import { parseArgs } from 'node:util'
import { openCache } from 'varve'
import { median } from './median.mjs'
import { printProcessor } from './processor.mjs'

const ENTRIES = 100
const { values } = parseArgs({ options: { builds: { type: 'string', default: '1100' } } })
const folder = mkdtempSync(join(tmpdir(), 'varve-history-'))

/** @param {'auto' | 'never'} history @param {number} build */
async function closeMs(history, build) {
  const cache = await openCache({ name: 'history', dir: join(folder, history), history })
  const modules = cache.namespace('modules', { codec: 'text' })
  for (let index = 0; index < ENTRIES; index++) modules.put(`src/module-${index}.js`, `result ${build}`)
  cache.recordBuild({ hits: 1900, misses: ENTRIES, reasons: { 'changed babel.config.js': ENTRIES }, savedMs: 14_200 })
  const before = cpuUsage()
  await cache.close()
  const { user, system } = cpuUsage(before)
  return (user + system) / 1000
}

try {
  printProcessor()
  /** @type {Record<'auto' | 'never', number[]>} */
  const found = { auto: [], never: [] }
  for (let build = 0; build < Number(values.builds); build++) {
    for (const history of /** @type {const} */ (['never', 'auto'])) found[history].push(await closeMs(history, build))
  }
  for (const [name, first, last] of /** @type {const} */ ([['builds 1 to 100', 0, 100], ['the last 100 builds', -100, undefined]])) {
    const [without, with_] = [found.never, found.auto].map((times) => median(times.slice(first, last)))
    console.log(`${name}: ${without?.toFixed(3)} ms without a record, ${with_?.toFixed(3)} ms with it`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
