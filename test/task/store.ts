/** What is stored, and that nothing on disk or about storing makes a run fail. */
import nodeV8 from 'node:v8'
import { describe, expect, it, vi } from 'vitest'
import type { VarveError } from 'varve'
import { Counted, type Subject, withCache } from './subject.ts'

/** The namespace of a task's records. */
const RECORDS = 'task:counted'

export function storeContract(subject: Subject): void {
  describe('results', () => {
    it('results are returned as the codec represents them', async () => {
      const project = subject.project()
      const date = new Date(0)
      const results = async (): Promise<unknown[]> =>
        withCache(subject, project, async (cache) => {
          const work = { id: 'id', inputs: {} }
          const found = [
            await cache
              .task<unknown>('json', { root: project.root })
              .run(work, () => ({ a: [1, null], ['__proto__']: 2 })),
            await cache
              .task<unknown>('v8', { root: project.root, codec: 'v8' })
              .run(work, () => new Map([['date', date]])),
            await cache.task('text', { root: project.root, codec: 'text' }).run(work, () => 'ä\ud800'),
            await cache.task('bytes', { root: project.root, codec: 'bytes' }).run(work, () => new Uint8Array([0, 255])),
            await cache.task<unknown>('nothing', { root: project.root }).run(work, () => undefined),
            await cache.task<unknown>('null', { root: project.root }).run(work, () => null),
          ]
          await cache.commit()
          expect((await cache.stats()).namespaces.filter(({ name }) => name.startsWith('task:')).length).toBe(6)
          return found
        })
      const made = await results()
      expect(made).toEqual([
        { a: [1, null], ['__proto__']: 2 },
        new Map([['date', date]]),
        'ä\ud800',
        new Uint8Array([0, 255]),
        undefined,
        null,
      ])
      expect(await results()).toEqual(made)
    })

    it('results are buffered: this handle reads them immediately, others after a commit', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        expect([await counted.run(), await counted.run()]).toEqual([1, 1])
        const other = await subject.open(project.dir)
        const elsewhere = new Counted(other, project.root)
        elsewhere.count = 10
        expect(await elsewhere.run({ id: 'not stored anywhere' })).toBe(11)
        await cache.commit()
        other.refresh()
        expect(await elsewhere.run()).toBe(1)
        await other.close()
      })
    })

    it('results that the caller does not accept are made again, and replaced', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        expect(await counted.run()).toBe(1)
        const refuse = vi.fn<(result: unknown) => boolean>((result) => result !== '1')
        expect(await counted.run({ accept: refuse })).toBe(2)
        expect(refuse.mock.calls).toEqual([['1']])
        const fail = (): boolean => {
          throw new Error('not this one')
        }
        expect(await counted.run({ accept: fail })).toBe(3)
        expect([await counted.run({ accept: () => true }), await counted.run()]).toEqual([3, 3])
        expect(counted.task.stats()).toMatchObject({ hits: 2, misses: 3, reasons: { new: 1, result: 2 } })
      })
    })

    it('a result that the codec cannot represent is itself at a miss and something else at a hit', async () => {
      const project = subject.project()
      const warnings: VarveError[] = []
      const cache = await subject.open(project.dir, { onWarning: (warning) => warnings.push(warning) })
      const json = cache.task<unknown>('lists', { root: project.root })
      const refused = {
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/'lists' for 'a.js'.*'value.map' is a Map.*codec 'v8'/),
      }
      for (const _ of [1, 2])
        await expect(json.run({ id: 'a.js' }, () => ({ map: new Map() }))).rejects.toMatchObject(refused)
      const [one, two] = [1, 2].map(() => json.run({ id: 'b.js' }, async () => [Number.NaN]))
      await expect(one).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
      await expect(two).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
      const v8 = cache.task<unknown>('functions', { root: project.root, codec: 'v8' })
      await expect(v8.run({ id: 'id' }, () => ({ call: () => 1 }))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
      const text = cache.task('texts', { root: project.root, codec: 'text' })
      await expect(Reflect.apply(text.run, text, [{ id: 'id' }, () => ['a']])).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      })
      expect([warnings, json.stats().notStored, cache.status().pending.entries]).toEqual([[], 3, 0])
      await cache.close()
    })

    it('results over 64 MiB are returned and not stored, with one warning', async () => {
      const project = subject.project()
      const warnings: VarveError[] = []
      const cache = await subject.open(project.dir, { onWarning: (warning) => warnings.push(warning) })
      const task = cache.task('large', { root: project.root, codec: 'bytes' })
      const large = new Uint8Array((64 << 20) + 1)
      for (const id of ['a', 'b']) expect((await task.run({ id }, () => large)) === large).toBe(true)
      const reported = [['VALUE_TOO_LONG', expect.stringMatching(/'large'.*limit is 67108864.*cache\.files/)]]
      expect(warnings.map(({ code, message }) => [code, message])).toEqual(reported)
      expect([task.stats().notStored, cache.status().pending.entries]).toEqual([2, 0])
      await cache.close()
    })

    it('a read-only cache makes results and does not store them', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        await new Counted(cache, project.root).run({ id: 'there' })
        await cache.commit()
      })
      const cache = await subject.open(project.dir, { readOnly: true })
      const counted = new Counted(cache, project.root)
      counted.count = 10
      expect([
        await counted.run({ id: 'there' }),
        await counted.run({ id: 'new' }),
        await counted.run({ id: 'new' }),
      ]).toEqual([1, 11, 12])
      expect(counted.task.stats()).toMatchObject({ hits: 1, misses: 2, notStored: 2 })
      await cache.close()
    })

    it('a run returns its result if the cache is closed meanwhile, and later runs are refused', async () => {
      const project = subject.project()
      const warnings: VarveError[] = []
      const cache = await subject.open(project.dir, { onWarning: (warning) => warnings.push(warning) })
      const counted = new Counted(cache, project.root)
      expect(await counted.run({}, () => cache.close())).toBe(1)
      await expect(counted.run()).rejects.toMatchObject({ code: 'CLOSED' })
      expect(() => cache.task('other')).toThrow(expect.objectContaining({ code: 'CLOSED' }))
      expect(warnings).toEqual([])
    })
  })

  describe('damage', () => {
    const RECORDS_OF_OTHERS: readonly unknown[] = [
      null,
      1,
      '',
      'text',
      {},
      [null],
      [[]],
      [{}],
      [{ inputs: [], added: [], env: [], files: [] }],
      [{ inputs: [1, 2], added: [], env: [], files: [], result: '', timeMs: 0 }],
      [{ inputs: ['a'], added: [], env: [], files: [], result: '', timeMs: 0 }],
      [{ inputs: [], added: [], env: [], files: [['a']], result: '', timeMs: 0 }],
      [{ inputs: [], added: [], env: [], files: [['a', 'b', '1', 2, 3]], result: '', timeMs: 0 }],
      [{ inputs: [], added: [], env: [], files: [[]], result: 'b', timeMs: 0 }],
      [{ inputs: [], added: [], env: [], files: 'abc', result: 'b', timeMs: 0 }],
      [{ inputs: [], added: [], env: [], files: [], result: '' }],
      [{ inputs: [], added: [], env: [], files: [], result: '', timeMs: 'soon' }],
      Array.from({ length: 101 }, () => ({ inputs: [], added: [], env: [], files: [], result: '', timeMs: 0 })),
    ]

    it.each(RECORDS_OF_OTHERS.map((record) => ({ record })))(
      'a record that is none is a miss, and is replaced: $record',
      async ({ record }) => {
        const project = subject.project()
        const version = await withCache(subject, project, async (cache) => {
          await new Counted(cache, project.root).run()
          await cache.commit()
          const stats = await cache.stats()
          return stats.namespaces.find(({ name }) => name === RECORDS)?.version.split(' ')[0] ?? ''
        })
        await withCache(subject, project, async (cache) => {
          cache.namespace(RECORDS, { version, codec: 'json' }).put('id', record)
          await cache.commit()
        })
        await withCache(subject, project, async (cache) => {
          const counted = new Counted(cache, project.root)
          counted.count = 10
          expect(await counted.task.why('id')).toMatchObject({ outcome: 'new', variants: 0 })
          expect([await counted.run(), await counted.run()]).toEqual([11, 11])
        })
      },
    )

    it('a missing result is a miss, and is replaced', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        await cache.task<number>('harmed', { root: project.root }).run({ id: 'id' }, () => 1)
        await cache.commit()
        const { namespaces } = await cache.stats()
        const version = namespaces.find(({ name }) => name === 'result:harmed')?.version.split(' ')[0]
        const results = cache.namespace('result:harmed', { version, codec: 'json' })
        const keys = [...results.keys()]
        expect(keys.length).toBe(1)
        for (const key of keys) results.delete(key)
        await cache.commit()
      })
      await withCache(subject, project, async (cache) => {
        const task = cache.task<number>('harmed', { root: project.root })
        expect(await task.why('id')).toMatchObject({ outcome: 'lost', differences: [] })
        expect([await task.run({ id: 'id' }, () => 2), await task.run({ id: 'id' }, () => 3)]).toEqual([2, 2])
        expect(task.stats()).toMatchObject({ reasons: { result: 1 }, hits: 1 })
      })
    })

    it('a result that cannot be decoded is a miss with one warning, and is replaced', async () => {
      const project = subject.project()
      const warnings: VarveError[] = []
      const cache = await subject.open(project.dir, { onWarning: (warning) => warnings.push(warning) })
      const task = cache.task<string>('undecodable', { root: project.root, codec: 'v8' })
      await task.run({ id: 'id' }, () => 'first')
      const { deserialize } = nodeV8
      vi.spyOn(nodeV8, 'deserialize').mockImplementation((bytes) => {
        const value: unknown = deserialize(bytes)
        if (value === 'first') throw new Error('planted')
        return value
      })
      expect([await task.run({ id: 'id' }, () => 'second'), await task.run({ id: 'id' }, () => 'third')]).toEqual([
        'second',
        'second',
      ])
      vi.restoreAllMocks()
      expect(warnings.map(({ code }) => code)).toEqual(['DAMAGED'])
      await cache.close()
    })
  })

  describe('options', () => {
    it('a run without work is an error of the host, but not at a hit', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const refused = {
          code: 'INVALID_ARGUMENT',
          message: expect.stringMatching(/task.run\(\) of 'counted'.*second argument.*not undefined/),
        }
        const runWithout = (): Promise<unknown> => Reflect.apply(counted.task.run, counted.task, [{ id: 'id' }])
        await expect(runWithout()).rejects.toMatchObject(refused)
        await counted.run()
        await expect(runWithout()).rejects.toMatchObject(refused)
      })
    })

    it('unknown or wrong task options are refused with a suggestion', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const make = (options: object): unknown => Reflect.apply(cache.task, cache, ['name', options])
        const invalid = (message: string): unknown =>
          expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(message) })
        expect(() => make({ versoin: '1' })).toThrow(invalid("'version'"))
        expect(() => make({ codec: 'xml' })).toThrow(invalid("'xml'"))
        expect(() => make({ variants: 0 })).toThrow(invalid('from 1'))
        expect(() => make({ variants: 1.5 })).toThrow(invalid('1.5'))
        expect(() => make({ inputs: ['a'] })).toThrow(invalid('inputs'))
        expect(() => Reflect.apply(cache.task, cache, [''])).toThrow(
          expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
        )
        const counted = new Counted(cache, project.root)
        const run = (request: object): Promise<unknown> =>
          Reflect.apply(counted.task.run, counted.task, [request, () => ''])
        await expect(run({ id: 'a', file: ['a'] })).rejects.toEqual(invalid("'files'"))
        await expect(run({ id: 'a', files: 'a' })).rejects.toEqual(invalid('an array of paths'))
        await expect(run({ id: 1 })).rejects.toEqual(invalid("'id'"))
        await expect(run({})).rejects.toEqual(invalid("'id'"))
        await expect(run({ id: 'a', env: [''] })).rejects.toEqual(invalid("'env'"))
        const open =
          "task 'counted' is open with version '' and codec 'text', not with version 'other' and codec 'json'"
        expect(() => cache.task('counted', { version: 'other' })).toThrow(
          expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(open) }),
        )
      })
    })
  })
}
