// @ts-check
// The recorded program: runs the steps of a workload through the public API. It writes the start and the acknowledgement of
// each commit to a file, so that both appear in the recording.
//
//   node program.mjs <workload> <before | steps> <engine> <cache directory> <marks file>
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { commitsOf, valueOf, WORKLOADS } from './workloads.mjs'

/** @import { Cache } from 'varve' */
/** @import { Commit, Step } from './workloads.mjs' */

const [name, part, engine, dir = '', marksPath = ''] = process.argv.slice(2)
const workload = WORKLOADS.find((one) => one.name === name)
if (workload === undefined || (part !== 'before' && part !== 'steps'))
  throw new Error(`no workload ${name}, or no part ${part}`)
if (engine !== 'native' && engine !== 'wasm') throw new Error(`no engine ${engine}`)

// A workload that is recorded twice gives the same bytes.
let now = 1_700_000_000_000
Date.now = () => (now += 1000)

const marks = openSync(marksPath, 'a')
const mark = (/** @type {string} */ text) => void writeSync(marks, `${text}\n`)
const numbers = commitsOf(workload)
  .filter(({ isRecorded }) => isRecorded === (part === 'steps'))
  .map(({ number }) => number)

/** @type {Cache | undefined} */
let cache
let version = '1'
for (const step of workload[part]) await run(step)
closeSync(marks)

/** @param {Step} step */
async function run(step) {
  if (step.do === 'open') {
    version = step.version
    cache = await openCache({ name: 'recorded', dir, engine: engine === 'wasm' ? 'wasm' : 'native' })
    return
  }
  if (cache === undefined) throw new Error('a workload opens first')
  if (step.do === 'flush') await cache.flush()
  if (step.do === 'compact') await cache.compact({ full: step.isFull })
  if (step.do === 'close') await cache.close()
  if (step.do === 'read') for (const _ of cache.namespace('n', { version }).entries());
  if (step.do === 'commit') await commit(cache, step, numbers.shift() ?? -1)
  if (step.do === 'flush' || step.do === 'close') mark('durable')
}

/** @param {Cache} opened @param {Commit} step @param {number} number */
async function commit(opened, { puts, removes, isDurable }, number) {
  mark('begin')
  const entries = opened.namespace('n', { version })
  for (const { key, bytes, isFile } of puts) {
    const value = valueOf(key, number, bytes)
    const files = isFile ? await stored(opened, `${number}-${key}`, value) : undefined
    entries.put(key, value, files === undefined ? {} : { files })
  }
  for (const key of removes) entries.delete(key)
  await opened.commit({ durability: isDurable ? 'durable' : 'relaxed' })
  mark(isDurable ? 'acknowledged durable' : 'acknowledged')
}

/** @param {Cache} opened @param {string} called @param {Uint8Array} content */
function stored(opened, called, content) {
  const folder = join(dir, '..', '..', 'sources', called)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'file'), content)
  return opened.files.store(folder)
}
