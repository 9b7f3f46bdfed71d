/** Several results are kept per id, those used last. */
import { describe, expect, it } from 'vitest'
import { Counted, type Subject, withCache } from './subject.ts'

export function variantsContract(subject: Subject): void {
  describe('variants', () => {
    it('a task hits after switching between branches', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const numbers = []
        for (const branch of ['main', 'topic', 'main', 'topic', 'fix', 'main']) {
          await project.settle('a', branch)
          numbers.push(await counted.run({ files: ['a'] }))
          await cache.commit()
        }
        expect(numbers).toEqual([1, 2, 1, 2, 3, 1])
      })
    })

    it.each([1, 2, 3, 4, 7])('%i are kept; the one not used for longest goes, with its result', async (variants) => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root, { variants })
        const run = (source: string): Promise<number> => counted.run({ inputs: { source } })
        for (let i = 1; i <= variants; i++) await run(`source ${i}`)
        expect(await run('source 1')).toBe(1) // used now: another one goes first
        await run('one too many')
        await cache.commit()
        const { namespaces } = await cache.stats()
        expect(namespaces.map(({ name, entries }) => [name, entries])).toEqual([
          ['result:counted', variants],
          ['task:counted', 1],
        ])
        expect(await run('one too many')).toBe(variants + 1)
        expect(await run('source 1')).toBe(variants === 1 ? 3 : 1)
        expect(counted.count).toBe(variants === 1 ? 3 : variants + 1)
      })
    })

    it('variants with equal results share one, until the last of them is removed', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const task = cache.task('same', { root: project.root, codec: 'text', variants: 2 })
        const run = (source: string, result: string): Promise<string> =>
          task.run({ id: 'id', inputs: { source } }, () => result)
        await run('a', 'same')
        await run('b', 'same')
        await run('c', 'other')
        await cache.commit()
        const { namespaces } = await cache.stats()
        expect(namespaces.find(({ name }) => name === 'result:same')?.entries).toBe(2)
        expect(await run('b', 'not this')).toBe('same')
        expect(await run('c', 'not this')).toBe('other')
      })
    })

    it('two variants that are used in turn write nothing', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        for (const target of ['client', 'server']) await counted.run({ inputs: { target } })
        await cache.commit()
        for (const target of ['client', 'server', 'client', 'server']) await counted.run({ inputs: { target } })
        expect([(await cache.commit()).entries, counted.count]).toEqual([0, 2])
      })
    })

    it('variants of another version are not used', async () => {
      const project = subject.project()
      for (const [index, version] of ['1', '2', '2'].entries()) {
        await withCache(subject, project, async (cache) => {
          const counted = new Counted(cache, project.root, { version })
          counted.count = index
          expect(await counted.run()).toBe([1, 2, 2][index])
          await cache.commit()
        })
      }
    })
  })
}
