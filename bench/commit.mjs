// @ts-check
// `node bench/commit.mjs [checkout]`: the CPU time of a relaxed commit of one entry of 128 bytes, as JSON, with a fresh process
// for each of five runs. With another built checkout, the two take turns.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { printProcessor } from './processor.mjs'

const RUNS = 5
const [WARM_UP, COMMITS] = [2_000, 20_000]
const own = fileURLToPath(new URL('..', import.meta.url))
const [first, second] = process.argv.slice(2)

if (first === '--run' && second !== undefined) console.log(await microseconds(second))
else compare(first === undefined ? [own] : [resolve(first), own])

/** @param {readonly string[]} checkouts */
function compare(checkouts) {
  printProcessor()
  /** @type {number[][]} */
  const times = checkouts.map(() => [])
  for (let run = 0; run < RUNS; run++) {
    for (const [index, checkout] of checkouts.entries()) {
      const out = execFileSync(process.execPath, [fileURLToPath(import.meta.url), '--run', checkout], { encoding: 'utf8' })
      times[index]?.push(Number(out))
    }
  }
  const median = (/** @type {readonly number[]} */ all) => all.toSorted((one, other) => one - other)[RUNS >> 1]
  console.log(JSON.stringify(checkouts.map((checkout, index) => ({ checkout, medianUs: median(times[index] ?? []), allUs: times[index] }))))
}

/** @param {string} checkout @returns {Promise<number>} CPU time of a commit */
async function microseconds(checkout) {
  const { openCache } = await import(pathToFileURL(join(checkout, 'packages/varve/dist/bundle/index.js')).href)
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
  const { user, system } = process.cpuUsage(before)
  await cache.close()
  rmSync(dir, { recursive: true })
  return (user + system) / COMMITS
}
