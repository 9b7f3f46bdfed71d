// @ts-check
// How long a full compaction blocks the event loop of its process: `node bench/stall.mjs`.
//
//   --engine native|wasm   only this engine
//   --mib <n>              bytes of values, in MiB (default 1024)
//   --rounds <n>           compactions (default 3)
//
// The process commits in batches of 16 MiB, overwrites a tenth of the entries, and compacts everything while a lookup runs in
// every turn of the loop. `stall` is the longest time between two turns in which the loop was not idle, and `get` the longest
// lookup. Both are in milliseconds and, on Linux, without the time that the thread waited for a free core. `CPU` is the most CPU
// time that the thread used between two turns. This part of a stall is its own work, independent of other load on the machine and
// its disk. `monitorEventLoopDelay` counts all, also a loop that the system wakes late.
// With TMPDIR in memory, `stall` is what Varve causes; on a disk, it includes waits for the disk.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { readArguments, runBench, sampleOf } from './turns.mjs'

const VALUE_BYTES = 16 * 1024
const BATCH_ENTRIES = 1024

/** Milliseconds that the JavaScript thread has run and has waited for a core, so far. */
function scheduledMs() {
  if (process.platform !== 'linux') return { cpu: 0, waited: 0 }
  const [ran, waited] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')
  return { cpu: Number(ran) / 1e6, waited: Number(waited) / 1e6 }
}

/** The time available to this thread, that in which its loop was not idle, and its CPU time, in milliseconds. */
function now() {
  const { cpu, waited } = scheduledMs()
  return { time: performance.now() - waited, active: performance.eventLoopUtilization().active, cpu }
}

/** @typedef {{ stall: number, cpu: number, get: number, monitor: number, seconds: number, turns: number }} Round */
/** @typedef {{ engine: 'native' | 'wasm', mib: number, rounds: number }} Order */

await runBench(measure, compare)

/** @param {Order} order @returns {Promise<Round[]>} */
async function measure({ engine, mib, rounds }) {
  const { openCache } = await import('varve')
  const dir = mkdtempSync(join(tmpdir(), 'varve-stall-'))
  const count = (mib * 1024 * 1024) / VALUE_BYTES
  const cache = await openCache({ name: 'stall', dir, engine, maxBytes: '16GiB' })
  const values = cache.namespace('values')
  /** @param {number} at @param {number} salt */
  const put = (at, salt) => {
    const value = new Uint32Array(VALUE_BYTES / 4)
    for (let word = 0; word < value.length; word++)
      value[word] = Math.imul(at + salt * 7919 + word * 2654435761, 2246822519)
    values.put(`key ${at}`, new Uint8Array(value.buffer))
  }
  try {
    for (let at = 0; at < count; at++) {
      put(at, 0)
      if (at % BATCH_ENTRIES === BATCH_ENTRIES - 1) await cache.commit()
    }
    // The first lookups build the index over many tables, so that no lookup during the compaction has to.
    for (let at = 0; at < count; at += 7) values.get(`key ${at}`)
    /** @type {Round[]} */
    const found = []
    for (let round = 1; round <= rounds; round++) {
      for (let at = 0; at < count; at += 10) put(at, round)
      await cache.commit()
      found.push(await compacted(cache, values, count))
    }
    await cache.close()
    return found
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** @param {import('varve').Cache} cache @param {import('varve').Namespace<Uint8Array>} values @param {number} count @returns {Promise<Round>} */
async function compacted(cache, values, count) {
  const work = { isDone: false }
  let [turns, stall, cpu, get] = [0, 0, 0, 0]
  const loop = (async () => {
    let before = now()
    for (let at = 0; !work.isDone; at = (at + 7919) % count) {
      const begun = now()
      if (values.get(`key ${at}`) === undefined) throw new Error(`key ${at} is missing`)
      get = Math.max(get, now().time - begun.time)
      await new Promise((resolve) => setTimeout(resolve, 1))
      const after = now()
      stall = Math.max(stall, Math.min(after.time - before.time, after.active - before.active))
      cpu = Math.max(cpu, after.cpu - before.cpu)
      before = after
      turns++
    }
  })()
  const monitor = monitorEventLoopDelay({ resolution: 1 })
  monitor.enable()
  const begun = performance.now()
  await cache.compact({ full: true })
  const seconds = (performance.now() - begun) / 1000
  // Work that the compaction leaves to the event loop counts, too.
  await new Promise((resolve) => setTimeout(resolve, 100))
  work.isDone = true
  await loop
  monitor.disable()
  return { stall, cpu, get, monitor: monitor.max / 1e6, seconds, turns }
}

async function compare() {
  const { options } = readArguments({ engine: '', mib: 1024, rounds: 3 })
  for (const engine of options.engine === '' ? ['native', 'wasm'] : [options.engine]) {
    /** @type {Round[]} */
    const found = sampleOf({ ...options, engine })
    for (const { stall, cpu, get, monitor, seconds, turns } of found) {
      const [stalled, used, longest, seen] = [stall, cpu, get, monitor].map((value) => `${value.toFixed(1)} ms`)
      const how = `${seconds.toFixed(1)} s, ${turns} turns, monitorEventLoopDelay ${seen}`
      console.log(`${engine}: stall ${stalled}, CPU ${used}, get ${longest} (${how})`)
    }
  }
}
