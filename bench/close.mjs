// @ts-check
// `node bench/close.mjs [checkout]`: the cost of a cache for a build besides lookups: opening it, a commit of 100 entries, and
// closing it, in milliseconds. Each figure is the median over separate processes. If another built checkout is given, the two
// take turns.
//
//   first    the directory is empty         again    one earlier build has left its log
//   ten      ten earlier builds have left their files, some of them compacted
//
//   --rounds <n>        builds of each kind (default 15)
//   --dir <directory>   where the caches are (default: below the home directory)
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { inTurn, mediansOf, openCacheOf, readArguments, runBench, sampleOf } from './turns.mjs'

const ENTRIES = 100
const BUILDS = { first: 0, again: 1, ten: 10 }

/** @typedef {{ open: number, commit: number, close: number }} Phases */
/** @typedef {{ checkout: string, dir: string, durability: 'relaxed' | 'durable' }} Order */

await runBench(build, compare)

/** One build. @param {Order} order @returns {Promise<Phases>} */
async function build({ checkout, dir, durability }) {
  const openCache = await openCacheOf(checkout)
  const begun = performance.now()
  const cache = await openCache({ name: 'bench', dir, durability })
  const opened = performance.now()
  const namespace = cache.namespace('n')
  const value = Buffer.alloc(1000, 7)
  for (let index = 0; index < ENTRIES; index++) namespace.put(`key ${index} of ${process.pid}`, value)
  const filled = performance.now()
  await cache.commit()
  const committed = performance.now()
  await cache.close()
  return { open: opened - begun, commit: committed - filled, close: performance.now() - committed }
}

async function compare() {
  const { options, checkouts } = readArguments({ rounds: 15, dir: homedir() })
  for (const durability of ['relaxed', 'durable']) {
    for (const [title, before] of Object.entries(BUILDS)) {
      const found = await inTurn(checkouts, options.rounds, (checkout) => {
        const dir = mkdtempSync(join(options.dir, '.varve-bench-close-'))
        for (let earlier = 0; earlier < before; earlier++) sampleOf({ checkout, dir, durability })
        /** @type {Phases} */
        const phases = sampleOf({ checkout, dir, durability })
        rmSync(dir, { recursive: true })
        return phases
      })
      for (const [name, phases] of Object.entries(found)) {
        const { open, commit, close } = mediansOf(phases)
        console.log(
          `${name} ${durability} ${title}: open ${open.toFixed(2)}, commit ${commit.toFixed(2)}, close ${close.toFixed(2)} ms`,
        )
      }
    }
  }
}
