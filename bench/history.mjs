// @ts-check
// `node bench/history.mjs`: what the record of a build costs. Builds of 100 entries with and without it take turns, in one cache each,
// and the figures are medians of the CPU time from the last put to the end of `close`, in milliseconds. `--builds 1100`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCache } from 'varve'
import { median } from './median.mjs'
import { cpuMs, printProcessor } from './processor.mjs'
import { inTurn, readArguments } from './turns.mjs'

const ENTRIES = 100
const { options } = readArguments({ builds: 1100 })
const folder = mkdtempSync(join(tmpdir(), 'varve-history-'))

/** @param {'auto' | 'never'} history @param {number} build */
async function closeMs(history, build) {
  const cache = await openCache({ name: 'history', dir: join(folder, history), history })
  const modules = cache.namespace('modules', { codec: 'text' })
  for (let index = 0; index < ENTRIES; index++) modules.put(`src/module-${index}.js`, `result ${build}`)
  cache.recordBuild({ hits: 1900, misses: ENTRIES, reasons: { 'changed babel.config.js': ENTRIES }, savedMs: 14_200 })
  const before = process.cpuUsage()
  await cache.close()
  return cpuMs(before)
}

try {
  printProcessor()
  const variants = /** @type {const} */ ({ without: 'never', recorded: 'auto' })
  const found = await inTurn(variants, options.builds, closeMs)
  for (const [name, first, last] of /** @type {const} */ ([
    ['builds 1 to 100', 0, 100],
    ['the last 100 builds', -100, undefined],
  ])) {
    const [without, recorded] = [found.without, found.recorded].map((times) =>
      median(times.slice(first, last)).toFixed(3),
    )
    console.log(`${name}: ${without} ms without a record, ${recorded} ms with it`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
