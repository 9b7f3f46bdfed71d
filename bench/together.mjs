// @ts-check
// `node bench/together.mjs [checkout]`: builds that share a cache, as the packages of a monorepo do. Each process opens the cache, commits
// entries of 2 KiB of real JavaScript, waits for all others, and closes. Medians over the rounds: until the last one has closed, CPU time and
// bytes written of all processes, and the longest commit. If another built checkout is given, the two take turns. `--dir <directory>` sets where
// the caches are (default: below the home directory), `--only <case>` and `--processes <n,n>` what is measured.
//
//   fresh    the cache is empty before; one commit of 4,000 entries, then all close at the same moment, and only closing is measured
//   again    the same after earlier builds have left 32 MB in it
//   commits  60 commits of 400 entries, 30 ms apart, all at the same time, and then closing
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { readText } from './first-read/text.mjs'
import { median } from './median.mjs'
import { readNumber } from './proc.mjs'
import { printProcessor } from './processor.mjs'

const ENTRY_BYTES = 2 << 10
/** @type {Record<string, { buildsBefore: number, first: number, commits: number, entries: number, rounds: number }>} */
const CASES = {
  fresh: { buildsBefore: 0, first: 4000, commits: 0, entries: 0, rounds: 5 },
  again: { buildsBefore: 4, first: 4000, commits: 0, entries: 0, rounds: 5 },
  commits: { buildsBefore: 0, first: 0, commits: 60, entries: 400, rounds: 3 },
}
/** Between two commits. */
const PAUSE_MS = 30
const own = fileURLToPath(new URL('..', import.meta.url))

/** @typedef {{ cpu: number, bytes: number, longest: number, warnings: number }} Cost */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    build: { type: 'string' },
    dir: { type: 'string', default: homedir() },
    only: { type: 'string', default: '' },
    processes: { type: 'string', default: '1,2,4,8' },
  },
})
if (values.build !== undefined) await build(positionals[0] ?? own, positionals[1] ?? 'fresh', values.build)
else await compare(positionals[0] === undefined ? [own] : [resolve(positionals[0]), own])

/** Bytes that this process has written. */
function bytesWritten() {
  return readNumber('/proc/self/io', 'wchar')
}

/** One build, in a process of its own. @param {string} checkout @param {string} name @param {string} dir */
async function build(checkout, name, dir) {
  const { first, commits, entries } = CASES[name] ?? assert.fail(name)
  const { openCache } = await import(pathToFileURL(join(checkout, 'packages/varve/dist/bundle/index.js')).href)
  let warnings = 0
  const cache = await openCache({ name: 'bench', dir, onWarning: () => (warnings += 1) })
  const namespace = cache.namespace('n')
  const text = readText((first + commits * entries) * ENTRY_BYTES)
  let put = 0
  const commit = async (/** @type {number} */ count) => {
    for (const end = put + count; put < end; put++) {
      namespace.put(`key ${put} of ${process.pid}`, text.subarray(put * ENTRY_BYTES, (put + 1) * ENTRY_BYTES))
    }
    const begun = performance.now()
    await cache.commit()
    return performance.now() - begun
  }
  await commit(first)
  process.send?.('ready')
  await once(process, 'message')
  const before = process.cpuUsage()
  const bytes = bytesWritten()
  let longest = 0
  for (let done = 0; done < commits; done++) {
    longest = Math.max(longest, await commit(entries))
    await setTimeout(PAUSE_MS)
  }
  await cache.close()
  const { user, system } = process.cpuUsage(before)
  process.send?.({ cpu: (user + system) / 1000, bytes: bytesWritten() - bytes, longest, warnings })
  process.disconnect()
}

/** @param {string} checkout @param {string} name @param {string} dir @param {number} count @returns {Promise<Cost & { wall: number }>} */
async function together(checkout, name, dir, count) {
  const args = [checkout, name, '--build', dir]
  const children = Array.from({ length: count }, () => fork(fileURLToPath(import.meta.url), args))
  await Promise.all(children.map((child) => once(child, 'message')))
  const begun = performance.now()
  const closed = Promise.all(children.map((child) => once(child, 'message').then(([cost]) => /** @type {Cost} */ (cost))))
  for (const child of children) child.send('go')
  const costs = await closed
  const wall = performance.now() - begun
  await Promise.all(children.map((child) => child.exitCode ?? once(child, 'exit')))
  const sum = (/** @type {keyof Cost} */ name) => costs.reduce((all, cost) => all + cost[name], 0)
  const longest = Math.max(...costs.map((cost) => cost.longest))
  return { wall, cpu: sum('cpu'), bytes: sum('bytes'), longest, warnings: sum('warnings') }
}

/** @param {readonly string[]} checkouts */
async function compare(checkouts) {
  printProcessor()
  for (const [name, { buildsBefore, rounds }] of Object.entries(CASES)) {
    if (!name.startsWith(values.only)) continue
    for (const count of values.processes.split(',').map(Number)) {
      /** @type {Map<string, (Cost & { wall: number })[]>} */
      const found = new Map(checkouts.map((checkout) => [checkout, []]))
      for (let round = 0; round < rounds; round++) {
        for (const checkout of round % 2 === 0 ? checkouts : checkouts.toReversed()) {
          const dir = mkdtempSync(join(values.dir, '.varve-bench-together-'))
          for (let earlier = 0; earlier < buildsBefore; earlier++) await together(checkout, name, dir, 1)
          found.get(checkout)?.push(await together(checkout, name, dir, count))
          rmSync(dir, { recursive: true })
        }
      }
      for (const [checkout, costs] of found) {
        const of = (/** @type {keyof Cost | 'wall'} */ key, unit = 1) => (median(costs.map((cost) => cost[key])) / unit).toFixed(0)
        const commit = costs.some(({ longest }) => longest > 0) ? `, longest commit ${of('longest')} ms` : ''
        const figures = `${of('wall')} ms, CPU ${of('cpu')} ms, ${of('bytes', 1e6)} MB${commit}, ${of('warnings')} warnings`
        console.log(`${checkout} ${name}, ${count} processes: ${figures}`)
      }
    }
  }
}
