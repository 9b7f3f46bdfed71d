// @ts-check
// A process of `storms.mjs`. `terminate`: starts `count` threads that work, ends each at a random time, then exits with
// `code`. `exit`: works in this thread and in `count` others, and exits with `code` while they work.
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import { openCache } from 'varve'
import { randomOf } from '../random.mjs'
import { work } from './storm-work.mjs'

/** @type {import('./storms.mjs').Storm & { dir: string }} */
const order = JSON.parse(process.argv[2] ?? '')
const random = randomOf(order.seed)
const say = (/** @type {unknown} */ message) => void writeSync(1, `${JSON.stringify(message)}\n`)
const HANG_MS = 5000
const LANES = 3

/** @param {string} name */
function start(name) {
  const workerData = { dir: order.dir, engine: order.engine, name, seed: random(2 ** 31) }
  const worker = new Worker(new URL('storm-work.mjs', import.meta.url), { workerData })
  worker.on('error', (error) => say({ violation: `a thread failed: ${error.message}` }))
  return worker
}

async function terminate() {
  let left = order.count
  const lane = async (/** @type {number} */ number) => {
    while (left-- > 0) {
      const worker = start(`${order.seed}-${number}-${left}`)
      await once(worker, 'online')
      // Most are ended while they work, some while they begin.
      if (random(4) > 0) await once(worker, 'message')
      await new Promise((resolve) => setTimeout(resolve, random(60)))
      const startMs = performance.now()
      await worker.terminate()
      const ms = Math.round(performance.now() - startMs)
      say({ terminated: true, ms })
      if (ms > HANG_MS) say({ violation: `terminate() took ${ms} ms` })
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, index) => lane(index)))
}

async function exit() {
  for (let thread = 0; thread < order.count; thread++) start(`${order.seed}-${thread}`)
  void work({ dir: order.dir, engine: order.engine, name: `${order.seed}-main`, seed: order.seed })
  await new Promise((resolve) => setTimeout(resolve, 20 + random(150)))
}

// Threads then take the WebAssembly engine of this one: Node.js ends the process (`node_zlib.cc`, "close before init") if a
// thread is ended when it begins to decompress.
await (await openCache({ name: 'soak', dir: order.dir, engine: order.engine, maxBytes: '4GB' })).close()
await (order.kind === 'exit' ? exit() : terminate())
process.exit(order.code)
