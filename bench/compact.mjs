// @ts-check
// `node bench/compact.mjs [checkout]`: CPU and wall time of a full compaction of real JavaScript in a fresh process, on both engines.
// With another built checkout, the two take turns. `--rounds <n>` (default 5).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readText } from './first-read/text.mjs'
import { cpuMs } from './processor.mjs'
import { inTurn, mediansOf, openCacheOf, readArguments, runBench, sampleOf } from './turns.mjs'

/** Entries, and bytes of each value. */
const SIZES = /** @type {const} */ ([
  [50_000, 1 << 10],
  [20_000, 4 << 10],
  [5_000, 32 << 10],
])
/** Tables before the compaction. */
const COMMITS = 8

/** @typedef {{ checkout: string, engine: 'native' | 'wasm', entries: number, bytes: number }} Order */
/** @typedef {{ cpuMs: number, wallMs: number }} Times */

await runBench(compact, compare)

async function compare() {
  const { options, checkouts } = readArguments({ rounds: 5 })
  for (const [entries, bytes] of SIZES) {
    for (const engine of ['native', 'wasm']) {
      const found = await inTurn(
        checkouts,
        options.rounds,
        (checkout) => /** @type {Times} */ (sampleOf({ checkout, engine, entries, bytes })),
      )
      console.log(JSON.stringify({ entries, bytes, engine, times: Object.values(found).map(mediansOf) }))
    }
  }
}

/** @param {Order} order @returns {Promise<Times>} */
async function compact({ checkout, engine, entries, bytes }) {
  const openCache = await openCacheOf(checkout)
  const text = readText(entries * bytes)
  const dir = mkdtempSync(join(tmpdir(), 'varve-bench-compact-'))
  try {
    const filled = await openCache({ name: 'bench', dir, engine })
    const namespace = filled.namespace('n')
    for (let index = 0; index < entries; index++) {
      namespace.put(`src/modules/${index}.js`, text.subarray(index * bytes, (index + 1) * bytes))
      if ((index + 1) % Math.ceil(entries / COMMITS) === 0) await filled.commit()
    }
    await filled.close()
    const cache = await openCache({ name: 'bench', dir, engine })
    cache.namespace('n').put('one more', text.subarray(0, bytes))
    await cache.commit()
    const [cpu, wall] = [process.cpuUsage(), performance.now()]
    await cache.compact({ full: true })
    const times = { cpuMs: cpuMs(cpu), wallMs: performance.now() - wall }
    await cache.close()
    return times
  } finally {
    rmSync(dir, { recursive: true })
  }
}
