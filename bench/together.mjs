// @ts-check
// `node bench/together.mjs [checkout]`: builds that share a cache, as the packages of a monorepo do. Each process opens the cache, commits
// entries of 2 KiB of real JavaScript, waits for all others, and closes. Medians over the rounds: until the last one has closed, CPU time and
// bytes written of all processes, and the longest commit. If another built checkout is given, the two take turns. `--dir <directory>` sets where
// the caches are (default: below the home directory), `--only <case>` and `--processes <n,n>` what is measured.
//
//   fresh    the cache is empty before; one commit of 4,000 entries, then all close at the same moment, and only closing is measured
//   again    the same after earlier builds have left 32 MB in it
//   commits  60 commits of 400 entries, 30 ms apart, all at the same time, and then closing
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readText } from './first-read/text.mjs'
import { readNumber } from './proc.mjs'
import { printProcessor } from './processor.mjs'
import { inTurn, mediansOf, openCacheOf, readArguments } from './turns.mjs'

const ENTRY_BYTES = 2 << 10
const CASES = {
  fresh: { buildsBefore: 0, first: 4000, commits: 0, entries: 0, rounds: 5 },
  again: { buildsBefore: 4, first: 4000, commits: 0, entries: 0, rounds: 5 },
  commits: { buildsBefore: 0, first: 0, commits: 60, entries: 400, rounds: 3 },
}
/** Between two commits. */
const PAUSE_MS = 30
const BUILD = '--build'

/** @typedef {{ checkout: string, name: keyof typeof CASES, dir: string }} Build */
/** @typedef {{ cpu: number, bytes: number, longest: number, warnings: number }} Cost */

if (process.argv[2] === BUILD) await build(JSON.parse(process.argv[3] ?? ''))
else await compare()

/** Bytes that this process has written. */
function bytesWritten() {
  return readNumber('/proc/self/io', 'wchar')
}

/** One build, in a process of its own. @param {Build} of */
async function build({ checkout, name, dir }) {
  const { first, commits, entries } = CASES[name]
  const openCache = await openCacheOf(checkout)
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

/** @param {Build} of @param {number} count @returns {Promise<Cost & { wall: number }>} */
async function together(of, count) {
  const children = Array.from({ length: count }, () =>
    fork(fileURLToPath(import.meta.url), [BUILD, JSON.stringify(of)]),
  )
  await Promise.all(children.map((child) => once(child, 'message')))
  const begun = performance.now()
  const closed = Promise.all(
    children.map((child) => once(child, 'message').then(([cost]) => /** @type {Cost} */ (cost))),
  )
  for (const child of children) child.send('go')
  const costs = await closed
  const wall = performance.now() - begun
  await Promise.all(children.map((child) => child.exitCode ?? once(child, 'exit')))
  const sum = (/** @type {keyof Cost} */ name) => costs.reduce((all, cost) => all + cost[name], 0)
  const longest = Math.max(...costs.map((cost) => cost.longest))
  return { wall, cpu: sum('cpu'), bytes: sum('bytes'), longest, warnings: sum('warnings') }
}

async function compare() {
  const { options, checkouts } = readArguments({ dir: homedir(), only: '', processes: '1,2,4,8' })
  const names = /** @type {(keyof typeof CASES)[]} */ (
    Object.keys(CASES).filter((name) => name.startsWith(options.only))
  )
  printProcessor()
  for (const name of names) {
    for (const count of options.processes.split(',').map(Number)) {
      const { buildsBefore, rounds } = CASES[name]
      const found = await inTurn(checkouts, rounds, async (checkout) => {
        const of = { checkout, name, dir: mkdtempSync(join(options.dir, '.varve-bench-together-')) }
        for (let earlier = 0; earlier < buildsBefore; earlier++) await together(of, 1)
        const costs = await together(of, count)
        rmSync(of.dir, { recursive: true })
        return costs
      })
      for (const [checkout, costs] of Object.entries(found)) {
        const { wall, cpu, bytes, longest, warnings } = mediansOf(costs)
        const commit = longest > 0 ? `, longest commit ${longest.toFixed(0)} ms` : ''
        const figures = `${wall.toFixed(0)} ms, CPU ${cpu.toFixed(0)} ms, ${(bytes / 1e6).toFixed(0)} MB${commit}, ${warnings} warnings`
        console.log(`${checkout} ${name}, ${count} processes: ${figures}`)
      }
    }
  }
}
