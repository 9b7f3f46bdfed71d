// @ts-check
// `node bench/collide.mjs [checkout]`: the cost of keys with equal hashes, which an attacker can choose, next to the same number
// of usual keys: a lookup in the memtable and in a table, a full compaction, an export, and the memory of the process. Each line
// is the median over separate processes, which take turns. With another built checkout, both are measured.
//
//   --entries <n>   keys (default 100,000)
//   --rounds <n>    processes for each line (default 3)
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Writable } from 'node:stream'
import { readNumber } from './proc.mjs'
import { inTurn, mediansOf, openCacheOf, readArguments, runBench, sampleOf } from './turns.mjs'

const LOOKUPS = 20_000

/** @typedef {'native' | 'wasm'} Engine */
/** @typedef {'usual' | 'one hash'} Keys */
/** @typedef {{ logUs: number, tableUs: number, compactMs: number, exportMs: number, peakMib: number }} Figures */
/** @typedef {{ checkout: string, engine: Engine, keys: Keys, entries: number }} Order */

await runBench(measure, compare)

/**
 * A key of 32 bytes. If its first eight bytes make a factor of xxh3 zero, the next eight do not matter, and all 64 bits of the
 * hash are equal.
 *
 * @param {Keys} keys @param {number} number
 */
function key(keys, number) {
  const bytes = Buffer.alloc(32, 7)
  bytes.writeBigUInt64LE(keys === 'one hash' ? 0xbe4ba423396cfeb8n : 0n)
  bytes.writeBigUInt64LE(BigInt(number), 8)
  return bytes
}

/** @param {Order} order @returns {Promise<Figures>} */
async function measure({ checkout, engine, keys, entries }) {
  const openCache = await openCacheOf(checkout)
  const dir = mkdtempSync(join(tmpdir(), 'varve-collide-'))
  const cache = await openCache({ name: 'bench', dir, engine })
  const namespace = cache.namespace('n')
  const value = Buffer.alloc(100, 7)
  for (let number = 0; number < entries; number++) {
    namespace.put(key(keys, number), value)
    // A commit of more than 1 MiB would become a table.
    if (number % 1_000 === 999) await cache.commit()
  }
  await cache.commit()
  const lookUs = () => {
    const asked = Array.from({ length: LOOKUPS }, (_, index) => key(keys, (index * 7919) % entries))
    const begun = performance.now()
    for (const one of asked) if (namespace.get(one) === undefined) throw new Error('an entry is missing')
    return ((performance.now() - begun) * 1000) / LOOKUPS
  }
  const timeMs = async (/** @type {() => Promise<unknown>} */ work) => {
    const begun = performance.now()
    await work()
    return performance.now() - begun
  }
  const logUs = lookUs()
  const compactMs = await timeMs(() => cache.compact({ full: true }))
  const tableUs = lookUs()
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const exportMs = await timeMs(() => cache.exportJson(nowhere))
  await cache.close()
  rmSync(dir, { recursive: true })
  const peakMib = process.platform === 'linux' ? readNumber('/proc/self/status', 'VmHWM') / 1024 : Number.NaN
  return { logUs, tableUs, compactMs, exportMs, peakMib }
}

async function compare() {
  const { options, checkouts } = readArguments({ entries: 100_000, rounds: 3 })
  const orders = Object.entries(checkouts).flatMap(([name, checkout]) =>
    ['native', 'wasm'].flatMap((engine) =>
      ['usual', 'one hash'].map((keys) => [
        `${name} ${engine}, ${keys}`,
        { checkout, engine, keys, entries: options.entries },
      ]),
    ),
  )
  const found = await inTurn(
    Object.fromEntries(orders),
    options.rounds,
    (order) => /** @type {Figures} */ (sampleOf(order)),
  )
  for (const [name, figures] of Object.entries(found)) {
    const { logUs, tableUs, compactMs, exportMs, peakMib } = mediansOf(figures)
    const lookups = `get ${logUs.toFixed(1)} us before, ${tableUs.toFixed(1)} us after compaction`
    const others = `compaction ${compactMs.toFixed(1)} ms, export ${exportMs.toFixed(1)} ms, peak memory ${peakMib.toFixed(1)} MiB`
    console.log(`${name}: ${lookups}, ${others}`)
  }
}
