// @ts-check
// `node bench/collide.mjs [checkout]`: the cost of keys with equal hashes, which an attacker can choose, next to the same number
// of usual keys: a lookup in the memtable and in a table, a full compaction, an export, and the memory of the process. Each line
// is the median over separate processes, which take turns. With another built checkout, both are measured.
//
//   --entries <n>   keys (default 100,000)
//   --rounds <n>    processes for each line (default 3)
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Writable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { median } from './median.mjs'
import { printProcessor } from './processor.mjs'

const LOOKUPS = 20_000
const own = fileURLToPath(new URL('..', import.meta.url))

/** @typedef {'native' | 'wasm'} Engine */
/** @typedef {'usual' | 'one hash'} Keys */
/** @typedef {{ logUs: number, tableUs: number, compactMs: number, exportMs: number, peakMib: number }} Figures */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { entries: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '3' }, child: { type: 'string' } },
})
const entries = Number(values.entries)
if (values.child === undefined) compare(positionals[0] === undefined ? [own] : [resolve(positionals[0]), own])
else {
  const [checkout, engine, keys] = JSON.parse(values.child)
  console.log(JSON.stringify(await measure(checkout, engine, keys)))
}

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

/** @param {string} checkout @param {Engine} engine @param {Keys} keys @returns {Promise<Figures>} */
async function measure(checkout, engine, keys) {
  const { openCache } = await import(pathToFileURL(join(checkout, 'packages/varve/dist/bundle/index.js')).href)
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
  const status = process.platform === 'linux' ? readFileSync('/proc/self/status', 'utf8') : ''
  const peakMib = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024
  return { logUs, tableUs, compactMs, exportMs, peakMib }
}

/** @param {readonly string[]} checkouts */
function compare(checkouts) {
  printProcessor()
  /** @type {Map<string, Figures[]>} */
  const found = new Map()
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const engine of /** @type {const} */ (['native', 'wasm'])) {
      for (const keys of /** @type {const} */ (['usual', 'one hash'])) {
        for (const checkout of round % 2 === 0 ? checkouts : checkouts.toReversed()) {
          const args = [fileURLToPath(import.meta.url), '--entries', values.entries, '--child', JSON.stringify([checkout, engine, keys])]
          const name = `${checkout} ${engine}, ${keys}`
          found.set(name, [...(found.get(name) ?? []), JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))])
        }
      }
    }
  }
  for (const [name, all] of found) {
    const of = (/** @type {keyof Figures} */ field) => median(all.map((one) => one[field])).toFixed(1)
    const lookups = `get ${of('logUs')} us before, ${of('tableUs')} us after compaction`
    console.log(`${name}: ${lookups}, compaction ${of('compactMs')} ms, export ${of('exportMs')} ms, peak memory ${of('peakMib')} MiB`)
  }
}
