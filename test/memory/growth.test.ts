/** The memory of the WebAssembly module. V8 counts each growth as an allocation of all of it, and collects garbage for it. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { openCache } from 'varve'
import { expect, it } from 'vitest'
import { initSync } from '../../packages/varve/generated/varve_wasm.js'
import { makeFolder } from '../folders.ts'

/** Values that do not compress. The engine caches up to 64 MiB of the blocks that small ones share. */
const BYTES = 48 << 20
const SMALL_BYTES = 2048
const LARGE_BYTES = 8192

/** Growths at a quarter of the size each, from 2 MiB to 64 MiB, and some for what is larger than a step. */
const GROWTHS_MAX = 60

/** Reads all values of a cache with WebAssembly once; returns the bytes by which its memory grew, and how often it did. */
async function readAll(valueBytes: number): Promise<{ bytes: number; growths: number }> {
  const dir = join(makeFolder(), 'cache')
  const keys = Array.from({ length: BYTES / valueBytes }, (_, index) => `key ${index}`)
  {
    await using cache = await openCache({ name: 'memory', dir })
    for (const key of keys) cache.namespace('n').put(key, randomBytes(valueBytes))
    await cache.commit()
    await cache.compact()
  }
  await using cache = await openCache({ name: 'memory', dir, engine: 'wasm' })
  const { memory } = initSync({ module: new Uint8Array() }) // returns the instance of this thread, which exists
  const before = memory.buffer.byteLength
  const buffers = new Set<ArrayBuffer>([memory.buffer])
  for (const key of keys) {
    expect(cache.namespace('n').get(key)?.length).toBe(valueBytes)
    buffers.add(memory.buffer)
  }
  return { bytes: memory.buffer.byteLength - before, growths: buffers.size - 1 }
}

it('reading 48 MiB of large values with WebAssembly needs the memory of a few of them', async () => {
  expect((await readAll(LARGE_BYTES)).bytes).toBeLessThan(2 << 20)
})

it('reading 48 MiB of small values with WebAssembly grows its memory a few times, not once for each block', async () => {
  const { bytes, growths } = await readAll(SMALL_BYTES)
  expect(bytes).toBeGreaterThan(32 << 20)
  expect(growths).toBeLessThan(GROWTHS_MAX)
})
