/**
 * VarveParcelCache against Parcel's published interface, with workers. Parcel itself is not a dependency of the tests: the
 * platform packages of what it needs cannot be locked for all platforms.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Cache } from '@parcel/types-internal'
import { VarveParcelCache } from '@varve/plugins/parcel'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { adapterContract } from '../contract.ts'

const MIB = 1024 * 1024

/** Bytes that differ everywhere, so that a piece in the wrong place is seen. */
function makeBytes(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at + 4 <= size; at += 4096) bytes.writeUInt32LE(at, at)
  return bytes
}

describe('VarveParcelCache', () => {
  adapterContract(fileURLToPath(new URL('program.mjs', import.meta.url)))

  it('VarveParcelCache is a Cache of Parcel by its types; misses are what Parcel expects', async () => {
    const varve = new VarveParcelCache({ dir: makeFolder() })
    const cache: Cache = varve
    await cache.ensure()
    const found = [
      await cache.has('a'),
      await cache.get('a'),
      await cache.getBuffer('a'),
      await cache.hasLargeBlob('a'),
    ]
    expect(found).toEqual([false, null, null, false])
    const gone = { code: 'ENOENT' }
    await expect(cache.getBlob('a')).rejects.toMatchObject(gone)
    await expect(cache.getLargeBlob('a')).rejects.toMatchObject(gone)
    await expect(buffer(cache.getStream('a'))).rejects.toMatchObject(gone)
    await cache.setBlob('a', 'text')
    await cache.set('b', { c: new Set([1]) })
    expect([await cache.getBlob('a'), await cache.has('a'), await cache.has('b'), await cache.get('b')]).toEqual([
      Buffer.from('text'),
      true,
      true,
      { c: new Set([1]) },
    ])
    await cache.setLargeBlob('a', Buffer.alloc(0))
    expect([await cache.getLargeBlob('a'), await cache.getBlob('a')]).toEqual([Buffer.alloc(0), Buffer.from('text')])
    await cache.deleteLargeBlob('a')
    expect(await cache.hasLargeBlob('a')).toBe(false)
    await varve.close()
  })

  it.each(['native', 'wasm'] as const)('%s: blobs beyond the limit of a value, whole or none', async (engine) => {
    const dir = makeFolder()
    const cache = new VarveParcelCache({ dir, engine })
    const [long, short] = [makeBytes(70 * MIB), makeBytes(33 * MIB)]
    await cache.setLargeBlob('graph', long)
    expect((await cache.getLargeBlob('graph')).equals(long)).toBe(true)
    await cache.setStream('graph', Readable.from([short.subarray(0, 5), short.subarray(5)]))
    expect((await buffer(cache.getStream('graph'))).equals(short)).toBe(true)
    await cache.close()

    const raw = await openCache({ name: 'parcel', dir })
    const space = raw.namespace('parcel', { version: '1 ' })
    const keys = [...space.keys()].map(String)
    expect(keys.length).toBe(4) // the head and three pieces of the second write; none of the first
    space.delete(keys.find((key) => key.endsWith(' 1')) ?? '')
    await raw.commit()
    await raw.close()
    const again = new VarveParcelCache({ dir, engine })
    await expect(again.getLargeBlob('graph')).rejects.toMatchObject({ code: 'ENOENT' })
    await again.deleteLargeBlob('graph')
    await again.close()
  })

  it('ensure() empties a Parcel folder that is above maxBytes', async () => {
    const dir = makeFolder()
    const cache = new VarveParcelCache({ dir })
    await cache.setBlob('a', Buffer.from('x'.repeat(1000)))
    await cache.close()
    for (const [maxBytes, isThere] of [
      [MIB, true],
      [100, false],
    ] as const) {
      const next = new VarveParcelCache({ dir, maxBytes })
      await next.ensure()
      expect(await next.has('a')).toBe(isThere)
      await next.close()
    }
  })

  it('what cannot be written rejects: a graph older than Parcel believes makes wrong bundles', async () => {
    const dir = join(makeFolder(), 'file')
    writeFileSync(dir, 'not a folder')
    const cache = new VarveParcelCache({ dir, onWarning: () => undefined })
    await expect(cache.setBlob('a', 'x')).rejects.toMatchObject({ code: 'IO' })
    await expect(cache.set('a', 'x')).rejects.toMatchObject({ code: 'IO' })
    await cache.close()
  })

  it('an aborted signal writes nothing', async () => {
    const cache = new VarveParcelCache({ dir: makeFolder() })
    await expect(cache.setLargeBlob('a', 'x', { signal: AbortSignal.abort(new Error('stop')) })).rejects.toThrow('stop')
    expect(await cache.hasLargeBlob('a')).toBe(false)
    await cache.close()
  })

  it('VarveParcelCache names a wrong option', () => {
    const make = (options: object) => () => new VarveParcelCache(options)
    expect(make({ enginee: 'x' })).toThrow("new VarveParcelCache() has no option 'enginee'; did you mean 'engine'?")
    expect(make({ readOnly: true })).toThrow("has no option 'readOnly'; expected one of name, dir")
  })
})
