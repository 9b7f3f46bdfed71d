/** Entries, compaction, statistics, verification and the end of a cache. */
import { type Cache, VarveError } from 'varve'
import { describe, expect, it } from 'vitest'
import { inMemory } from '../engines.ts'
import type { Subject } from './subject.ts'

/** Puts `count` entries of `bytes` each, in several commits, overwriting and deleting some; returns what must be there. */
async function fill(cache: Cache, count: number, bytes: number): Promise<Map<string, string>> {
  const expected = new Map<string, string>()
  const namespace = cache.namespace('filled', { codec: 'text' })
  for (let i = 0; i < count; i++) {
    const key = `key ${i % Math.ceil(count * 0.8)}`
    const value = `${i} `.repeat(bytes).slice(0, bytes)
    namespace.put(key, value)
    expected.set(key, value)
    if (i % 7 === 0) {
      namespace.delete(key)
      expected.delete(key)
    }
    if (i % Math.ceil(count / 5) === 0) await cache.commit()
  }
  await cache.commit()
  return expected
}

function contentOf(cache: Cache): Map<unknown, string> {
  return new Map(cache.namespace('filled', { codec: 'text' }).entries())
}

export function upkeepContract({ newDir, open }: Subject): void {
  describe('entries', () => {
    it('entries() returns each entry once, over many pages, including buffered ones', async () => {
      const dir = newDir()
      const cache = await open(dir)
      const expected = await fill(cache, 500, 20_000)
      const namespace = cache.namespace('filled', { codec: 'text' })
      const [deleted] = expected.keys()
      namespace.put('buffered', 'value')
      namespace.delete(deleted ?? '')
      expected.set('buffered', 'value')
      expected.delete(deleted ?? '')
      const listed = [...namespace.entries()]
      expect(listed).toHaveLength(expected.size)
      expect(new Map(listed)).toEqual(expected)
      expect(new Set(namespace.keys())).toEqual(new Set(expected.keys()))
      await cache.close()
    })

    it('entries() reads while the loop runs; the loop may stop early or write', async () => {
      const cache = await open(newDir())
      await fill(cache, 300, 20_000)
      const namespace = cache.namespace('filled', { codec: 'text' })
      let count = 0
      for (const [key] of namespace.entries()) {
        namespace.put(key, 'changed')
        if (++count === 10) break
      }
      expect([...namespace.entries()].filter(([, value]) => value === 'changed')).toHaveLength(10)
      expect([...cache.namespace('empty').entries()]).toEqual([])
      await cache.close()
    })

    it('entries() returns binary keys unchanged', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('binary', { codec: 'json' })
      const keys = [new Uint8Array([0xc3]), new Uint8Array([0xff, 0, 1]), new Uint8Array([0xff]), 'text', '\ud800']
      keys.forEach((key, index) => namespace.put(key, index))
      await cache.commit()
      const found = [...namespace.entries()].sort((a, b) => Number(a[1]) - Number(b[1]))
      expect(found).toEqual(keys.map((key, index) => [key, index]))
      await cache.close()
    })
  })

  describe('compact', () => {
    it('compact keeps the content and reports numbers and progress, for all handles', async () => {
      const dir = newDir()
      const cache = await open(dir)
      const other = await open(dir)
      const expected = await fill(cache, 1000, 5000)
      const progress: [number, number][] = []
      const report = await cache.compact({ full: true, onProgress: (done, total) => progress.push([done, total]) })
      const { foreignFiles, ...numbers } = report
      expect(foreignFiles).toEqual([])
      expect(Object.values(numbers).every((value) => typeof value === 'boolean' || Number.isSafeInteger(value))).toBe(
        true,
      )
      expect(report.bytesAfter).toBeLessThanOrEqual(report.bytesBefore)
      expect(progress.length).toBeGreaterThan(0)
      expect(progress.every(([done, total]) => done >= 0 && done <= total)).toBe(true)
      expect(contentOf(cache)).toEqual(expected)
      other.refresh()
      expect(contentOf(other)).toEqual(expected)
      await Promise.all([cache.close(), other.close()])
      const again = await open(dir)
      expect(contentOf(again)).toEqual(expected)
      expect(await again.verify()).toMatchObject({ sound: true, damage: [] })
      await again.close()
    })

    it('compact stops on a signal and loses nothing', async () => {
      const dir = newDir()
      const cache = await open(dir)
      const expected = await fill(cache, 1000, 5000)
      const cancelled = expect.objectContaining({ name: 'VarveError', code: 'CANCELLED' })
      await expect(cache.compact({ full: true, signal: AbortSignal.abort() })).rejects.toThrow(cancelled)
      const stop = new AbortController()
      await expect(cache.compact({ full: true, signal: stop.signal, onProgress: () => stop.abort() })).rejects.toThrow(
        cancelled,
      )
      await expect(cache.verify({ signal: AbortSignal.abort() })).rejects.toThrow(cancelled)
      expect(contentOf(cache)).toEqual(expected)
      await cache.compact({ full: true })
      expect(contentOf(cache)).toEqual(expected)
      await cache.close()
      const again = await open(dir)
      expect(contentOf(again)).toEqual(expected)
      await again.close()
    })

    it('onProgress may use the cache, whose answers are right, misses or BUSY', async () => {
      const codes = new Set<string>()
      const note = ({ code }: VarveError): unknown => codes.add(code)
      const dir = newDir()
      const cache = await open(dir, { onWarning: note })
      const expected = await fill(cache, 200, 2000)
      const [entries, [key, value] = ['', '']] = [cache.namespace('filled', { codec: 'text' }), [...expected][1]]
      let calls = 0
      const onProgress = (): void => {
        calls++
        expect([value, undefined]).toContain(entries.get(key))
        entries.has(key)
        for (const use of [
          () => entries.put('new', 'new'),
          () => cache.status(),
          () => cache.refresh(),
          () => entries.count(),
        ]) {
          try {
            use()
          } catch (error) {
            note(error as VarveError)
          }
        }
      }
      const watch = { onProgress }
      for (const call of [
        () => cache.compact({ full: true, ...watch }),
        () => cache.verify(watch),
        () => cache.repair(watch),
      ])
        await call()
      await cache.files.verify(undefined, watch)
      expect([calls > 0, [...codes].filter((code) => code !== 'BUSY')]).toEqual([true, []])
      expect([entries.get(key), entries.has(key), (await cache.verify()).sound]).toEqual([value, true, true])
      await cache.close()
    })

    it('compact rejects with the error that onProgress throws', async () => {
      const cache = await open(newDir())
      const expected = await fill(cache, 1000, 5000)
      const thrown = new Error('from the caller')
      const onProgress = (): never => {
        throw thrown
      }
      await expect(cache.compact({ full: true, onProgress })).rejects.toBe(thrown)
      expect(contentOf(cache)).toEqual(expected)
      await cache.close()
    })
  })

  describe('stats', () => {
    it('stats give the exact numbers of entries, bytes and files', async () => {
      const dir = newDir()
      const cache = await open(dir, { version: '1' })
      const namespace = cache.namespace('a', { version: '2', codec: 'text' })
      for (let i = 10; i < 60; i++) namespace.put(`key ${i}`, 'x'.repeat(i))
      namespace.put('key 10', 'xyz')
      cache.namespace('b').put(new Uint8Array(20), new Uint8Array(30))
      await cache.commit()
      namespace.delete('key 59')
      await cache.commit()
      const valueBytes = Array.from({ length: 48 }, (_, i) => i + 11).reduce((sum, size) => sum + size, 3)
      for (const moment of ['after commit', 'after compaction']) {
        const stats = await cache.stats()
        const a = stats.namespaces.find(({ name }) => name === 'a')
        const b = stats.namespaces.find(({ name }) => name === 'b')
        expect(a, moment).toMatchObject({ version: '1/2 text', entries: 49, keyBytes: 49 * 6, valueBytes })
        expect(b, moment).toMatchObject({ version: '1/', entries: 1, keyBytes: 20, valueBytes: 30 })
        expect(stats.namespaces).toHaveLength(2)
        await cache.compact({ full: true })
      }
      await cache.close()
    })
  })

  describe('verify', () => {
    it('verify reads everything and finds no damage', async () => {
      const cache = await open(newDir())
      const expected = await fill(cache, 200, 3000)
      const before = await cache.verify()
      expect(before).toMatchObject({ sound: true, damage: [] })
      expect(before.entries).toBeGreaterThanOrEqual(expected.size)
      await cache.compact({ full: true })
      const after = await cache.verify()
      expect(after).toMatchObject({ sound: true, damage: [], entries: expected.size })
      expect(after.bytes).toBeGreaterThan(0)
      await cache.close()
    })
  })

  describe('close', () => {
    it('after close every call fails with CLOSED, and close can be called again', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('a')
      namespace.put('key', new Uint8Array(3))
      const underWay = cache.commit()
      const closed = cache.close()
      const code = expect.objectContaining({ name: 'VarveError', code: 'CLOSED' })
      const synchronous: (() => unknown)[] = [
        () => namespace.get('key'),
        () => namespace.getMany(['key']),
        () => namespace.has('key'),
        () => namespace.put('key', new Uint8Array(1)),
        () => namespace.delete('key'),
        () => [...namespace.entries()],
        () => [...namespace.keys()],
        () => cache.namespace('a'),
        () => cache.namespace('b'),
        () => cache.refresh(),
        () => cache.status(),
      ]
      for (const call of synchronous) expect(call).toThrow(code)
      for (const call of [cache.commit(), cache.flush(), cache.compact(), cache.stats(), cache.verify()])
        await expect(call).rejects.toThrow(code)
      await closed
      await expect(underWay).resolves.toMatchObject({ entries: 1 })
      for (const call of synchronous) expect(call).toThrow(code)
      await cache.close()
      await cache[Symbol.asyncDispose]()
    })
  })

  describe('status', () => {
    it('status reports the engine, the directory and the writer', async () => {
      const dir = newDir()
      const cache = await open(dir)
      expect([dir, `/varve/${inMemory({ dir }).name}`]).toContain(cache.status().dir)
      expect(cache.status()).toMatchObject({ readOnly: false, durability: 'relaxed', writer: null, damage: [] })
      expect(cache.status().reason).not.toBe('')
      cache.namespace('a', { codec: 'json' }).put('key', 1)
      await cache.commit()
      expect(cache.status().writer).toEqual(expect.any(Number))
      await cache.close()
    })
  })

  describe('options', () => {
    it('unknown options are refused with a suggestion', async () => {
      const wrong: object = { readonly: true }
      const refused = expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringContaining("did you mean 'readOnly'?"),
      })
      await expect(open(newDir(), wrong)).rejects.toThrow(refused)
      const cache = await open(newDir())
      expect(() => Reflect.apply(cache.namespace, cache, ['a', { vresion: '1' }])).toThrow(/did you mean 'version'\?/)
      await expect(Reflect.apply(cache.compact, cache, [{ ful: true }])).rejects.toThrow(VarveError)
      await cache.close()
    })
  })
}
