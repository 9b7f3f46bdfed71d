/** Concurrent runs share in-flight work, and a failure is not stored. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Counted, type Subject, withCache } from './subject.ts'

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export function inFlightContract(subject: Subject): void {
  describe('runs at the same time', () => {
    it('concurrent runs of one request do the work once, and runs of other requests do their own', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const run = (source: string): Promise<number> => counted.run({ inputs: { source } }, () => pause(20))
        const numbers = await Promise.all(['a', 'a', 'b', 'a', 'b'].map(run))
        expect(numbers).toEqual([1, 1, 2, 1, 2])
        expect(counted.task.stats()).toMatchObject({ misses: 2, shared: 3, hits: 0 })
        const twin = new Counted(cache, project.root)
        const [one, two] = await Promise.all([run('c'), twin.run({ inputs: { source: 'c' } }, () => pause(20))])
        expect([one, two, twin.count]).toEqual([3, 3, 0])
      })
    })

    it('concurrent runs through two handles of a cache do the work once', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        await withCache(subject, project, async (other) => {
          const [one, two] = [new Counted(cache, project.root), new Counted(other, project.root)]
          const run = (counted: Counted): Promise<number> => counted.run({}, () => pause(20))
          expect(await Promise.all([run(one), run(two), run(two)])).toEqual([1, 1, 1])
          expect([one.task.stats(), two.task.stats()]).toMatchObject([
            { misses: 1, shared: 0 },
            { misses: 0, shared: 2 },
          ])
        })
      })
    })

    it('concurrent runs get the same error, and the next run does the work again', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const task = cache.task<number>('fails', { root: project.root })
        let count = 0
        const run = (): Promise<number> =>
          task.run({ id: 'id' }, async () => {
            await pause(10)
            if (++count === 1) throw new RangeError('not today')
            return count
          })
        const errors = await Promise.all(
          [run(), run(), run()].map((promise) => promise.catch((error: unknown) => error)),
        )
        expect(errors[0]).toBeInstanceOf(RangeError)
        expect(errors.every((error) => error === errors[0])).toBe(true)
        expect([await run(), await run(), count]).toEqual([2, 2, 2])
        const synchronous = task.run({ id: 'other' }, () => {
          throw new Error('at once')
        })
        await expect(synchronous).rejects.toThrow('at once')
      })
    })

    it('a run does not join in-flight work whose files changed meanwhile', async () => {
      const project = subject.project()
      await project.settle('a', 'old')
      await withCache(subject, project, async (cache) => {
        const task = cache.task('read', { root: project.root, codec: 'text' })
        let content = 'old'
        const run = (): Promise<string> =>
          task.run({ id: 'id', files: ['a'] }, async () => {
            const read = content
            await pause(30)
            return read
          })
        const early = run()
        await pause(5)
        content = 'new'
        writeFileSync(project.path('a'), content)
        const late = await Promise.all([run(), run()])
        expect([await early, ...late]).toEqual(['old', 'new', 'new'])
        expect(await run()).toBe('new')
      })
    })

    it('concurrent runs do not share a result that must not be stored', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const run = (): Promise<number> =>
          counted.run({}, async (context) => {
            context.skipStore()
            await pause(10)
          })
        expect(new Set(await Promise.all([run(), run(), run()])).size).toBe(3)
        expect(await run()).toBe(4)
        expect(counted.task.stats()).toMatchObject({ misses: 4, notStored: 4 })
      })
    })

    it('the work of a task may run other tasks', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const outer = cache.task<string>('outer', { root: project.root })
        const inner = new Counted(cache, project.root)
        const run = (id: string): Promise<string> =>
          outer.run({ id }, async () => `${id} ${await inner.run({ id: 'shared' }, () => pause(5))}`)
        expect(await Promise.all([run('a'), run('b'), run('a')])).toEqual(['a 1', 'b 1', 'a 1'])
      })
    })

    it('a context that is used after its run is refused', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        let late: (() => void) | undefined
        await new Counted(cache, project.root).run({}, (context) => {
          late = () => context.addFile('late')
        })
        expect(() => late?.()).toThrow(
          expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('addFile') }),
        )
      })
    })
  })
}
