/** Many requests at once have the results of single runs, one by one. */
import { utimesSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Cache, Task, TaskContext, TaskRequest } from 'varve'
import { type Project, type Subject, withCache } from './subject.ts'

const COUNT = 150
const names = Array.from({ length: COUNT }, (_, index) => `src/file-${index}.js`)

/** A project with many files that have settled. */
async function manyFiles(subject: Subject): Promise<Project> {
  const project = subject.project()
  for (const name of names) project.write(name, `content of ${name}`)
  await project.settle('shared.json', '{}')
  return project
}

/** A task whose work is noted by id. */
class Noting {
  readonly done: string[] = []
  readonly task: Task<string>

  constructor(cache: Cache, project: Project) {
    this.task = cache.task('noting', { root: project.root, codec: 'text' })
  }

  async run(requests: readonly TaskRequest[], more?: (context: TaskContext, id: string) => unknown): Promise<string[]> {
    const results = await this.task.runMany(requests, async (context, { id }) => {
      this.done.push(id)
      await more?.(context, id)
      return `result of ${id}`
    })
    return results.map((result) => (result.status === 'fulfilled' ? result.value : `failed: ${result.reason}`))
  }
}

const requests = names.map((id): TaskRequest => ({ id, files: [id, 'shared.json'] }))
const results = names.map((name) => `result of ${name}`)

export function runManyContract(subject: Subject): void {
  it('many runs at once hit where single runs would, and only what changed is done again', async () => {
    const project = await manyFiles(subject)
    await withCache(subject, project, async (cache) => {
      const { task, done, run } = bound(cache, project)
      expect(await run(requests)).toEqual(results)
      expect(done).toEqual(names)
      expect(await run(requests)).toEqual(results)
      expect(task.stats()).toMatchObject({ hits: COUNT, misses: COUNT })
      await project.settle('src/file-7.js', 'other')
      expect(await run(requests)).toEqual(results)
      expect(done.slice(COUNT)).toEqual(['src/file-7.js'])
      expect(await task.run(requests[9] ?? { id: '' }, () => 'not called')).toBe(results[9])
      await project.settle('shared.json', '[]')
      await run(requests)
      expect(done).toHaveLength(2 * COUNT + 1)
    })
  })

  it('files that only moved in time are hits whose stamps are renewed, also in a later process', async () => {
    const project = await manyFiles(subject)
    await withCache(subject, project, (cache) => bound(cache, project).run(requests))
    for (const name of names) utimesSync(project.path(name), 1e9, 1e9)
    await sleep(50)
    await withCache(subject, project, async (cache) => {
      const { task, run } = bound(cache, project)
      expect(await run(requests)).toEqual(results)
      expect(task.stats()).toMatchObject({ hits: COUNT, misses: 0, healed: COUNT })
    })
    await withCache(subject, project, async (cache) => {
      const { task, run } = bound(cache, project)
      expect(await run(requests)).toEqual(results)
      expect(task.stats()).toMatchObject({ hits: COUNT, misses: 0, healed: 0 })
      writeFileSync(project.path('src/file-3.js'), 'content of src/file-x.js')
      expect((await task.why('src/file-3.js', {}, { files: requests[3]?.files })).outcome).toBe('changed')
    })
  })

  it('one of many that fails is rejected, and the others have their results', async () => {
    const project = await manyFiles(subject)
    await withCache(subject, project, async (cache) => {
      const { task, run } = bound(cache, project)
      const wrong = [{ id: '' }, { id: 'a', inputs: { made: () => 1 } }, { id: 'b', other: 1 }] as TaskRequest[]
      const outcomes = await run([...wrong, ...requests], (_, id) => {
        if (id === 'src/file-5.js') throw new Error('planted')
      })
      const expected = results.map((result, index) => (index === 5 ? 'failed: Error: planted' : result))
      expect(outcomes.slice(3)).toEqual(expected)
      const single = await Promise.allSettled(wrong.map((request) => task.run(request, () => 'x')))
      const messages = single.map((each) => (each.status === 'rejected' ? `failed: ${each.reason}` : ''))
      expect(outcomes.slice(0, 3).map((text) => text.replace('runMany', 'run'))).toEqual(messages)
      expect(await run(requests)).toEqual(results)
      expect(task.stats()).toMatchObject({ hits: COUNT - 1 })
      await expect(task.runMany({} as TaskRequest[], () => 'x')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
      await expect(task.runMany([], 'x' as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
      expect(await task.runMany([], () => 'x')).toEqual([])
    })
  })

  it('equal requests among many, and those in flight, do the work once', async () => {
    const project = await manyFiles(subject)
    await withCache(subject, project, async (cache) => {
      const { task, done, run } = bound(cache, project)
      const before = task.run(requests[0] ?? { id: '' }, async () => {
        await sleep(20)
        return 'in flight'
      })
      const outcomes = await run([...requests, ...requests], () => sleep(5))
      expect(await before).toBe('in flight')
      expect([outcomes[0], outcomes[COUNT]]).toEqual(['in flight', 'in flight'])
      expect(outcomes.slice(1, COUNT)).toEqual(results.slice(1))
      expect(done).toEqual(names.slice(1))
    })
  })

  it('work may run many others, whose files it then depends on; one that waits for itself is refused', async () => {
    const project = await manyFiles(subject)
    await withCache(subject, project, async (cache) => {
      const inner = bound(cache, project)
      const outer = cache.task('outer', { root: project.root, codec: 'text', trackReads: true })
      let count = 0
      const build = (): Promise<string> =>
        outer.run({ id: 'all' }, async () => {
          count += 1
          return (await inner.run(requests)).join('\n')
        })
      expect(await build()).toBe(results.join('\n'))
      expect(await build()).toBe(results.join('\n'))
      expect([count, inner.done.length]).toEqual([1, COUNT])
      await project.settle('src/file-100.js', 'other')
      expect(await build()).toBe(results.join('\n'))
      expect([count, inner.done.length]).toEqual([2, COUNT + 1])
      const cycle = await inner.task.runMany([{ id: 'cycle' }], async (): Promise<string> => {
        const [own] = await inner.task.runMany([{ id: 'cycle' }], () => 'not called')
        if (own?.status === 'rejected') throw own.reason
        return 'no cycle'
      })
      expect(cycle).toMatchObject([{ status: 'rejected', reason: { code: 'TASK_CYCLE' } }])
    })
  })

  it('inputs that work adds, and results that the caller refuses, are looked at for each of many', async () => {
    const project = await manyFiles(subject)
    await withCache(subject, project, async (cache) => {
      let current = 'one'
      const task = cache.task('adding', { root: project.root, codec: 'text', findInput: () => current })
      const run = async (accept?: (result: unknown) => boolean): Promise<unknown[]> => {
        const all = await task.runMany([{ id: 'a', accept }, { id: 'b' }], (context, { id }) => {
          context.addInput('current', current)
          return `${id} ${current} ${accept === undefined ? '' : 'again'}`
        })
        return all.map((each) => (each.status === 'fulfilled' ? each.value : each.reason))
      }
      expect(await run()).toEqual(['a one ', 'b one '])
      expect(await run()).toEqual(['a one ', 'b one '])
      expect(task.stats()).toMatchObject({ hits: 2, misses: 2 })
      current = 'two'
      expect(await run()).toEqual(['a two ', 'b two '])
      expect(await run(() => false)).toEqual(['a two again', 'b two '])
    })
  })
}

function bound(cache: Cache, project: Project): Pick<Noting, 'task' | 'done'> & { readonly run: Noting['run'] } {
  const noting = new Noting(cache, project)
  return { task: noting.task, done: noting.done, run: (all, more) => noting.run(all, more) }
}
