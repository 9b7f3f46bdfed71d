// @ts-check
// `node bench/compact.mjs [checkout]`: CPU and wall time of a full compaction of real JavaScript in a fresh process, on both engines.
// With another built checkout, the two take turns.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { readText } from './first-read/text.mjs'
import { median } from './median.mjs'
import { printProcessor } from './processor.mjs'

const RUNS = 5
/** Entries, and bytes of each value. */
const SIZES = /** @type {const} */ ([[50_000, 1 << 10], [20_000, 4 << 10], [5_000, 32 << 10]])
/** Tables before the compaction. */
const COMMITS = 8

const own = fileURLToPath(new URL('..', import.meta.url))
const [first, ...rest] = process.argv.slice(2)

if (first === '--run') console.log(JSON.stringify(await compact(...rest)))
else compare(first === undefined ? [own] : [resolve(first), own])

/** @param {readonly string[]} checkouts */
function compare(checkouts) {
  printProcessor()
  for (const [entries, bytes] of SIZES) {
    for (const engine of ['native', 'wasm']) {
      /** @type {{ cpu: number, wall: number }[][]} */
      const runs = checkouts.map(() => [])
      for (let run = 0; run < RUNS; run++) {
        for (const [index, checkout] of checkouts.entries()) {
          const args = [fileURLToPath(import.meta.url), '--run', checkout, engine, `${entries}`, `${bytes}`]
          runs[index]?.push(JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })))
        }
      }
      const times = runs.map((all) => ({ cpuMs: median(all.map(({ cpu }) => cpu)), wallMs: median(all.map(({ wall }) => wall)) }))
      console.log(JSON.stringify({ entries, bytes, engine, times }))
    }
  }
}

/** @param {readonly string[]} order @returns {Promise<{ cpu: number, wall: number }>} milliseconds */
async function compact(...order) {
  const [checkout = own, engine = 'native', entries = '0', bytes = '0'] = order
  const { openCache } = await import(pathToFileURL(join(checkout, 'packages/varve/dist/bundle/index.js')).href)
  const [count, length] = [Number(entries), Number(bytes)]
  const text = readText(count * length)
  const dir = mkdtempSync(join(tmpdir(), 'varve-bench-compact-'))
  try {
    const filled = await openCache({ name: 'bench', dir, engine })
    const namespace = filled.namespace('n')
    for (let index = 0; index < count; index++) {
      namespace.put(`src/modules/${index}.js`, text.subarray(index * length, (index + 1) * length))
      if ((index + 1) % Math.ceil(count / COMMITS) === 0) await filled.commit()
    }
    await filled.close()
    const cache = await openCache({ name: 'bench', dir, engine })
    cache.namespace('n').put('one more', text.subarray(0, length))
    await cache.commit()
    const [cpu, wall] = [process.cpuUsage(), performance.now()]
    await cache.compact({ full: true })
    const { user, system } = process.cpuUsage(cpu)
    const result = { cpu: (user + system) / 1000, wall: performance.now() - wall }
    await cache.close()
    return result
  } finally {
    rmSync(dir, { recursive: true })
  }
}
