// @ts-check
// A thread of `snapshots.mjs`. The first thread commits numbers; `shared[0]` is the last one acknowledged. The others
// read without `refresh`. They must find that number or a newer one, and the same number under all keys.
import { parentPort, workerData } from 'node:worker_threads'
import { openCache } from 'varve'
import { KEYS, putGroup } from './group.mjs'

/** @type {{ dir: string, shared: Int32Array, thread: number, threads: number, commits: number }} */
const { dir, shared, thread, threads, commits } = workerData
const cache = await openCache({ name: 'soak', dir, engine: 'native' })
const space = cache.namespace('n', { codec: 'text' })
const keys = Array.from({ length: KEYS }, (_, key) => `0 ${key}`)
/** @type {string[]} */
const violations = []
let seen = 0

async function write() {
  for (let number = 1; number <= commits; number++) {
    putGroup(space, 0, number, number - 1, number % 300)
    await cache.commit()
    Atomics.store(shared, 0, number)
    if (number % 50 === 0) await cache.compact({ full: number % 100 === 0 })
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

function look() {
  let last = 0
  for (let known = 0; known < commits;) {
    known = Atomics.load(shared, 0)
    const numbers = space.getMany(keys).map((value) => Number.parseInt(value ?? '0', 10))
    const [number = 0] = numbers
    if (numbers.some((other) => other !== number)) violations.push(`a mixture between threads: ${numbers.join(' ')}`)
    if (number < known) violations.push(`a thread reads ${number} where ${known} is acknowledged`)
    if (number < last) violations.push(`a thread goes back from ${last} to ${number}`)
    if (number > last) seen++
    last = number
    if (violations.length > 5) break
  }
}

// The threads start when all of them have opened the cache.
Atomics.add(shared, 1, 1)
while (Atomics.load(shared, 1) < threads) await new Promise((resolve) => setTimeout(resolve, 5))
if (thread === 0) await write()
else look()
parentPort?.postMessage({ seen, violations })
await cache.close()
