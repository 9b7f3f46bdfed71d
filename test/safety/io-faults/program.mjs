// @ts-check
// The disturbed program: commits through the public API while its file calls fail, then continues without faults. It prints
// one line for each step and then waits for a line: a first commit; commits while calls fail; compaction while calls fail;
// work without faults. It ends with the exit code of its command line.
//
//   node program.mjs <engine> <cache folder> <exit code>
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { openCache, VarveError } from 'varve'
import { HUGE, keysOf, STORED, valueOf } from './values.mjs'

/** @typedef {{ number: number, code: string | undefined, ms: number }} Attempt `code`: of the error; undefined if the commit was acknowledged */

const [engine, dir = '', exitCode] = process.argv.slice(2)
process.exitCode = Number(exitCode)
process.on('SIGINT', () => {})
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const print = (/** @type {unknown} */ what) => void process.stdout.write(`${JSON.stringify(what)}\n`)

const cache = await openCache({
  name: 'disturbed',
  dir,
  engine: engine === 'wasm' ? 'wasm' : 'native',
  onWarning: () => {},
})
const values = cache.namespace('n')
const outputs = cache.namespace('outputs', { codec: 'json' })
const sources = join(dir, '..', 'sources')
mkdirSync(sources, { recursive: true })
writeFileSync(join(sources, 'file'), valueOf('file', 0))

print([await commit(0)])
await lines.next()
/** @type {Attempt[]} */
let attempts = []
for (let number = 1; number <= 8; number++) attempts.push(await commit(number))
print(attempts)
await lines.next()
attempts = []
attempts.push(await attempt(8.1, () => cache.flush()), await attempt(8.2, () => cache.compact({ full: true })))
attempts.push(await commit(9))
print(attempts)
await lines.next()
const last = [await commit(10), await attempt(10.1, () => cache.compact())]
for (const key of keysOf(10))
  if (!same(values.get(key), valueOf(key, 10))) last.push({ number: 10, code: `own handle misses ${key}`, ms: 0 })
last.push(await attempt(10.2, () => cache.close()))
print(last)
lines.return?.()
process.stdin.destroy()

/** @param {number} number @returns {Promise<Attempt>} */
function commit(number) {
  return attempt(number, async () => {
    for (const key of keysOf(number)) values.put(key, valueOf(key, number))
    if (number === HUGE) values.put('huge', valueOf('huge', number))
    // If this fails, the next commit writes what was put.
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
    // The directory cannot be used at all, so the commit reports that it is in memory only.
    if (typeof report === 'object' && report !== null && 'inMemory' in report && report.inMemory === true)
      code = 'IN_MEMORY'
  } catch (error) {
    code = error instanceof VarveError ? error.code : `not typed: ${String(error)}`
  }
  return { number, code, ms: Math.round(performance.now() - startMs) }
}

/** @param {Uint8Array | undefined} a @param {Uint8Array} b */
function same(a, b) {
  return a !== undefined && Buffer.compare(a, b) === 0
}
