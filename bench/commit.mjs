// @ts-check
// `node bench/commit.mjs [checkout]`: the CPU time of a relaxed commit of one entry of 128 bytes, as JSON, with a fresh process
// for each run. With another built checkout, the two take turns. `--rounds <n>` (default 5).
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { median } from './median.mjs'
import { cpuMs } from './processor.mjs'
import { inTurn, openCacheOf, readArguments, runBench, sampleOf } from './turns.mjs'

const [WARM_UP, COMMITS] = [2_000, 20_000]

await runBench(microseconds, compare)

async function compare() {
  const { options, checkouts } = readArguments({ rounds: 5 })
  const found = await inTurn(checkouts, options.rounds, (checkout) => /** @type {number} */ (sampleOf(checkout)))
  console.log(
    JSON.stringify(Object.entries(found).map(([checkout, allUs]) => ({ checkout, medianUs: median(allUs), allUs }))),
  )
}

/** CPU time of a commit. @param {string} checkout */
async function microseconds(checkout) {
  const openCache = await openCacheOf(checkout)
  // Not below a sticky directory such as /tmp, where each commit checks the directory once more.
  const dir = mkdtempSync(join(homedir(), '.varve-bench-commit-'))
  const cache = await openCache({ name: 'bench', dir })
  const namespace = cache.namespace('n')
  const value = Buffer.alloc(128, 7)
  const commit = async (/** @type {number} */ count) => {
    for (let index = 0; index < count; index++) {
      namespace.put(`key ${index % 1000}`, value)
      await cache.commit()
    }
  }
  await commit(WARM_UP)
  const before = process.cpuUsage()
  await commit(COMMITS)
  const us = (cpuMs(before) * 1000) / COMMITS
  await cache.close()
  rmSync(dir, { recursive: true })
  return us
}
