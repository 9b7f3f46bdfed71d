/** The memory of the WebAssembly module. V8 counts each growth as an allocation of all of it, and collects garbage for it. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { openCache } from 'varve'
import { expect, it } from 'vitest'
import { initSync } from '../../packages/varve/generated/varve_wasm.js'
import { makeFolder } from '../folders.ts'

/** Values that do not compress, of which the engine holds up to 64 MiB. */
const VALUES = 6000
const VALUE_BYTES = 8192

/** Growths at a quarter of the size each, from 2 MiB to 64 MiB, and some for what is larger than a step. */
const GROWTHS_MAX = 60

it('reading 48 MiB of values with WebAssembly grows its memory a few times, not once for each block', async () => {
  const dir = join(makeFolder(), 'cache')
  const open = () => openCache({ name: 'memory', dir, engine: 'wasm' })
  {
    await using cache = await openCache({ name: 'memory', dir })
    for (let index = 0; index < VALUES; index++) cache.namespace('n').put(`key ${index}`, randomBytes(VALUE_BYTES))
    await cache.commit()
    await cache.compact()
  }
  await using cache = await open()
  const { memory } = initSync({ module: new Uint8Array() }) // returns the instance of this thread, which exists
  const buffers = new Set<ArrayBuffer>()
  for (let index = 0; index < VALUES; index++) {
    expect(cache.namespace('n').get(`key ${index}`)?.length).toBe(VALUE_BYTES)
    buffers.add(memory.buffer)
  }
  expect(memory.buffer.byteLength).toBeGreaterThan(32 << 20)
  expect(buffers.size).toBeLessThan(GROWTHS_MAX)
})
