/** WebAssembly compacts a larger cache in a worker. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { type Cache, openCache } from 'varve'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

const VALUES = Array.from({ length: 200 }, () => randomBytes(100_000))

async function filled(): Promise<Cache> {
  const cache = await openCache({ name: 'elsewhere', dir: join(makeFolder(), 'cache'), engine: 'wasm' })
  const namespace = cache.namespace('n')
  for (const [index, value] of VALUES.entries()) {
    namespace.put(`key ${index}`, value)
    if (index % 40 === 39) await cache.commit()
  }
  return cache
}

function isWhole(cache: Cache): boolean {
  const namespace = cache.namespace('n')
  return VALUES.every((value, index) => value.equals(namespace.get(`key ${index}`) ?? Buffer.alloc(0)))
}

/** Each message took the lock of its port, for which the main thread waited up to 109 ms on a busy machine. */
it('a compaction in a worker reports progress and sends one message', async () => {
  const cache = await filled()
  const messages: unknown[] = []
  process.once('worker', (worker: Worker) => void worker.on('message', (message) => messages.push(message)))
  const progress: (readonly [number, number])[] = []
  const report = await cache.compact({ full: true, onProgress: (done, total) => progress.push([done, total]) })
  expect(messages).toEqual([{ report, damage: [] }])
  expect(progress.length).toBeGreaterThan(0)
  expect(progress.every(([done, total], index) => done >= (progress[index - 1]?.[0] ?? 0) && done <= total)).toBe(true)
  expect(isWhole(cache)).toBe(true)
  await cache.close()
})

it('a compaction in a worker stops on a signal and loses nothing', async () => {
  const cache = await filled()
  const stop = new AbortController()
  process.once('worker', (worker: Worker) => void worker.once('online', () => stop.abort()))
  await expect(cache.compact({ full: true, signal: stop.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
  expect(isWhole(cache)).toBe(true)
  expect(await cache.compact({ full: true })).toMatchObject({ changed: true })
  expect(isWhole(cache)).toBe(true)
  await cache.close()
})
