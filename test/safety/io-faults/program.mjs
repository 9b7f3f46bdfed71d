// @ts-check
// The program that is disturbed: commits through the public API while its file calls fail, then goes on without faults.
// It talks in lines, and waits for one after each of its own: what came of a first commit; of commits while calls fail;
// of compaction while calls fail; of work without faults. It ends with the exit code it was asked for.
//
//   node program.mjs <engine> <cache folder> <exit code>
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { openCache, VarveError } from 'varve'
import { HUGE, keysOf, STORED, valueOf } from './values.mjs'

/** @typedef {{ number: number, code: string | undefined, ms: number }} Attempt `code`: of the error, undefined where it was acknowledged */

const [engine, dir = '', exitCode] = process.argv.slice(2)
process.exitCode = Number(exitCode)
process.on('SIGINT', () => {})
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const tell = (/** @type {unknown} */ what) => void process.stdout.write(`${JSON.stringify(what)}\n`)

const cache = await openCache({ name: 'disturbed', dir, engine: engine === 'wasm' ? 'wasm' : 'native', onWarning: () => {} })
const values = cache.namespace('n')
const outputs = cache.namespace('outputs', { codec: 'json' })
const sources = join(dir, '..', 'sources')
mkdirSync(sources, { recursive: true })
writeFileSync(join(sources, 'file'), valueOf('file', 0))

tell([await commit(0)])
await lines.next()
/** @type {Attempt[]} */
let attempts = []
for (let number = 1; number <= 8; number++) attempts.push(await commit(number))
tell(attempts)
await lines.next()
attempts = []
attempts.push(await attempt(8.1, () => cache.flush()), await attempt(8.2, () => cache.compact({ full: true })))
attempts.push(await commit(9))
tell(attempts)
await lines.next()
const last = [await commit(10), await attempt(10.1, () => cache.compact())]
for (const key of keysOf(10)) if (!same(values.get(key), valueOf(key, 10))) last.push({ number: 10, code: `own handle misses ${key}`, ms: 0 })
last.push(await attempt(10.2, () => cache.close()))
tell(last)
lines.return?.()
process.stdin.destroy()

/** @param {number} number @returns {Promise<Attempt>} */
function commit(number) {
  return attempt(number, async () => {
    for (const key of keysOf(number)) values.put(key, valueOf(key, number))
    if (number === HUGE) values.put('huge', valueOf('huge', number))
    // Where this fails, what was put goes with the next commit.
    if (number === STORED) outputs.put('stored', { number, manifest: await cache.files.store(sources) })
    return cache.commit({ durability: number % 2 === 0 ? 'durable' : 'relaxed' })
  })
}

/** @param {number} number @param {() => Promise<unknown>} run @returns {Promise<Attempt>} */
async function attempt(number, run) {
  const startMs = performance.now()
  let code
  try {
    const report = await run()
    // A folder that cannot be used at all: the commit says that it is nowhere but in memory.
    if (typeof report === 'object' && report !== null && 'inMemory' in report && report.inMemory === true) code = 'IN_MEMORY'
  } catch (error) {
    code = error instanceof VarveError ? error.code : `not typed: ${String(error)}`
  }
  return { number, code, ms: Math.round(performance.now() - startMs) }
}

/** @param {Uint8Array | undefined} a @param {Uint8Array} b */
function same(a, b) {
  return a !== undefined && Buffer.compare(a, b) === 0
}
