/** What a commit promises: other handles see all of it or nothing, after `refresh`; this handle sees it immediately. */
import { describe, expect, it } from 'vitest'
import type { Subject } from './subject.ts'

export function commitsContract({ newDir, open }: Subject): void {
  describe('commit', () => {
    it('a commit makes puts and deletes visible to other handles; the same handle sees them immediately', async () => {
      const dir = newDir()
      const writer = await open(dir)
      const reader = await open(dir)
      const written = writer.namespace('a', { codec: 'text' })
      const read = reader.namespace('a', { codec: 'text' })
      written.put('key', 'one')
      expect([written.get('key'), written.has('key')]).toEqual(['one', true])
      expect([reader.refresh(), read.get('key'), read.has('key')]).toEqual([false, undefined, false])
      await writer.commit()
      reader.refresh()
      expect(read.get('key')).toBe('one')
      written.delete('key')
      expect([written.get('key'), written.has('key')]).toEqual([undefined, false])
      expect(read.get('key')).toBe('one')
      await writer.commit()
      reader.refresh()
      expect([read.get('key'), read.has('key'), written.get('key')]).toEqual([undefined, false, undefined])
      await Promise.all([writer.close(), reader.close()])
    })

    it('a commit keeps the last of several puts and deletes of a key', async () => {
      const dir = newDir()
      const cache = await open(dir)
      const namespace = cache.namespace('a', { codec: 'text' })
      namespace.put('key', 'one')
      namespace.put('key', 'two')
      await cache.commit()
      expect(namespace.get('key')).toBe('two')
      namespace.delete('key')
      namespace.put('key', 'three')
      namespace.put('gone', 'x')
      namespace.delete('gone')
      namespace.delete('never there')
      await cache.commit()
      expect([namespace.get('key'), namespace.get('gone'), namespace.has('never there')]).toEqual([
        'three',
        undefined,
        false,
      ])
      await cache.close()
      const again = await open(dir)
      expect([...again.namespace('a', { codec: 'text' }).entries()]).toEqual([['key', 'three']])
      await again.close()
    })

    it('a commit covers all namespaces, and reports what it wrote', async () => {
      const dir = newDir()
      const writer = await open(dir)
      const reader = await open(dir)
      for (let round = 0; round < 20; round++) {
        for (const name of ['a', 'b', 'c']) writer.namespace(name, { codec: 'json' }).put('round', round)
        const report = await writer.commit()
        expect(report.entries).toBe(3)
        expect(report.bytes).toBeGreaterThan(0)
        reader.refresh()
        const seen = ['a', 'b', 'c'].map((name) => reader.namespace(name, { codec: 'json' }).get('round'))
        expect(seen).toEqual([round, round, round])
      }
      await Promise.all([writer.close(), reader.close()])
    })

    it('a commit without buffered entries writes nothing', async () => {
      const cache = await open(newDir())
      expect(await cache.commit()).toMatchObject({ entries: 0, bytes: 0 })
      expect(cache.status().writer).toBeNull()
      await cache.close()
    })

    it('a commit of 10,000 entries keeps each of them', async () => {
      const dir = newDir()
      let cache = await open(dir)
      const keys = Array.from({ length: 10_000 }, (_, i) => `src/module-${i}.ts`)
      const values = keys.map((key, i) => `${key} ${'x'.repeat(i % 400)}`)
      const namespace = cache.namespace('a', { codec: 'text' })
      keys.forEach((key, i) => namespace.put(key, values[i] ?? ''))
      expect((await cache.commit()).entries).toBe(10_000)
      expect(namespace.getMany(keys)).toEqual(values)
      await cache.close()
      cache = await open(dir)
      expect(cache.namespace('a', { codec: 'text' }).getMany(keys)).toEqual(values)
      await cache.close()
    })

    it('commit can be called again before the last commit is done', async () => {
      const dir = newDir()
      let cache = await open(dir)
      const namespace = cache.namespace('a', { codec: 'text' })
      const commits: Promise<{ readonly entries: number }>[] = []
      for (let i = 0; i < 50; i++) {
        namespace.put(`key ${i}`, 'x'.repeat(i * 1000))
        namespace.put('last', String(i))
        commits.push(cache.commit({ durability: i % 10 === 0 ? 'durable' : 'relaxed' }))
        expect(namespace.get('last')).toBe(String(i))
      }
      namespace.put('uncommitted', 'x')
      expect((await Promise.all(commits)).every(({ entries }) => entries === 2)).toBe(true)
      await cache.close({ commit: false })
      cache = await open(dir)
      const again = cache.namespace('a', { codec: 'text' })
      expect(Array.from({ length: 50 }, (_, i) => again.get(`key ${i}`)?.length)).toEqual(
        Array.from({ length: 50 }, (_, i) => i * 1000),
      )
      expect([again.get('last'), again.get('uncommitted')]).toEqual(['49', undefined])
      await cache.close()
    })

    it.each(['relaxed', 'durable'] as const)(
      'a commit of a cache that is %s by default can be of the other durability',
      async (durability) => {
        const dir = newDir()
        const cache = await open(dir, { durability })
        expect(cache.status().durability).toBe(durability)
        const namespace = cache.namespace('a', { codec: 'json' })
        for (const override of ['durable', 'relaxed', undefined] as const) {
          namespace.put(String(override), 1)
          await cache.commit({ durability: override })
        }
        await cache.flush()
        await cache.close()
        const again = await open(dir)
        expect(again.namespace('a', { codec: 'json' }).getMany(['durable', 'relaxed', 'undefined'])).toEqual([1, 1, 1])
        await again.close()
      },
    )
  })

  describe('handles', () => {
    it('handles of one cache commit in turns and at the same time, and lose nothing', async () => {
      const dir = newDir()
      const handles = await Promise.all([open(dir), open(dir), open(dir)])
      for (let round = 0; round < 10; round++) {
        handles.forEach((cache, i) => cache.namespace('a', { codec: 'json' }).put(`${i} ${round}`, [i, round]))
        await Promise.all(handles.map((cache) => cache.commit()))
      }
      const expected = handles.flatMap((_, i) => Array.from({ length: 10 }, (_, round) => [i, round]))
      for (const cache of handles) {
        cache.refresh()
        const found = [...cache.namespace('a', { codec: 'json' }).entries()].map(([, value]) => value)
        expect(found).toHaveLength(30)
        expect(found).toEqual(expect.arrayContaining(expected))
        expect(cache.refresh()).toBe(false)
        await cache.close()
      }
    })

    it('handles of two caches do not share entries', async () => {
      const [one, two] = await Promise.all([open(newDir()), open(newDir())])
      one.namespace('a', { codec: 'text' }).put('key', 'one')
      two.namespace('a', { codec: 'text' }).put('key', 'two')
      await Promise.all([one.commit(), two.commit()])
      await one.close()
      expect(two.namespace('a', { codec: 'text' }).get('key')).toBe('two')
      await two.close()
    })
  })

  describe('version', () => {
    it('a new version of a namespace discards the entries of this namespace only', async () => {
      const dir = newDir()
      let cache = await open(dir)
      for (const name of ['a', 'b']) cache.namespace(name, { version: '1', codec: 'text' }).put('key', name)
      await cache.commit()
      await cache.close()

      cache = await open(dir)
      const changed = cache.namespace('a', { version: '2', codec: 'text' })
      expect([changed.get('key'), changed.has('key'), [...changed.keys()]]).toEqual([undefined, false, []])
      expect(cache.namespace('b', { version: '1', codec: 'text' }).get('key')).toBe('b')
      changed.put('key', 'new')
      await cache.commit()
      await cache.close()

      cache = await open(dir)
      expect(cache.namespace('a', { version: '2', codec: 'text' }).get('key')).toBe('new')
      expect(cache.namespace('b', { version: '1', codec: 'text' }).get('key')).toBe('b')
      await cache.close()
      cache = await open(dir)
      expect(cache.namespace('a', { version: '1', codec: 'text' }).get('key')).toBeUndefined()
      await cache.close()
    })

    it('a new version of the cache discards all namespaces; a new codec discards its own', async () => {
      const dir = newDir()
      let cache = await open(dir, { version: '1' })
      cache.namespace('a', { codec: 'text' }).put('key', '{}')
      await cache.commit()
      await cache.close()
      cache = await open(dir, { version: '2' })
      expect(cache.namespace('a', { codec: 'text' }).get('key')).toBeUndefined()
      await cache.close()
      cache = await open(dir, { version: '1' })
      expect(cache.namespace('a', { codec: 'json' }).get('key')).toBeUndefined()
      await cache.close()
      cache = await open(dir, { version: '1' })
      expect(cache.namespace('a', { codec: 'text' }).get('key')).toBe('{}')
      await cache.close()
    })

    it('an open cache accepts one version per namespace', async () => {
      const cache = await open(newDir())
      const namespace = cache.namespace('a', { version: '1' })
      expect(cache.namespace('a', { version: '1' })).toBe(namespace)
      const refused = (other: string): unknown =>
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining(
            `namespace 'a' is open with version '1' and codec 'bytes', not with ${other}. `,
          ),
        })
      expect(() => cache.namespace('a', { version: '2' })).toThrow(refused("version '2' and codec 'bytes'"))
      expect(() => cache.namespace('a', { version: '1', codec: 'json' })).toThrow(
        refused("version '1' and codec 'json'"),
      )
      expect(() => cache.namespace('a')).toThrow(refused("version '' and codec 'bytes'"))
      await cache.close()
    })

    // From the 16,385th on, every namespace of the process was refused.
    it('a cache can be opened any number of times in one process, under any names and versions', async () => {
      const dir = newDir()
      const cache = await open(dir)
      for (let number = 0; number < 20_000; number++) {
        const namespace = cache.namespace(`module ${number}`, { version: String(number), codec: 'text' })
        if (number % 1_000 === 0) namespace.put('key', `value ${number}`)
      }
      await cache.commit()
      const last = cache.namespace('module 19000', { version: '19000', codec: 'text' })
      expect(last.get('key')).toBe('value 19000')
      await cache.close()
      const again = await open(dir)
      for (const number of [0, 7_000, 17_000, 19_000]) {
        expect(again.namespace(`module ${number}`, { version: String(number), codec: 'text' }).get('key')).toBe(
          `value ${number}`,
        )
      }
      await again.close()
    })
  })
}
