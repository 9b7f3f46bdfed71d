/** What changes between two runs of one process, by the program or by the work itself. */
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import type { Cache, Task } from 'varve'
import { expect, it } from 'vitest'
import { Counted, onEngine, type Project, withCache } from '../task/subject.ts'

/** Sets the variables in a file, if there is one. */
function loadOrNothing(path: string): void {
  try {
    process.loadEnvFile(path)
  } catch {
    // missing
  }
}

const FORCE = { force: true, recursive: true }

function setVariable(value: string | undefined): void {
  if (value === undefined) delete process.env['VARVETEST_READ']
  else process.env['VARVETEST_READ'] = value
}

/** What work reads, and a change of it to and fro. */
const CHANGES: readonly [
  name: string,
  read: (project: Project) => unknown,
  change: (project: Project, isSecond: boolean) => unknown,
][] = [
  ['a variable', () => process.env['VARVETEST_READ'], (_, isSecond) => setVariable(isSecond ? 'two' : undefined)],
  [
    'whether a file exists',
    ({ path }) => existsSync(path('b')),
    ({ path }, isSecond) => (isSecond ? mkdirSync(path('b')) : rmSync(path('b'), FORCE)),
  ],
  [
    'the names below a folder',
    ({ path }) => readdirSync(path('list'), { recursive: true }),
    ({ path }, isSecond) => (isSecond ? mkdirSync(path('list/b')) : rmSync(path('list/b'), FORCE)),
  ],
  [
    'where a link leads',
    ({ path }) => realpathSync(path('link')),
    ({ path }, isSecond) => (rmSync(path('link'), FORCE), symlinkSync(isSecond ? 'list' : '.', path('link'))),
  ],
]

onEngine('native', (subject) => {
  it.each(
    CHANGES.flatMap(
      (row) =>
        [
          [...row, 'never'],
          [...row, 'after each run'],
        ] as const,
    ),
  )(
    'what the program changes between runs of one task: the result of its old state is used ($0, commits: $3)',
    async (_, read, change, commits) => {
      const project = subject.project()
      await project.settle('list/a', '')
      const runAll = (values: string, after: (cache: Cache) => Promise<unknown>): Promise<unknown> =>
        withCache(subject, project, async (cache) => {
          const task: Task<string> = cache.task('work', { root: project.root, codec: 'text', trackReads: true })
          for (const next of values) {
            change(project, next === '2')
            const work = (id: string): string => `${id} ${JSON.stringify(read(project))}`
            for (const id of ['a', 'b']) {
              const found: string = await task.run({ id }, () => work(id))
              expect(found).toBe(work(id))
            }
            await after(cache)
          }
        })
      await runAll('1212', async (cache) => (commits === 'never' ? undefined : cache.commit()))
      await runAll('1', async () => undefined)
      await runAll('2', async () => undefined)
      change(project, false)
    },
  )

  it.each([
    ['sets', undefined, 'set'],
    ['removes', 'set', undefined],
  ])('a result is stored although its work reads a variable, %s it and reads it again', async (_, before, after) => {
    const project = subject.project()
    const work = (): void => {
      expect(process.env['VARVETEST_READ']).toBe(before)
      setVariable(after)
      expect(process.env['VARVETEST_READ']).toBe(after)
    }
    const once = (): Promise<number> =>
      withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root, { trackReads: true })
        await counted.run({}, work)
        return counted.count
      })
    for (const count of [1, 0]) {
      setVariable(before)
      expect(await once()).toBe(count)
    }
    setVariable(undefined)
  })

  it('a file of variables that the work loads, or looks for, is an input, and its variables are none', async () => {
    const project = subject.project()
    const path = project.path('.env')
    /** What the work finds in a process of its own; undefined if its result was stored. */
    const once = (given?: string): Promise<string | undefined> =>
      withCache(subject, project, async (cache) => {
        setVariable(given)
        delete process.env['VARVETEST_OTHER']
        let found: string | undefined
        const counted = new Counted(cache, project.root, { trackReads: true })
        await counted.run({}, () => {
          loadOrNothing(path)
          found = process.env['VARVETEST_READ'] ?? 'nothing'
        })
        return found
      })
    const bothTimes = async (given?: string): Promise<unknown> => [await once(given), await once(given)]
    expect(await bothTimes()).toEqual(['nothing', undefined])
    await project.settle('.env', 'VARVETEST_READ=one')
    expect(await bothTimes()).toEqual(['one', undefined])
    await project.settle('.env', 'VARVETEST_READ=two')
    expect(await bothTimes()).toEqual(['two', undefined])
    expect(await bothTimes('of the shell')).toEqual(['of the shell', undefined])
    await project.settle('.env', 'VARVETEST_OTHER=two')
    expect(await bothTimes()).toEqual(['nothing', undefined])
    await project.settle('.env', 'VARVETEST_READ=three')
    expect(await bothTimes()).toEqual(['three', undefined])
    setVariable(undefined)
    delete process.env['VARVETEST_OTHER']
  })
})
