/** Work that waits for itself, directly or through other work, is refused, and no other work. */
import type { Task } from 'varve'
import { TaskCycleError, VarveError } from 'varve'
import { describe, expect, it } from 'vitest'
import { type Project, type Subject, withCache } from './subject.ts'

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Which modules import which. */
type Graph = Readonly<Record<string, readonly string[]>>

/** Asks for a module, whose work asks for what it imports; the result is the number of modules. */
async function load(task: (id: string) => Task<number>, graph: Graph, id: string): Promise<number> {
  return task(id).run({ id }, async () => {
    await pause(1)
    const counts = await Promise.all((graph[id] ?? []).map((imported) => load(task, graph, imported)))
    return counts.reduce((sum, count) => sum + count, 1)
  })
}

const outcome = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((error: unknown) =>
    error instanceof TaskCycleError ? error.chain.map(({ task, id }) => `${task} ${id}`) : error,
  )

export function cyclesContract(subject: Subject): void {
  describe('cycles', { timeout: 10_000 }, () => {
    const withTask = (test: (task: Task<number>, project: Project) => Promise<void>): Promise<void> => {
      const project = subject.project()
      return withCache(subject, project, (cache) => test(cache.task<number>('load', { root: project.root }), project))
    }

    it.each<[string, Graph, readonly string[]]>([
      ['a module that imports itself', { a: ['a'] }, ['load a', 'load a']],
      ['two that import each other', { a: ['b'], b: ['a'] }, ['load b', 'load a', 'load b']],
      [
        'a cycle far from the root',
        { a: ['b'], b: ['c', 'x'], c: ['d'], d: ['b'] },
        ['load d', 'load b', 'load c', 'load d'],
      ],
    ])('%s hang for ever', async (_, graph, chain) => {
      await withTask(async (task) => {
        expect(await outcome(load(() => task, graph, 'a'))).toEqual(chain)
        // Nothing of it is stored, nothing is left behind: without the cycle it works.
        expect(await load(() => task, { a: ['b', 'c'], b: ['c'] }, 'a')).toBe(4)
      })
    })

    it('modules that import each other and are asked for at the same time hang for ever', async () => {
      await withTask(async (task) => {
        const graph = { a: ['b'], b: ['c'], c: ['a'], d: ['a'] }
        const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map((id) => outcome(load(() => task, graph, id))))
        expect(new Set(outcomes.map(String)).size).toBe(1)
        expect(outcomes[0]).toHaveLength(4)
      })
    })

    it('work that waits for itself through another task, handle and cache hangs for ever', async () => {
      const project = subject.project()
      const [one, two] = await Promise.all([subject.open(project.dir), subject.open(project.dir)])
      const other = await subject.open(`${project.dir} of another`)
      const tasks: Record<string, Task<number>> = {
        a: one.task<number>('load', { root: project.root }),
        b: other.task<number>('transform', { root: project.root }),
        c: two.task<number>('load', { root: project.root }),
      }
      // 'a' is asked for by another handle of the same folder.
      const again = two.task<number>('load', { root: project.root })
      const graph = { a: ['b'], b: ['c'], c: ['a'] }
      let isFirst = true
      const taskOf = (id: string): Task<number> => {
        const task = id === 'a' && !isFirst ? again : tasks[id]
        isFirst = false
        return task ?? again
      }
      expect(await outcome(load(taskOf, graph, 'a'))).toEqual(['load c', 'load a', 'transform b', 'load c'])
      await Promise.all([one.close(), two.close(), other.close()])
    })

    it('work may go on without the run that would close a cycle', async () => {
      const costOf = (error: unknown): number =>
        error instanceof VarveError && error.code === 'TASK_CYCLE' ? 100 : 1000
      await withTask(async (task) => {
        const lenient = (id: string, imports: readonly string[]): Promise<number> =>
          task.run({ id }, async () => {
            const counts = imports.map((imported) => lenient(imported, ['a']).catch(costOf))
            return (await Promise.all(counts)).reduce((sum, count) => sum + count, 1)
          })
        expect(await lenient('a', ['b', 'c'])).toBe(203)
      })
    })

    it('work that many wait for, and that waits for many, is not a cycle', async () => {
      await withTask(async (task) => {
        const layers = Array.from({ length: 12 }, (_, layer) => [0, 1, 2, 3].map((index) => `${layer} ${index}`))
        const graph = Object.fromEntries(
          layers.flatMap((layer, index) => layer.map((id) => [id, layers[index + 1] ?? []])),
        )
        expect(await load(() => task, graph, '0 0')).toBe(
          Array.from({ length: 12 }, (_, layer) => 4 ** layer).reduce((sum, count) => sum + count),
        )
        expect(task.stats().misses).toBe(45)
      })
    })

    it('runs that are begun inside of work and not awaited are no cycle, if the work does not take long', async () => {
      await withTask(async (task) => {
        const begun: Promise<unknown>[] = []
        const crawl = (id: string, imports: readonly string[]): Promise<number> => {
          const run = task.run({ id }, () => {
            for (const imported of imports) crawl(imported, ['a'])
            return 1
          })
          begun.push(run)
          return run
        }
        await crawl('a', ['b', 'c'])
        for (let index = 0; index < begun.length; index++) expect(await begun[index]).toBe(1)
      })
    })
  })
}
