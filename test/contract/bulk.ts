/** Calls for many entries, and for values that are computed on a miss. */
import { type Cache, VarveError } from 'varve'
import { describe, expect, it } from 'vitest'
import type { Subject } from './subject.ts'

const texts = (cache: Cache, name = 'n') => cache.namespace(name, { version: '1', codec: 'text' })

/** A cache with 1,000 committed entries in `n` and one in `other`. */
async function filled({ open, newDir }: Subject): Promise<{ readonly cache: Cache; readonly dir: string }> {
  const dir = newDir()
  const cache = await open(dir)
  texts(cache).putMany(Array.from({ length: 1000 }, (_, index) => [`key ${index}`, `value ${index}`] as const))
  texts(cache, 'other').put('key', 'value')
  await cache.commit()
  return { cache, dir }
}

/** Adds the tests. */
export function bulkContract(subject: Subject): void {
  const { open, newDir } = subject

  describe('putMany', () => {
    it('putMany buffers the pairs of an array, a Map and another namespace, and one commit writes them', async () => {
      const { cache, dir } = await filled(subject)
      const copy = texts(cache, 'copy')
      copy.putMany(
        new Map([
          ['a', 'one'],
          ['key 3', 'overwritten'],
        ]),
      )
      copy.putMany(texts(cache).entries())
      expect((await cache.commit()).entries).toBe(1002)
      await cache.close()
      const again = await open(dir)
      expect([texts(again, 'copy').count(), texts(again, 'copy').get('a'), texts(again, 'copy').get('key 3')]).toEqual([
        1001,
        'one',
        'value 3',
      ])
      await again.close()
    })

    it('putMany throws for a refused entry and keeps the entries before it', async () => {
      const cache = await open(newDir())
      const wrong: unknown = [
        ['a', 'one'],
        ['b', 2],
        ['c', 'three'],
      ]
      const { putMany } = texts(cache)
      expect(() => Reflect.apply(putMany, texts(cache), [wrong])).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      )
      expect([...texts(cache).entries()]).toEqual([['a', 'one']])
      await cache.close()
    })
  })

  describe('clear and count', () => {
    it('clear removes committed and buffered entries of its namespace in the next commit, which writes new ones too', async () => {
      const { cache, dir } = await filled(subject)
      const namespace = texts(cache)
      namespace.put('buffered', 'value')
      namespace.put(new Uint8Array([0xff, 0xfe]), 'a key of bytes')
      expect(namespace.count()).toBe(1002)
      namespace.clear()
      expect([namespace.count(), namespace.get('key 1'), namespace.has('buffered')]).toEqual([0, undefined, false])
      const reader = await open(dir, { version: '' })
      expect(texts(reader).count()).toBe(1000)
      namespace.put('new', 'value')
      await cache.commit()
      reader.refresh()
      expect([...texts(reader).entries()]).toEqual([['new', 'value']])
      expect(texts(reader, 'other').get('key')).toBe('value')
      await reader.close()
      await cache.compact({ full: true })
      expect((await cache.stats()).namespaces.map(({ name, entries }) => [name, entries])).toEqual([
        ['n', 1],
        ['other', 1],
      ])
      await cache.close()
    })

    it('a read-only cache clears what it reads, and its commit is refused', async () => {
      const { cache, dir } = await filled(subject)
      await cache.close()
      const reader = await open(dir, { readOnly: true })
      texts(reader).clear()
      expect(texts(reader).count()).toBe(0)
      await expect(reader.commit()).rejects.toThrow(expect.objectContaining({ code: 'READ_ONLY' }))
      await reader.close()
      const again = await open(dir)
      expect(texts(again).count()).toBe(1000)
      await again.close()
    })
  })

  getOrPutContract(subject)
  stateContract(subject)
}

function getOrPutContract({ open, newDir }: Subject): void {
  describe('getOrPut', () => {
    it('getOrPut computes a missing value once for all calls with the same key, and buffers it', async () => {
      const dir = newDir()
      const cache = await open(dir)
      const [namespace, calls] = [texts(cache), new Array<string>()]
      const compute = async (): Promise<string> => {
        calls.push('computed')
        await new Promise((resolve) => setTimeout(resolve, 20))
        return 'value'
      }
      const keys = ['key', 'key', new TextEncoder().encode('key'), 'key']
      expect(await Promise.all(keys.map((key) => namespace.getOrPut(key, compute)))).toEqual(Array(4).fill('value'))
      expect([calls.length, namespace.get('key'), cache.status().pending.entries]).toEqual([1, 'value', 1])
      await cache.commit()
      await cache.close()
      const again = await open(dir)
      const found = [await texts(again).getOrPut('key', compute), await texts(again).getOrPut('b', () => 'sync')]
      expect([...found, calls.length]).toEqual(['value', 'sync', 1])
      await again.close()
    })

    it('getOrPut rejects with the error of compute or for a wrong value, buffers nothing, and computes again', async () => {
      const cache = await open(newDir())
      const namespace = texts(cache)
      const failure = new Error('no compiler')
      await expect(namespace.getOrPut('key', () => Promise.reject(failure))).rejects.toBe(failure)
      const wrong = { code: 'INVALID_ARGUMENT' }
      await expect(Reflect.apply(namespace.getOrPut, namespace, ['key', () => 1])).rejects.toThrow(
        expect.objectContaining(wrong),
      )
      await expect(Reflect.apply(namespace.getOrPut, namespace, ['key', 'value'])).rejects.toThrow(
        expect.objectContaining(wrong),
      )
      expect([namespace.has('key'), await namespace.getOrPut('key', () => 'value')]).toEqual([false, 'value'])
      await cache.close()
    })

    it('getOrPut rejects with TASK_CYCLE if its compute waits for the same key', async () => {
      const cache = await open(newDir())
      const namespace = texts(cache)
      const inner = (): Promise<string> => namespace.getOrPut('key', () => 'never')
      await expect(namespace.getOrPut('key', inner)).rejects.toThrow(expect.objectContaining({ code: 'TASK_CYCLE' }))
      await cache.close()
    })
  })
}

function stateContract({ open, newDir }: Subject): void {
  describe('state', () => {
    it('closed is true as soon as close is called', async () => {
      const cache = await open(newDir())
      expect(cache.closed).toBe(false)
      const closing = cache.close()
      expect(cache.closed).toBe(true)
      await closing
      expect(cache.closed).toBe(true)
      await expect(cache.commit()).rejects.toThrow(VarveError)
    })

    it('version of a namespace is what the caller gave, stats has it with the version of the cache and the codec', async () => {
      const cache = await open(newDir(), { version: '2.0' })
      const [given, none] = [cache.namespace('a', { version: '3/x y', codec: 'json' }), cache.namespace('b')]
      expect([given.version, none.version]).toEqual(['3/x y', ''])
      given.put('key', 1)
      await cache.commit()
      expect((await cache.stats()).namespaces[0]?.version).toBe('2.0/3%2Fx%20y json')
      await cache.close()
    })

    it('stats counts the blobs that entries name', async () => {
      const cache = await open(newDir())
      const value = crypto.getRandomValues(new Uint8Array(65_536))
      const large = new Uint8Array(3 << 20).map((_, index) => (value[index % 65_536] ?? 0) ^ (index >> 16))
      cache.namespace('n').put('large', large)
      cache.namespace('n').put('small', value.subarray(0, 10))
      await cache.commit()
      const { blobs, blobBytes, bytes } = await cache.stats()
      expect([blobs, blobBytes <= large.length + 64, blobBytes > 1 << 20, bytes > blobBytes]).toEqual([
        1,
        true,
        true,
        true,
      ])
      cache.namespace('n').delete('large')
      await cache.commit()
      await cache.compact({ full: true })
      expect(await cache.stats()).toMatchObject({ blobs: 0, blobBytes: 0 })
      await cache.close()
    })
  })
}
