/** The records of builds: which builds leave one, what it has, how many there are, and that nothing else shows them. */
import { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { BuildRecord, Cache } from 'varve'
import type { Subject } from './subject.ts'

/** Records that a cache keeps. */
const RECORDS_MAX = 1000

export function historyContract({ newDir, open }: Subject): void {
  /** A build that puts one entry. */
  async function build(dir: string, key: string, options = {}): Promise<void> {
    const cache = await open(dir, options)
    cache.namespace('a', { codec: 'text' }).put(key, 'value')
    await cache.close()
  }
  async function historyOf(dir: string): Promise<readonly BuildRecord[]> {
    const cache = await open(dir)
    const found = cache.history()
    await cache.close()
    return found
  }
  async function exported(cache: Cache): Promise<string> {
    let text = ''
    await cache.exportJson(
      new Writable({
        write: (chunk, _, done) => {
          text += String(chunk)
          done()
        },
      }),
    )
    return text
  }

  describe('history()', () => {
    it('a build that commits entries leaves a record of its lookups, and one that only reads leaves none', async () => {
      const dir = newDir()
      const before = Date.now()
      const cache = await open(dir, { name: 'tool' })
      const namespace = cache.namespace('a', { codec: 'text' })
      namespace.put('key', 'value')
      await cache.commit()
      const found = [namespace.get('key'), ...namespace.getMany(['key', 'other', 'another'])]
      expect(found).toEqual(['value', 'value', undefined, undefined])
      expect(cache.history()).toEqual([]) // the build is not over
      const { engine } = cache.status()
      await cache.close()
      const reader = await open(dir)
      expect(reader.namespace('a', { codec: 'text' }).get('key')).toBe('value')
      await reader.close()
      const [record, ...others] = await historyOf(dir)
      expect([record, others]).toEqual([
        {
          name: expect.any(String),
          startMs: expect.any(Number),
          durationMs: expect.any(Number),
          hits: 2,
          misses: 2,
          reasons: { new: 2 },
          savedMs: 0,
          readBytes: 10,
          writtenBytes: expect.any(Number),
          engine,
          layers: 0,
          remote: null,
          namespaces: ['a'],
          namespaceCount: 1,
        },
        [],
      ])
      expect([
        (record?.startMs ?? 0) >= before,
        (record?.writtenBytes ?? 0) > 8,
        (record?.durationMs ?? -1) >= 0,
      ]).toEqual([true, true, true])
    })

    it('a watching build updates its record with each commit that writes entries, and is recorded if it is killed', async () => {
      const dir = newDir()
      const cache = await open(dir)
      const namespace = cache.namespace('a', { codec: 'text' })
      namespace.put('before', 'value')
      await cache.commit()
      expect(await historyOf(dir)).toEqual([]) // no build is over
      namespace.put('first', 'value')
      cache.recordBuild({ hits: 0, misses: 3, reasons: { new: 3 } })
      await cache.commit()
      expect((await historyOf(dir)).map(({ hits, misses }) => [hits, misses])).toEqual([[0, 3]])
      cache.recordBuild({ hits: 2, misses: 1, reasons: { file: 1 } })
      await cache.commit() // of nothing
      expect((await historyOf(dir)).map(({ hits, misses }) => [hits, misses])).toEqual([[0, 3]])
      namespace.put('second', 'value')
      await cache.commit()
      expect((await historyOf(dir)).map(({ hits, misses, reasons }) => [hits, misses, reasons])).toEqual([
        [2, 4, { new: 3, file: 1 }],
      ])
      const before = await historyOf(dir)
      await cache.close() // the record has everything, so nothing is written
      expect(await historyOf(dir)).toEqual(before)
    })

    it('the time that hits save is that of the work, and parallel works share it', async () => {
      const dir = newDir()
      const first = await open(dir)
      const startMs = performance.now()
      const work = async (): Promise<string> => {
        await delay(1)
        for (const end = performance.now() + 15; performance.now() < end;);
        return 'result'
      }
      await Promise.all(['a', 'b', 'c', 'd'].map((id) => first.task('slow').run({ id }, work)))
      const tookMs = performance.now() - startMs
      await first.close()
      const second = await open(dir, { history: 'always' })
      const task = second.task('slow')
      for (const id of ['a', 'b', 'c', 'd']) expect(await task.run({ id }, work)).toBe('result')
      const { savedMs } = task.stats()
      await second.close()
      expect([savedMs > 40, savedMs <= tookMs + 1]).toEqual([true, true])
      const [warm, cold] = (await historyOf(dir)).toSorted((one, other) => one.misses - other.misses)
      expect([warm?.hits, warm?.misses, warm?.savedMs]).toEqual([4, 0, Math.round(savedMs)])
      expect([cold?.hits, cold?.misses, cold?.reasons, cold?.savedMs]).toEqual([0, 4, { new: 4 }, 0])
    })

    it('time that the work adds is saved in each hit, too', async () => {
      const dir = newDir()
      const first = await open(dir)
      await first.task('slow').run({ id: 'a' }, (context) => {
        for (const wrong of [-1, Number.NaN, '5']) {
          expect(() => Reflect.apply(context.addWorkMs, context, [wrong])).toThrow(
            expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
          )
        }
        context.addWorkMs(40_000)
        context.addWorkMs(2000)
        return 'result'
      })
      await first.close()
      const second = await open(dir)
      const task = second.task('slow')
      await task.run({ id: 'a' }, () => 'other')
      expect(task.stats().savedMs).toBeGreaterThanOrEqual(42_000)
      await second.close()
    })

    it("history 'always' records builds that only read, and 'never' records none", async () => {
      const dir = newDir()
      await build(dir, 'one', { history: 'never' })
      expect(await historyOf(dir)).toEqual([])
      const reader = await open(dir, { history: 'always' })
      expect(reader.namespace('a', { codec: 'text' }).get('one')).toBe('value')
      await reader.close()
      expect((await historyOf(dir)).map(({ hits, misses, writtenBytes }) => [hits, misses, writtenBytes])).toEqual([
        [1, 0, 0],
      ])
    })

    it('a tool that counts itself has its own counts in the record', async () => {
      const dir = newDir()
      const cache = await open(dir)
      await cache.task('work').run({ id: 'id' }, () => 1)
      cache.recordBuild({ hits: 1998, misses: 1, reasons: { 'file babel.config.js': 1 }, savedMs: 14_200 })
      cache.recordBuild({ hits: 0, misses: 1, reasons: { 'file babel.config.js': 1 } })
      expect(() => cache.recordBuild({ hits: -1, misses: 0 })).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION' }),
      )
      expect(() => Reflect.apply(cache.recordBuild, cache, [{ hits: 1 }])).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION' }),
      )
      await cache.close()
      expect((await historyOf(dir))[0]).toMatchObject({
        hits: 1998,
        misses: 2,
        reasons: { 'file babel.config.js': 2 },
        savedMs: 14_200,
      })
      expect(() => cache.history()).toThrow(expect.objectContaining({ code: 'CLOSED' }))
    })

    it('a record names the namespaces that a build used most, those of a task once, and counts the others', async () => {
      const dir = newDir()
      const cache = await open(dir)
      const task = cache.task('transform')
      for (const id of ['a', 'b', 'c', 'd']) await task.run({ id }, () => id)
      const modules = cache.namespace('modules', { codec: 'text' })
      modules.putMany([
        ['a', '1'],
        ['b', '2'],
        ['c', '3'],
        ['d', '4'],
      ])
      expect(modules.getMany(['a', 'b', 'x'])).toEqual(['1', '2', undefined])
      for (const name of ['resolve', 'other']) cache.namespace(name, { codec: 'text' }).put('key', 'value')
      expect(cache.namespace('resolve', { codec: 'text' }).get('key')).toBe('value')
      cache.namespace('unused')
      await cache.close()
      expect((await historyOf(dir))[0]).toMatchObject({
        namespaces: ['task:transform', 'modules', 'resolve'],
        namespaceCount: 4,
      })
    })

    it('a record keeps a long reason and long names of namespaces by their first characters', async () => {
      const dir = newDir()
      const cache = await open(dir)
      const names = Array.from({ length: 20 }, (_, index) => `${index}-of-the-namespaces-${'n'.repeat(100)}`)
      for (const name of names) cache.namespace(name, { codec: 'text' }).put('key', 'value')
      const reason = `changed ${'r'.repeat(200)}`
      cache.recordBuild({ hits: 0, misses: 1998, reasons: { [reason]: 1998 } })
      await cache.close()
      const [{ namespaces = [], namespaceCount, reasons = {} } = {}] = await historyOf(dir)
      expect([namespaces, namespaceCount]).toEqual([[names[0]?.slice(0, 24)], 20])
      const [[kept = '', count] = []] = Object.entries(reasons)
      expect([kept.at(-1), reason.startsWith(kept.slice(0, -1)), kept.length > 60]).toEqual(['…', true, true])
      expect(count).toBe(1998)
    })

    it('a record fits into 200 bytes, however long its reasons are', async () => {
      const dir = newDir()
      const empty = await open(dir)
      empty.namespace('a', { codec: 'text' }).put('key', 'value')
      const huge = Number.MAX_SAFE_INTEGER
      const reasons = Object.fromEntries(
        Array.from({ length: 50 }, (_, index) => [`file ${'ü'.repeat(100)}${index}`, huge - index]),
      )
      empty.recordBuild({ hits: huge, misses: huge, reasons, savedMs: huge })
      await empty.close()
      const [record] = await historyOf(dir)
      expect(record).toMatchObject({ hits: huge, misses: huge, savedMs: huge })
      expect(Object.keys(record?.reasons ?? {}).length).toBeLessThan(2)
    })

    it('the oldest of more than 1,000 records are removed, and values that are no records are never returned', async () => {
      const dir = newDir()
      await build(dir, 'first')
      const record = (startMs: number): string =>
        JSON.stringify(['old', startMs, 1, 1, 1, 1, 1, 1, 'native', 0, [1, 'a'], 'new', 1])
      const line = (key: string, text: string): string =>
        JSON.stringify({ namespace: 'varve:history', version: '1', key, text })
      const keyOf = (startMs: number): string => `${startMs.toString(36).padStart(9, '0')}-abcdef`
      const old = Array.from({ length: RECORDS_MAX + 20 }, (_, startMs) => line(keyOf(startMs), record(startMs)))
      const one = record(1)
      const noNames = [one.replace('[1,"a"]', '1'), one.replace('[1,"a"]', '[1,"a","b"]')]
      const noFields = [
        one.replace('1', '"1"'),
        one.replace('"native"', '"x"'),
        one.replace(/,1\]$/, ']'),
        one.replace('new', 'n'.repeat(200)),
      ]
      const wrong = [...noNames, ...noFields]
      const noRecords = ['', '{}', '[]', 'null', ...wrong]
      const importer = await open(dir)
      await importer.importJson(
        Readable.from([[...old, ...noRecords.map((text, index) => line(`no record ${index}`, text))].join('\n')]),
      )
      expect(importer.history()).toHaveLength(1 + old.length)
      await importer.close()
      await build(dir, 'last')
      const kept = await historyOf(dir)
      expect([kept.length, kept.at(-1)?.startMs]).toEqual([RECORDS_MAX, 22])
      const cache = await open(dir)
      expect((await cache.stats()).namespaces.map(({ name }) => name)).toEqual(['a'])
      await cache.close()
    })

    it('statistics, exports and seals have what was put and no records', async () => {
      const [dir, other, one, two] = [newDir(), newDir(), newDir(), newDir()]
      await build(dir, 'key')
      await build(dir, 'key')
      await build(other, 'key', { history: 'never' })
      const [with_, without] = [await open(dir), await open(other)]
      expect(with_.history()).toHaveLength(2)
      expect((await with_.stats()).namespaces.map(({ name }) => name)).toEqual(['a'])
      expect(await exported(with_)).toBe(await exported(without))
      const [sealed, same] = [await with_.seal(one), await without.seal(two)]
      expect(sealed).toEqual(same)
      await Promise.all([with_.close(), without.close()])
      const above = await open(newDir(), { layers: [one] })
      expect([above.history(), above.namespace('a', { codec: 'text' }).get('key')]).toEqual([[], 'value'])
      await above.close()
    })

    it('names that begin with varve: are refused, as they would hide entries from statistics', async () => {
      const cache = await open(newDir())
      expect(() => cache.namespace('varve:history')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
      await cache.close()
    })

    it('history survives a compaction and a reopening', async () => {
      const dir = newDir()
      await build(dir, 'one')
      await build(dir, 'two')
      const cache = await open(dir)
      const before = cache.history()
      await cache.compact({ full: true })
      expect(cache.history()).toEqual(before)
      expect((await cache.verify()).sound).toBe(true)
      await cache.close()
      expect(await historyOf(dir)).toEqual(before)
    })
  })
}
