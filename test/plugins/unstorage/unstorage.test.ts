/** The unstorage driver: what unstorage asks of its own drivers, on both engines, and what Varve promises besides. */
import { fileURLToPath } from 'node:url'
import { varveDriver } from '@varve/plugins/unstorage'
import { createStorage, type Driver, restoreSnapshot, snapshot, type Storage } from 'unstorage'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { adapterContract } from '../contract.ts'

/** The same promises as `testDriver` of unstorage's own tests, which are not published. */
function driverContract(storage: Storage): void {
  const sortedKeys = async (...args: Parameters<Storage['getKeys']>): Promise<string[]> =>
    (await storage.getKeys(...args)).sort()

  it('the unstorage driver begins empty, and restores a snapshot', async () => {
    expect([await storage.hasItem('s1:a'), await storage.getItem('s2:a'), await storage.getKeys()]).toEqual([
      false,
      null,
      [],
    ])
    await restoreSnapshot(storage, { initial: 'works', 'a:b': '1' })
    expect(await storage.getItem('initial')).toBe('works')
    expect(await snapshot(storage, '')).toEqual({ initial: 'works', 'a:b': 1 })
  })

  it('setItem, hasItem and getItem ignore a query in the key', async () => {
    await storage.setItem('s1:a', 'test_data')
    await storage.setItem('s3:a?q=1', 'other')
    expect([await storage.hasItem('s1:a'), await storage.getItem('s1:a'), await storage.getItem('s3:a?q=2')]).toEqual([
      true,
      'test_data',
      'other',
    ])
  })

  it('getKeys lists the keys below a base, to a depth', async () => {
    const keys = ['depth0:depth1:depth2_0', 'depth0:depth1:depth2_1', 'depth0:depth1_0', 'depth0:depth1_1', 'depth0_0']
    for (const key of keys) await storage.setItem(key, 'test_data')
    expect(await sortedKeys()).toEqual(keys)
    expect(await sortedKeys('depth0')).toEqual(keys.slice(0, 4))
    expect(await sortedKeys('depth0:depth1')).toEqual(keys.slice(0, 2))
    expect(await sortedKeys(undefined, { maxDepth: 0 })).toEqual(keys.slice(4))
    expect(await sortedKeys(undefined, { maxDepth: 1 })).toEqual(keys.slice(2))
    expect(await sortedKeys(undefined, { maxDepth: 2 })).toEqual(keys)
  })

  it('the unstorage driver stores objects, primitives and toJSON, and refuses other values', async () => {
    const values = [{ json: 'works' }, true, false, 0, 7, null, { nested: [1, { a: 'b' }] }]
    for (const value of values) {
      await storage.setItem('/data/test.json', value)
      expect(await storage.getItem('/data/test.json')).toEqual(value)
    }
    await storage.setItem('/data/serialized.json', { toJSON: () => ({ serializedObj: 'works' }) })
    expect(await storage.getItem('/data/serialized.json')).toEqual({ serializedObj: 'works' })
    await expect(storage.setItem('/data/badvalue.json', new Error('no plain object'))).rejects.toThrow(
      '[unstorage] Cannot stringify value!',
    )
  })

  it('getItemRaw returns bytes, buffers and text that setItemRaw stored', async () => {
    for (const value of [new Uint8Array([1, 2, 255]), Buffer.from([1, 2, 255]), new Uint8Array([1, 2, 255]).buffer]) {
      await storage.setItemRaw('/data/raw.bin', value)
      expect(await storage.getItemRaw<unknown>('/data/raw.bin')).toEqual(Buffer.from([1, 2, 255]))
    }
    await storage.setItemRaw('text', 'as it is')
    const found = [await storage.getItemRaw('text'), await storage.getItem('text'), await storage.getItemRaw('none')]
    expect(found).toEqual(['as it is', 'as it is', null])
  })

  it('getItems returns what setItems stored', async () => {
    await storage.setItems([1, 2, 3].map((number) => ({ key: `t:${number}`, value: `data ${number}` })))
    expect(await storage.getItems(['t:1', { key: 't:3' }, 't:4'])).toEqual([
      { key: 't:1', value: 'data 1' },
      { key: 't:3', value: 'data 3' },
      { key: 't:4', value: null },
    ])
  })

  it('getMeta returns when an item was set, and what setMeta added', async () => {
    const before = Date.now()
    await storage.setItem('s1:a', 'test_data')
    await storage.setMeta('s1:a', { author: 'me' })
    const meta = await storage.getMeta('s1:a')
    expect(meta.mtime?.getTime()).toBeGreaterThanOrEqual(before)
    expect(meta['author']).toBe('me')
    expect((await storage.getMeta('none')).mtime).toBeUndefined()
  })

  it('removeItem of the unstorage driver removes one item', async () => {
    await storage.setItem('s1:a', 'test_data')
    await storage.removeItem('s1:a')
    await storage.removeItem('none')
    expect([await storage.hasItem('s1:a'), await storage.getItem('s1:a')]).toEqual([false, null])
  })

  it('clear, below a base or everything, also when empty', async () => {
    await storage.setItems(['a:1', 'a:2', 'b:1'].map((key) => ({ key, value: 'x' })))
    await storage.getMount().driver.clear?.('a:', {}) // storage.clear('a') asks only drivers mounted below it
    expect(await storage.getKeys()).toEqual(['b:1'])
    await storage.clear()
    expect(await storage.getKeys()).toEqual([])
  })
}

describe.each(['native', 'wasm'] as const)('varveDriver, %s', (engine) => {
  const driver: Driver = varveDriver({ dir: makeFolder(), engine })
  const storage = createStorage({ driver })
  afterEach(async () => storage.clear())
  afterAll(async () => storage.dispose())
  driverContract(storage)
})

describe('varveDriver', () => {
  adapterContract(fileURLToPath(new URL('program.mjs', import.meta.url)))

  it('a server of Nitro starts: it passes the name of the driver among its options', async () => {
    const storage = createStorage({ driver: varveDriver({ driver: '@varve/plugins/unstorage', dir: makeFolder() }) })
    await storage.setItem('key', 'value')
    expect(await storage.getItem('key')).toBe('value')
    await storage.dispose()
  })

  /** The memory of the process was shared with the caller. */
  it('bytes that a caller modifies change in a process without a cache', async () => {
    const storage = createStorage({
      driver: varveDriver({ dir: makeFolder(), requireSecret: true, onWarning: () => undefined }),
    })
    await storage.setItemRaw('key', Buffer.from('value'))
    const found: Buffer | null = await storage.getItemRaw('key')
    found?.fill(0)
    expect(await storage.getItemRaw('key')).toEqual(Buffer.from('value'))
    await storage.dispose()
  })

  it('varveDriver names a wrong option', () => {
    const make = (options: object) => () => varveDriver(options)
    expect(make({ dirr: 'x' })).toThrow("varveDriver() has no option 'dirr'; did you mean 'dir'?")
    expect(make({ readOnly: 1 })).toThrow("option 'readOnly' is 1; expected true or false")
  })
})
