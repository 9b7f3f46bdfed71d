// @ts-check
// One of the reading threads of a process: reads and refreshes until `shared[0]` is set, then reports what it found.
import { parentPort, workerData } from 'node:worker_threads'
import { openCache } from 'varve'
import { Watcher } from './group.mjs'

/** @type {{ dir: string, engine: 'native' | 'wasm', slots: number, shared: Int32Array, thread: number }} */
const { dir, engine, slots, shared, thread } = workerData
const cache = await openCache({
  name: 'soak',
  dir,
  engine,
  onWarning: ({ message }) => parentPort?.postMessage({ warning: message }),
})
const space = cache.namespace('n', { codec: 'text' })
const watcher = new Watcher(slots, 16)
let refreshes = 0
parentPort?.postMessage({ ready: true })
for (let round = 0; Atomics.load(shared, 0) === 0; round++) {
  if (round % 8 === 0) {
    cache.refresh()
    refreshes++
  }
  // Threads of one native engine share its state: another one may have refreshed it.
  watcher.check(space, false)
  Atomics.store(shared, 1 + thread, watcher.reads)
  for (const violation of watcher.violations.splice(0)) parentPort?.postMessage({ violation })
  if (round % 16 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
}
parentPort?.postMessage({ reads: watcher.reads, news: watcher.news, refreshes })
await cache.close()
