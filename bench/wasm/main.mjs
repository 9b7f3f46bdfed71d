// @ts-check
// `node bench/wasm/main.mjs`: the WebAssembly engine next to the native one, with the two most expensive workloads of the engine,
// through the public API. CPU time adds up all threads of the native engine. --quick: fewer rounds.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openCache } from 'varve'
import { at } from '../../scripts/common/root.mjs'
import { randomOf } from '../../test/safety/random.mjs'
import { cpuMs, printProcessor } from '../processor.mjs'
import { inTurn, mediansOf } from '../turns.mjs'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    rounds: { type: 'string' },
    only: { type: 'string', multiple: true },
    fill: { type: 'string' },
  },
})
const WRITTEN = 873_813
const COMPACTED = 4 << 20
const COMMITS = 8

/** @typedef {'native' | 'wasm'} Engine */
/** @typedef {{ wall: number, cpu: number }} Sample milliseconds */

/** Keys of 8 and values of 4 random bytes, in turn. @param {number} count */
function entriesOf(count) {
  const random = randomOf(42)
  return Uint32Array.from({ length: count * 3 }, () => random(2 ** 32))
}

/** @param {string} dir @param {Engine} engine */
const open = (dir, engine) => openCache({ name: 'bench', dir, engine, durability: 'durable', maxBytes: 64 * 2 ** 30 })

/**
 * @param {import('varve').Cache} cache
 * @param {Uint32Array} numbers
 */
function putAll(cache, numbers) {
  const entries = cache.namespace('entries')
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
  for (let start = 0; start < bytes.length; start += 12) {
    entries.put(bytes.subarray(start, start + 8), bytes.subarray(start + 8, start + 12))
  }
}

/** @param {() => Promise<unknown>} work @returns {Promise<Sample>} */
async function timed(work) {
  const start = process.hrtime.bigint()
  const before = process.cpuUsage()
  await work()
  return { wall: Number(process.hrtime.bigint() - start) / 1e6, cpu: cpuMs(before) }
}

/** @param {Engine} engine @param {string} dir @param {Uint32Array} numbers */
function write(engine, dir, numbers) {
  return timed(async () => {
    const cache = await open(dir, engine)
    putAll(cache, numbers)
    await cache.commit()
    await cache.close()
  })
}

/**
 * Fills a directory with a table for each commit. Closing would merge the tables, so the process ends without closing. Its log
 * has no lock, so either engine may claim it.
 * @param {string} dir
 */
async function fill(dir) {
  const cache = await open(dir, 'wasm')
  const numbers = entriesOf(COMPACTED)
  const part = numbers.length / COMMITS
  for (let commit = 0; commit < COMMITS; commit++) {
    putAll(cache, numbers.subarray(commit * part, (commit + 1) * part))
    await cache.commit()
  }
  process.exit(0)
}

/** @param {Engine} engine @param {string} dir */
async function compaction(engine, dir) {
  const cache = await open(dir, engine)
  const sample = await timed(() => cache.compact({ full: true }))
  await cache.close()
  return sample
}

/**
 * @param {string} id
 * @param {number} rounds
 * @param {(engine: Engine, dir: string) => Promise<Sample>} run
 * @param {string} folder
 */
async function paired(id, rounds, run, folder) {
  if (options.only !== undefined && !options.only.some((prefix) => id.startsWith(prefix))) return
  const samples = await inTurn(
    /** @type {const} */ ({ native: 'native', wasm: 'wasm' }),
    rounds,
    async (engine, round) => {
      process.stderr.write(`${id} ${round + 1}/${rounds}, ${engine}\n`)
      const dir = mkdtempSync(join(folder, `${engine}-`))
      const sample = await run(engine, dir)
      rmSync(dir, { recursive: true, force: true })
      return sample
    },
  )
  for (const [engine, all] of Object.entries(samples)) {
    console.log(JSON.stringify({ id, name: `varve-${engine}`, engine, unit: 'ms', ...mediansOf(all), rounds }))
  }
}

if (options.fill === undefined) {
  printProcessor()
  mkdirSync(at('target'), { recursive: true })
  const folder = mkdtempSync(join(at('target'), 'bench-wasm-'))
  const rounds = Number(options.rounds ?? (options.quick === true ? 3 : 7))
  const numbers = entriesOf(WRITTEN)
  await paired('wasm/write/key_8/value_4/entries_853Ki', rounds, (engine, dir) => write(engine, dir, numbers), folder)
  const filled = join(folder, 'filled')
  execFileSync(process.execPath, [import.meta.filename, '--fill', filled])
  const id = 'wasm/compaction/key_8/value_4/entries_4Mi/commits_8/full'
  await paired(id, rounds, (engine, dir) => (cpSync(filled, dir, { recursive: true }), compaction(engine, dir)), folder)
  rmSync(folder, { recursive: true, force: true })
} else {
  await fill(options.fill)
}
