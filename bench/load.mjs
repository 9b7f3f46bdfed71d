// @ts-check
// `node bench/load.mjs [checkout]`: CPU time that importing `varve`, opening a cache and a first lookup cost over a process of
// Node.js that does nothing, on both engines. Fresh processes take turns; with another built checkout, those of both do.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { printProcessor } from './processor.mjs'

const RUNS = 15
const own = fileURLToPath(new URL('..', import.meta.url))
const [first, ...rest] = process.argv.slice(2)

if (first === '--run') await load(rest)
else compare(first === undefined ? [own] : [resolve(first), own])

/** @param {readonly string[]} checkouts */
function compare(checkouts) {
  printProcessor()
  const dir = mkdtempSync(join(tmpdir(), 'varve-bench-load-'))
  /** @param {string[]} order @returns {{ order: string[], times: number[] }} */
  const caseOf = (...order) => ({ order, times: [] })
  const bare = caseOf()
  const cases = checkouts.flatMap((checkout) => ['native', 'wasm'].map((engine) => caseOf(engine, checkout, join(dir, engine))))
  for (let run = 0; run < RUNS; run++) {
    for (const { order, times } of [bare, ...cases]) {
      const out = execFileSync(process.execPath, [fileURLToPath(import.meta.url), '--run', ...order], { encoding: 'utf8' })
      times.push(Number(out))
    }
  }
  rmSync(dir, { recursive: true })
  const median = (/** @type {readonly number[]} */ all) => all.toSorted((one, two) => one - two)[RUNS >> 1] ?? 0
  for (const { order: [engine, checkout], times } of cases) {
    console.log(`${engine}: ${(median(times) - median(bare.times)).toFixed(1)} ms (${checkout})`)
  }
}

/** Prints the CPU time of this process in milliseconds. @param {readonly string[]} order */
async function load([engine, checkout = '', dir = '']) {
  if (engine !== undefined) {
    /** @type {{ exports: Record<string, { default: string }> }} */
    const { exports } = JSON.parse(readFileSync(join(checkout, 'packages/varve/package.json'), 'utf8'))
    const main = join(checkout, 'packages/varve', exports['.']?.default ?? '')
    /** @type {typeof import('varve')} */
    const { openCache } = await import(pathToFileURL(main).href)
    const cache = await openCache({ name: 'load', dir, engine: engine === 'wasm' ? 'wasm' : 'native' })
    cache.namespace('n').get('key')
  }
  const { user, system } = process.cpuUsage()
  console.log((user + system) / 1000)
  process.exit()
}
