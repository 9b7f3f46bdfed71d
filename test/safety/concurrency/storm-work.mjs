// @ts-check
// Endless work, in a worker or in the main thread: commits of all sizes, reads and compactions at the same time. Writes the
// acknowledged commits to stdout directly, because another thread could end before it forwards them.
import { writeSync } from 'node:fs'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { openCache } from 'varve'
import { randomOf } from '../random.mjs'

const SIZES = [10, 10, 1000, 20_000, 300_000, 1_200_000]

/** @param {{ dir: string, engine: 'native' | 'wasm', name: string, seed: number }} order */
export async function work({ dir, engine, name, seed }) {
  const random = randomOf(seed)
  const cache = await openCache({ name: 'soak', dir, engine, maxBytes: '4GB' })
  const space = cache.namespace('n', { codec: 'text' })
  parentPort?.postMessage('it works')
  for (let number = 0; ; number++) {
    const key = `${name}-${number}`
    space.put(key, `${key} ${'x'.repeat(SIZES[random(SIZES.length)] ?? 0)}`)
    if (random(20) === 0) cache.compact({ full: random(2) === 0 }).catch(ignoreBusy)
    if (random(10) === 0) cache.flush().catch(ignoreBusy)
    await cache.commit({ durability: random(8) === 0 ? 'durable' : 'relaxed' })
    writeSync(1, `${JSON.stringify({ done: key })}\n`)
    const own = await space.getManyAsync([key, `${name}-0`])
    if (own.some((value) => value === undefined))
      writeSync(1, `${JSON.stringify({ violation: `${key} does not read its own commits` })}\n`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Losing every race is an answer, too. @param {unknown} error */
function ignoreBusy(error) {
  if (!(error instanceof Error && 'code' in error && error.code === 'BUSY')) throw error
}

// Not awaited: V8 ends the process (`ExecuteAsyncModule`) if a thread is terminated just when it begins a module that awaits.
if (!isMainThread) void work(workerData)
