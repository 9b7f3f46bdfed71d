/** When a file counts as changed, and when it does not. */
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { Counted, type Subject, withCache } from './subject.ts'

const WHILE_RUNNING: readonly ('asked for' | 'added' | 'added with content')[] = [
  'asked for',
  'added',
  'added with content',
]

export function filesContract(subject: Subject): void {
  describe('files', () => {
    it.each(WHILE_RUNNING)(
      'a changed %s is a miss, and one that is changed back is a hit, by content and not by time',
      async (how) => {
        const project = subject.project()
        await project.settle('src/a.css', 'one')
        await withCache(subject, project, async (cache) => {
          const counted = new Counted(cache, project.root)
          const run = (content: string): Promise<number> => {
            if (how === 'asked for') return counted.run({ files: ['src/a.css'] })
            return counted.run({}, (context) => context.addFile('src/a.css', how === 'added' ? undefined : content))
          }
          expect([await run('one'), await run('one')]).toEqual([1, 1])
          await project.settle('src/a.css', 'two')
          expect([await run('two'), await run('two')]).toEqual([2, 2])
          await project.settle('src/a.css', 'one')
          expect(await run('one')).toBe(1)
        })
      },
    )

    it('a changed file with its old size and time is a miss', async () => {
      const project = subject.project()
      const settleOld = async (content: string): Promise<void> => {
        project.write('a', content)
        utimesSync(project.path('a'), 1e9, 1e9)
        await project.settle('other', '')
      }
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        await settleOld('one')
        expect([await counted.run({ files: ['a'] }), await counted.run({ files: ['a'] })]).toEqual([1, 1])
        await settleOld('two')
        expect(await counted.run({ files: ['a'] })).toBe(2)
      })
    })

    it('a file that is an input for the first time is a miss', async () => {
      const project = subject.project()
      await project.settle('a', '')
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        expect([await counted.run({}), await counted.run({ files: ['a'] })]).toEqual([1, 2])
        expect([await counted.run({ files: ['a', 'b'] }), await counted.run({ files: ['a', 'b'] })]).toEqual([3, 3])
      })
    })

    it('a file with a new time and its old content is a hit, and the entry is updated once', async () => {
      const project = subject.project()
      await project.settle('a', 'same')
      const hour = 3600
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        await counted.run({ files: ['a'] })
        await cache.commit()
        utimesSync(project.path('a'), 1e9 + hour, 1e9 + hour)
        await project.settle('b', '')
        expect(await counted.run({ files: ['a'] })).toBe(1)
        expect((await cache.commit()).entries).toBe(1)
        expect(await counted.run({ files: ['a'] })).toBe(1)
        expect((await cache.commit()).entries).toBe(0)
        expect(counted.task.stats()).toMatchObject({ hits: 2, healed: 1 })
      })
    })

    it('files that are rewritten faster than the clock ticks never get a stale result', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const task = cache.task('read', { root: project.root, codec: 'text' })
        let current = ''
        const run = (): Promise<string> => task.run({ id: 'id', files: ['a'] }, () => current)
        for (let round = 0; round < 300; round++) {
          current = String(1000 + round)
          writeFileSync(project.path('a'), current)
          expect(await run()).toBe(current)
          expect(await run()).toBe(current)
        }
      })
    })

    it.each(WHILE_RUNNING)(
      '%s: a missing file is a state of its own, when it appears and when it disappears again',
      async (how) => {
        if (how === 'added with content') return
        const project = subject.project()
        await withCache(subject, project, async (cache) => {
          const counted = new Counted(cache, project.root)
          const files = ['none/a.css', 'b.css']
          const run = (): Promise<number> =>
            how === 'asked for'
              ? counted.run({ files })
              : counted.run({}, (context) => files.forEach((file) => context.addFile(file)))
          expect([await run(), await run()]).toEqual([1, 1])
          await project.settle('none/a.css', '')
          expect([await run(), await run()]).toEqual([2, 2])
          rmSync(project.path('none'), { recursive: true })
          expect(await run()).toBe(1)
          await project.settle('none', 'a file where its folder was')
          expect(await run()).toBe(1)
          await project.settle('b.css', '')
          expect(await run()).toBe(3)
        })
      },
    )

    it.each([
      ['before the work reads it', 'asked for'],
      ['before the work reports it', 'added'],
      ['after the work reported it', 'added early'],
    ])('changed while the work runs, %s: the result is returned and not stored', async (_, how) => {
      const project = subject.project()
      await project.settle('a', 'one')
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const files = how === 'asked for' ? ['a'] : []
        const change = counted.run({ files }, async (context) => {
          if (how === 'added early') context.addFile('a')
          writeFileSync(project.path('a'), 'two')
          if (how === 'added') context.addFile('a')
        })
        expect(await change).toBe(1)
        expect(counted.task.stats()).toMatchObject({ misses: 1, notStored: 1 })
        expect(await counted.run({ files }, (context) => context.addFile('a'))).toBe(2)
      })
    })

    it('a file that is changed and changed back during the work, with its old time, is not stored', async () => {
      const project = subject.project()
      await project.settle('a', 'one')
      const { atime, mtime } = statSync(project.path('a'))
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        await counted.run({ files: ['a'] }, () => {
          writeFileSync(project.path('a'), 'two')
          writeFileSync(project.path('a'), 'one')
          utimesSync(project.path('a'), atime, mtime)
        })
        expect(counted.task.stats()).toMatchObject({ notStored: 1 })
      })
    })

    it('a declared digest that differs from the content of the file is checked again', async () => {
      const project = subject.project()
      await project.settle('a', 'on disk')
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const run = (): Promise<number> => counted.run({}, (context) => context.addFile('a', 'read before'))
        expect([await run(), await run()]).toEqual([1, 2])
        await project.settle('a', 'read before')
        expect(await run()).toBe(2)
      })
    })

    it('an input file may be large', async () => {
      const project = subject.project()
      const large = 'x'.repeat(9_000_000)
      await project.settle('large', `${large}1`)
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const run = (): Promise<number> => counted.run({ files: ['large'] })
        expect([await run(), await run()]).toEqual([1, 1])
        await project.settle('large', `${large}2`)
        expect(await run()).toBe(2)
        await project.settle('large', `${large}1`)
        expect(await run()).toBe(1)
        expect(await counted.run({ id: 'reported' }, (context) => context.addFile('large', `${large}1`))).toBe(3)
        expect(await counted.run({ id: 'reported' })).toBe(3)
      })
    })
  })

  describe('folders', () => {
    it('a folder as input counts as the names in it', async () => {
      const project = subject.project()
      await project.settle('icons/a.svg', '')
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const run = (): Promise<number> => counted.run({ files: ['icons'] })
        expect([await run(), await run()]).toEqual([1, 1])
        appendFileSync(project.path('icons/a.svg'), 'content')
        expect(await run()).toBe(1)
        await project.settle('icons/b.svg', '')
        expect([await run(), await run()]).toEqual([2, 2])
        renameSync(project.path('icons/b.svg'), project.path('icons/c.svg'))
        expect(await run()).toBe(3)
        rmSync(project.path('icons/c.svg'))
        expect(await run()).toBe(1)
        rmSync(project.path('icons'), { recursive: true })
        await project.settle('icons', 'a.svg')
        expect(await run()).toBe(4)
      })
    })
  })

  describe.skipIf(process.platform === 'win32')('an input that is not a regular file', () => {
    it('a pipe as input never blocks and is never stored, and a link is its target', async () => {
      const project = subject.project()
      execFileSync('mkfifo', [project.path('pipe')])
      mkdirSync(project.path('sub'))
      await project.settle('sub/target', 'one')
      symlinkSync('sub/target', project.path('link'))
      symlinkSync('loop', project.path('loop'))
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const run = (path: string): Promise<number> => counted.run({ id: path, files: [path] })
        expect([await run('pipe'), await run('pipe'), await run('loop'), await run('loop')]).toEqual([1, 2, 3, 4])
        expect([await run('link'), await run('link')]).toEqual([5, 5])
        await project.settle('sub/target', 'two')
        expect(await run('link')).toBe(6)
      })
    })
  })
}
