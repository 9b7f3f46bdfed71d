/** `why` names what differs, and nothing else. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Counted, type Subject, withCache } from './subject.ts'

/** The documented digest of text and of bytes: a letter and 128 bits of SHA-256. */
const digest = (letter: string, content: string): string => letter + createHash('sha256').update(content).digest('base64url').slice(0, 22)

export function whyContract(subject: Subject): void {
  describe('why', () => {
    it('why reports new, hit, and exactly what changed, with both digests', async () => {
      const project = subject.project()
      await project.settle('a.css', 'one')
      await project.settle('b.css', 'one')
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const others = { files: ['a.css', 'b.css'], env: ['VARVE_TEST_ENV'] }
        const inputs = { source: 'x', config: { minify: true } }
        expect(await counted.task.why('id', inputs, others)).toEqual({
          task: 'counted', id: 'id', outcome: 'new', variants: 0, differences: [], timeMs: undefined,
        })
        await counted.run({ id: 'id', inputs, ...others })
        expect(await counted.task.why('id', inputs, others)).toMatchObject({ outcome: 'hit', variants: 1, differences: [] })

        const config = { minify: false }
        const changed = [
          { kind: 'input', name: 'config', before: digest('j', '{"minify":true}'), after: digest('j', '{"minify":false}') },
        ]
        expect(await counted.task.why('id', { ...inputs, config }, others)).toMatchObject({ outcome: 'changed', differences: changed })
        const { source } = inputs
        const gone = [{ kind: 'input', name: 'config', before: changed[0]?.before, after: undefined }]
        expect((await counted.task.why('id', { source }, others)).differences).toEqual(gone)

        await project.settle('b.css', 'two')
        const file = { kind: 'file', name: 'b.css', before: digest('b', 'one'), after: digest('b', 'two') }
        expect((await counted.task.why('id', inputs, others)).differences).toEqual([file])
        process.env['VARVE_TEST_ENV'] = 'set'
        const env = { kind: 'env', name: 'VARVE_TEST_ENV', before: 'undefined', after: digest('s', 'set') }
        expect((await counted.task.why('id', inputs, others)).differences).toEqual([env, file])
        delete process.env['VARVE_TEST_ENV']
        expect(counted.count).toBe(1)
        expect(counted.task.stats()).toMatchObject({ hits: 0, misses: 1 })
      })
    })

    it('why names files that appeared, and inputs that are new', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        await counted.run({ files: ['a'] })
        const others = { files: ['a', 'b'], env: ['VARVE_TEST_ENV'] }
        const unknown = [
          { kind: 'env', name: 'VARVE_TEST_ENV', before: undefined, after: 'undefined' },
          { kind: 'file', name: 'b', before: undefined, after: 'missing' },
        ]
        expect(await counted.task.why('id', {}, others)).toMatchObject({ outcome: 'changed', differences: unknown })
        project.write('a', 'one')
        const there = [{ kind: 'file', name: 'a', before: 'missing', after: digest('b', 'one') }]
        expect((await counted.task.why('id', {}, { files: ['a'] })).differences).toEqual(there)
      })
    })

    it('why compares with the variant that differs least', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        await counted.run({ inputs: { a: '1', b: '1', c: '1' } })
        await counted.run({ inputs: { a: '2', b: '2', c: '2' } })
        await counted.run({ inputs: { a: '3', b: '3', c: '3' } })
        const { differences, variants } = await counted.task.why('id', { a: '1', b: '2', c: '2' })
        expect([variants, differences]).toEqual([3, [{ kind: 'input', name: 'a', before: digest('s', '2'), after: digest('s', '1') }]])
      })
    })

    it('task stats count the reasons of misses', async () => {
      const project = subject.project()
      await project.settle('a', 'one')
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const run = (source: string, config: string): Promise<number> => counted.run({ inputs: { source, config }, files: ['a'] })
        await run('a', 'x')
        await run('a', 'y')
        await run('b', 'y')
        await project.settle('a', 'two')
        await run('b', 'y')
        await run('b', 'y')
        expect(counted.task.stats()).toEqual({
          hits: 1, misses: 4, shared: 0, healed: 0, notStored: 0,
          reasons: { new: 1, 'input config': 1, 'input source': 1, file: 1 }, savedMs: expect.any(Number),
        })
      })
    })
  })
}
