/** Tasks that run others inside of them: the outer one depends on all that the inner one depends on, also if it only waited for its result. */
import { readFileSync } from 'node:fs'
import { setImmediate as tick } from 'node:timers/promises'
import { unrecorded } from 'varve/reads'
import { expect, it } from 'vitest'
import { Counted, onEngine, withCache } from '../task/subject.ts'

onEngine('native', (subject) => {
  it('what a task reads inside of another is an input of both, also when the inner one is a hit', async () => {
    const project = subject.project()
    await project.settle('a.txt', 'one')
    const build = (ids: readonly string[]): Promise<string[]> =>
      withCache(subject, project, async (cache) => {
        const made: string[] = []
        const options = { root: project.root, codec: 'text', trackReads: true } as const
        const [outer, inner] = [cache.task('outer', options), cache.task('inner', options)]
        const innerWork = (): string => {
          made.push('inner')
          return readFileSync(project.path('a.txt'), 'utf8')
        }
        for (const id of ids) {
          if (id === 'inner') await inner.run({ id: 'i' }, innerWork)
          else await outer.run({ id: 'o' }, () => (made.push('outer'), inner.run({ id: 'i' }, innerWork)))
        }
        return made
      })
    expect(await build(['inner'])).toEqual(['inner'])
    expect(await build(['outer'])).toEqual(['outer'])
    expect(await build(['outer'])).toEqual([])
    project.write('a.txt', 'two')
    expect(await build(['outer'])).toEqual(['outer', 'inner'])
  })

  // Only the first of them depended on the inner task, so the second one stayed stale.
  it.each([
    ['one after another', 'reads', false],
    ['one after another', 'declares', false],
    ['at the same time', 'reads', true],
    ['at the same time', 'declares', true],
  ])('two tasks that run one inside of them %s both depend on what it %s', async (_, how, isAtOnce) => {
    const project = subject.project()
    await project.settle('a.txt', 'one')
    const path = project.path('a.txt')
    const build = (ids: readonly string[]): Promise<string[]> =>
      withCache(subject, project, async (cache) => {
        const made: string[] = []
        const options = { root: project.root, codec: 'text', trackReads: true } as const
        const inner = cache.task('inner', { ...options, trackReads: how === 'reads' })
        const runInner = (): Promise<string> =>
          inner.run({ id: 'i' }, async (context) => {
            await tick()
            if (how === 'declares') context.addFile(path)
            return unrecorded(() => readFileSync(path, 'utf8')) + (how === 'reads' ? readFileSync(path, 'utf8') : '')
          })
        const runs = ids.map((id) => () => cache.task(id, options).run({ id }, () => (made.push(id), runInner())))
        if (isAtOnce) await Promise.all(runs.map((run) => run()))
        else for (const run of runs) await run()
        return made
      })
    expect(await build(['first', 'second'])).toEqual(['first', 'second'])
    expect(await build(['second'])).toEqual([])
    project.write('a.txt', 'two')
    expect(await build(['second'])).toEqual(['second'])
  })

  it('of an inner task that misses, what it declares now is an input of the outer one, and what it declared before is not', async () => {
    const project = subject.project()
    for (const name of ['before.txt', 'now.txt', 'asked.txt']) await project.settle(name, '1')
    const build = (declared: string): Promise<number> =>
      withCache(subject, project, async (cache) => {
        const outer = new Counted(cache, project.root, { trackReads: true })
        const inner = cache.task('inner', { root: project.root, codec: 'text' })
        const request = { id: 'i', files: [project.path('asked.txt')] }
        await outer.run({}, () => inner.run(request, (context) => (context.addFile(project.path(declared)), declared)))
        return outer.count
      })
    expect(await build('before.txt')).toBe(1)
    project.write('before.txt', '2')
    expect(await build('now.txt')).toBe(1)
    project.write('before.txt', '3')
    expect(await build('now.txt')).toBe(0)
    project.write('now.txt', '2')
    expect(await build('now.txt')).toBe(1)
    project.write('asked.txt', '2')
    expect(await build('now.txt')).toBe(1)
    expect(await build('now.txt')).toBe(0)
  })
})
