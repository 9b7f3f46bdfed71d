/** `why` names what differs, and nothing else. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Counted, type Subject, withCache } from './subject.ts'

/** The documented digest of text and of bytes: a letter and 128 bits of SHA-256. */
const digest = (letter: string, content: string): string =>
  letter + createHash('sha256').update(content).digest('base64url').slice(0, 22)

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
          task: 'counted',
          id: 'id',
          outcome: 'new',
          variants: 0,
          differences: [],
          timeMs: undefined,
        })
        await counted.run({ id: 'id', inputs, ...others })
        expect(await counted.task.why('id', inputs, others)).toMatchObject({
          outcome: 'hit',
          variants: 1,
          differences: [],
        })

        const config = { minify: false }
        const changed = [{ kind: 'input', name: 'config', before: '={"minify":true}', after: '={"minify":false}' }]
        expect(await counted.task.why('id', { ...inputs, config }, others)).toMatchObject({
          outcome: 'changed',
          differences: changed,
        })
        const { source } = inputs
        const gone = [{ kind: 'input', name: 'config', before: changed[0]?.before, after: undefined }]
        expect((await counted.task.why('id', { source }, others)).differences).toEqual(gone)

        await project.settle('b.css', 'two')
        const file = { kind: 'file', name: 'b.css', before: digest('b', 'one'), after: digest('b', 'two') }
        expect((await counted.task.why('id', inputs, others)).differences).toEqual([file])
        process.env['VARVE_TEST_ENV'] = 'set'
        const env = { kind: 'env', name: 'VARVE_TEST_ENV', before: 'undefined', after: '="set"' }
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

    it('only short values are shown, and none that may be a secret', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const shown = {
          text: 'a b',
          number: 12,
          list: [1, 'x'],
          time: '2026-01-02T03:04:05Z',
          path: '/builds/7/my-project/packages/app',
          none: '',
        }
        const hidden = {
          long: 'word '.repeat(7),
          hash: '9f3ad0c27be1',
          API_KEY: 'a',
          npm_config__authToken: 'b',
          password: 'c',
          URL: 'https://me:pw@x.org',
          nested: { token: 1 },
          bytes: new Uint8Array(1),
          uuid: '0b8e72f1-a94c-4a4c-9f3a-d0c27be10b8e',
          lone: '\ud800'.repeat(40),
        }
        await counted.run({ inputs: { ...shown, ...hidden } })
        const { differences } = await counted.task.why('id', {})
        for (const { name, before = '' } of differences)
          expect([name, /^[sxjb][\w-]{22}$/.test(before)]).toEqual([name, !(name in shown)])
        expect(differences.map(({ name }) => name).sort()).toEqual(
          [...Object.keys(shown), ...Object.keys(hidden)].sort(),
        )
        expect(differences.find(({ name }) => name === 'list')?.before).toBe('=[1,"x"]')
      })
    })

    it('the digest of the manifest of a package ends with its version', async () => {
      const project = subject.project()
      const path = 'node_modules/@org/tool/package.json'
      await project.settle(path, '{"name":"@org/tool","version":"1.2.3"}')
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        await counted.run({ files: [path] })
        await project.settle(path, '{"name":"@org/tool","version":"1.3.0-rc.1"}')
        const { differences } = await counted.task.why('id', {}, { files: [path] })
        const [before, after] = [
          expect.stringMatching(/^b.{22} 1\.2\.3$/),
          expect.stringMatching(/^b.{22} 1\.3\.0-rc\.1$/),
        ]
        expect(differences).toMatchObject([{ name: path, before, after }])
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
        expect([variants, differences]).toEqual([3, [{ kind: 'input', name: 'a', before: '="2"', after: '="1"' }]])
      })
    })

    it('task stats count the reasons of misses', async () => {
      const project = subject.project()
      await project.settle('a', 'one')
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const run = (source: string, config: string): Promise<number> =>
          counted.run({ inputs: { source, config }, files: ['a'] })
        await run('a', 'x')
        await run('a', 'y')
        await run('b', 'y')
        await project.settle('a', 'two')
        await run('b', 'y')
        await run('b', 'y')
        expect(counted.task.stats()).toEqual({
          hits: 1,
          misses: 4,
          shared: 0,
          healed: 0,
          notStored: 0,
          reasons: { new: 1, 'input config': 1, 'input source': 1, file: 1 },
          savedMs: expect.any(Number),
        })
      })
    })
  })
}
