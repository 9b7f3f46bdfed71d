// @ts-check
// `node bench/load.mjs [checkout]`: CPU time that importing `varve`, opening a cache and a first lookup cost over a process of
// Node.js that does nothing, on both engines. Fresh processes take turns; with another built checkout, those of both do.
// `--rounds <n>` (default 15).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './median.mjs'
import { cpuMs } from './processor.mjs'
import { inTurn, openCacheOf, readArguments, runBench, sampleOf } from './turns.mjs'

/** @typedef {{ checkout: string, engine: 'native' | 'wasm', dir: string }} Order */

await runBench(load, compare)

async function compare() {
  const { options, checkouts } = readArguments({ rounds: 15 })
  const home = mkdtempSync(join(tmpdir(), 'varve-bench-load-'))
  const orders = Object.entries(checkouts).flatMap(([name, checkout]) =>
    ['native', 'wasm'].map((engine) => [`${engine} ${name}`, { checkout, engine, dir: join(home, engine) }]),
  )
  const variants = { bare: null, ...Object.fromEntries(orders) }
  const { bare = [], ...found } = await inTurn(
    variants,
    options.rounds,
    (order) => /** @type {number} */ (sampleOf(order)),
  )
  rmSync(home, { recursive: true })
  for (const [name, times] of Object.entries(found))
    console.log(`${name}: ${(median(times) - median(bare)).toFixed(1)} ms`)
}

/** CPU time of this process in milliseconds. @param {Order | null} order */
async function load(order) {
  if (order === null) return cpuMs()
  const openCache = await openCacheOf(order.checkout)
  const cache = await openCache({ name: 'load', dir: order.dir, engine: order.engine })
  cache.namespace('n').get('key')
  const ms = cpuMs()
  await cache.close()
  return ms
}
