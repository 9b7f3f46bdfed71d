// @ts-check
// `node bench/together.mjs [checkout]`: builds that share a cache and close it at the same moment, as the packages of a
// monorepo do. Each process opens the cache, commits 4,000 entries of 2 KiB of real JavaScript, waits for all others, and closes. Medians of
// five rounds: until the last one has closed, the CPU time and the bytes written of closing, over all processes. If another built
// checkout is given, the two take turns. `--dir <directory>` sets where the caches are (default: below the home directory).
//
//   fresh    the cache is empty before       again    earlier builds have left 32 MB in it
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { readText } from './first-read/text.mjs'
import { median } from './median.mjs'
import { readNumber } from './proc.mjs'
import { printProcessor } from './processor.mjs'

const ROUNDS = 5
const PROCESSES = [1, 2, 4, 8]
const ENTRIES = 4000
const ENTRY_BYTES = 2 << 10
const BUILDS_BEFORE = { fresh: 0, again: 4 }
const own = fileURLToPath(new URL('..', import.meta.url))

/** @typedef {{ cpu: number, bytes: number, warnings: number }} Cost */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { build: { type: 'string' }, dir: { type: 'string', default: homedir() } },
})
if (values.build !== undefined) await build(positionals[0] ?? own, values.build)
else await compare(positionals[0] === undefined ? [own] : [resolve(positionals[0]), own])

/** Bytes that this process has written. */
function bytesWritten() {
  return readNumber('/proc/self/io', 'wchar')
}

/** One build, in a process of its own. @param {string} checkout @param {string} dir */
async function build(checkout, dir) {
  const { openCache } = await import(pathToFileURL(join(checkout, 'packages/varve/dist/bundle/index.js')).href)
  let warnings = 0
  const cache = await openCache({ name: 'bench', dir, onWarning: () => (warnings += 1) })
  const namespace = cache.namespace('n')
  const text = readText(ENTRIES * ENTRY_BYTES)
  for (let index = 0; index < ENTRIES; index++) {
    namespace.put(`key ${index} of ${process.pid}`, text.subarray(index * ENTRY_BYTES, (index + 1) * ENTRY_BYTES))
  }
  await cache.commit()
  process.send?.('ready')
  await once(process, 'message')
  const before = process.cpuUsage()
  const bytes = bytesWritten()
  await cache.close()
  const { user, system } = process.cpuUsage(before)
  process.send?.({ cpu: (user + system) / 1000, bytes: bytesWritten() - bytes, warnings })
  process.disconnect()
}

/** @param {string} checkout @param {string} dir @param {number} count @returns {Promise<Cost & { wall: number }>} */
async function together(checkout, dir, count) {
  const children = Array.from({ length: count }, () => fork(fileURLToPath(import.meta.url), [checkout, '--build', dir]))
  await Promise.all(children.map((child) => once(child, 'message')))
  const begun = performance.now()
  const closed = Promise.all(children.map((child) => once(child, 'message').then(([cost]) => /** @type {Cost} */ (cost))))
  for (const child of children) child.send('close')
  const costs = await closed
  const wall = performance.now() - begun
  await Promise.all(children.map((child) => child.exitCode ?? once(child, 'exit')))
  const sum = (/** @type {keyof Cost} */ name) => costs.reduce((all, cost) => all + cost[name], 0)
  return { wall, cpu: sum('cpu'), bytes: sum('bytes'), warnings: sum('warnings') }
}

/** @param {readonly string[]} checkouts */
async function compare(checkouts) {
  printProcessor()
  for (const [title, before] of Object.entries(BUILDS_BEFORE)) {
    for (const count of PROCESSES) {
      /** @type {Map<string, (Cost & { wall: number })[]>} */
      const found = new Map(checkouts.map((checkout) => [checkout, []]))
      for (let round = 0; round < ROUNDS; round++) {
        for (const checkout of round % 2 === 0 ? checkouts : checkouts.toReversed()) {
          const dir = mkdtempSync(join(values.dir, '.varve-bench-together-'))
          for (let earlier = 0; earlier < before; earlier++) await together(checkout, dir, 1)
          found.get(checkout)?.push(await together(checkout, dir, count))
          rmSync(dir, { recursive: true })
        }
      }
      for (const [checkout, costs] of found) {
        const of = (/** @type {keyof Cost | 'wall'} */ name) => median(costs.map((cost) => cost[name]))
        const times = `${of('wall').toFixed(0)} ms, CPU ${of('cpu').toFixed(0)} ms, ${(of('bytes') / 1e6).toFixed(0)} MB, ${of('warnings')} warnings`
        console.log(`${checkout} ${title}, ${count} processes: ${times}`)
      }
    }
  }
}
