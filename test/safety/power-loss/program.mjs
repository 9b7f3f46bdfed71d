// @ts-check
// The recorded program: runs the steps of a workload through the public API. It writes the start and the acknowledgement of
// each step to a file, so that both appear in the recording.
//
//   node program.mjs <workload> <before | steps> <engine> <cache folder> <marks file>
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { fileBytes, valueBytes } from './expected.mjs'
import { commitsOf, WORKLOADS } from './workloads.mjs'

/** @import { Cache, Namespace } from 'varve' */
/** @import { Commit, Step } from './workloads.mjs' */

const [name, part, engine, dir = '', marksPath = ''] = process.argv.slice(2)
const workload = WORKLOADS.find((one) => one.name === name)
if (workload === undefined || (part !== 'before' && part !== 'steps')) throw new Error(`no workload ${name}, or no part ${part}`)
if (engine !== 'native' && engine !== 'wasm') throw new Error(`no engine ${engine}`)

// One recording is like the other, byte for byte.
let now = 1_700_000_000_000
Date.now = () => (now += 1000)

const marks = openSync(marksPath, 'a')
const mark = (/** @type {string} */ text) => void writeSync(marks, `${text}\n`)
const numbers = commitsOf(workload).filter(({ isRecorded }) => isRecorded === (part === 'steps')).map(({ number }) => number)

/** @type {Cache | undefined} */
let cache
/** @type {Record<string, string>} */
const versions = { n: '1', outputs: '1' }
for (const step of workload.before) if (part === 'steps' && step.do === 'open') Object.assign(versions, step.versions)
for (const step of workload[part]) await run(step)
closeSync(marks)

/** @param {Step} step */
async function run(step) {
  if (step.do === 'open') {
    Object.assign(versions, step.versions)
    cache = await openCache({ name: 'recorded', dir, engine: engine === 'wasm' ? 'wasm' : 'native' })
    return
  }
  if (cache === undefined) throw new Error('a workload opens first')
  if (step.do === 'flush') await cache.flush()
  if (step.do === 'compact') await cache.compact({ full: step.isFull })
  if (step.do === 'close') await cache.close()
  if (step.do === 'read') for (const _ of space(cache, 'n').entries());
  if (step.do === 'commit') await commit(cache, step, numbers.shift() ?? -1)
  if (step.do === 'flush' || step.do === 'close') mark('durable')
}

/** @param {Cache} opened @param {string} called @returns {Namespace<Uint8Array>} */
function space(opened, called) {
  return opened.namespace(called, { version: versions[called] })
}

/** @param {Cache} opened @param {Commit} step @param {number} number */
async function commit(opened, { puts, removes, stored, isDurable }, number) {
  mark(`begin ${number}`)
  const outputs = opened.namespace('outputs', { version: versions['outputs'], codec: 'json' })
  for (const { key, files } of stored) {
    const folder = join(dir, '..', 'sources', `${number}-${key}`)
    mkdirSync(folder, { recursive: true })
    for (const [index, bytes] of files.entries()) writeFileSync(join(folder, `f${index}`), fileBytes(key, number, index, bytes))
    const manifest = await opened.files.store(folder)
    outputs.put(key, { number, manifest }, { files: manifest })
  }
  for (const put of puts) space(opened, put.space).put(put.key, valueBytes({ ...put, number }))
  for (const { space: of, key } of removes) if (of === 'outputs') outputs.delete(key); else space(opened, of).delete(key)
  await opened.commit({ durability: isDurable ? 'durable' : 'relaxed' })
  mark(`ack ${number} ${isDurable ? 'durable' : 'relaxed'}`)
}
