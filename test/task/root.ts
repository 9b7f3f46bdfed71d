/** Paths and ids are relative to the root, so that a moved checkout or another worktree hits. */
import { cpSync, mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { Counted, type Subject, withCache } from './subject.ts'

export function rootContract(subject: Subject): void {
  describe('the root', () => {
    it('a moved or copied root hits, with absolute paths and ids, also of files outside of it', async () => {
      const project = subject.project()
      await project.settle('packages/app/src/a.ts', 'a')
      await project.settle('packages/other/b.ts', 'b')
      const run = (counted: Counted, base: string): Promise<number> =>
        counted.run(
          { id: join(base, 'packages/app/src/a.ts'), files: [join(base, 'packages/app/src/a.ts')] },
          (context) => {
            context.addFile(join(base, 'packages/other/b.ts'))
            context.addFile('../../packages/app/./src/../missing.ts')
          },
        )
      await withCache(subject, project, async (cache) => {
        expect(await run(new Counted(cache, project.path('packages/app')), project.root)).toBe(1)
        await cache.commit()
      })
      const base = join(makeFolder(), 'moved')
      cpSync(project.root, base, { recursive: true, preserveTimestamps: true })
      renameSync(project.path('packages'), project.path('elsewhere'))
      await project.settle('elsewhere/other/b.ts', 'changed in the old place')
      const cache = await subject.open(join(base, 'cache'))
      const counted = new Counted(cache, join(base, 'packages/app'))
      counted.count = 10
      expect([await run(counted, base), await run(counted, base)]).toEqual([1, 1])
      expect(counted.task.stats()).toMatchObject({ hits: 2, healed: 1 })
      renameSync(join(base, 'packages/other/b.ts'), join(base, 'packages/other/c.ts'))
      expect(await run(counted, base)).toBe(11)
      await cache.close()
    })

    it.skipIf(process.platform === 'win32')(
      'a file outside of a root that is a link counts as missing, and its changes go unnoticed',
      async () => {
        const project = subject.project()
        mkdirSync(project.path('elsewhere/app'), { recursive: true })
        symlinkSync('elsewhere/app', project.path('app'))
        await project.settle('config', 'one')
        await withCache(subject, project, async (cache) => {
          const counted = new Counted(cache, project.path('app'))
          const run = (): Promise<number> => counted.run({ files: [project.path('config'), '../missing'] })
          expect([await run(), await run()]).toEqual([1, 1])
          await project.settle('config', 'two')
          expect([await run(), await run()]).toEqual([2, 2])
          await project.settle('missing', '')
          expect(await run()).toBe(3)
        })
      },
    )

    it('a relative id and the absolute one below the root are the same id', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        expect(await counted.run({ id: `${project.path('src/a.vue')}?vue&type=style` })).toBe(1)
        expect(await counted.run({ id: 'src/a.vue?vue&type=style' })).toBe(1)
        expect(await counted.run({ id: `${project.root}-other/src/a.vue?vue&type=style` })).toBe(2)
        expect(await counted.run({ id: '\0virtual' })).toBe(3)
      })
    })

    it('different ids of any length have different results', async () => {
      const project = subject.project()
      const long = 'x'.repeat(200_000)
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root)
        const ids = [long, `${long}1`, `${long}2`, '日'.repeat(50_000), `${'日'.repeat(50_000)}1`]
        for (const round of [1, 2])
          for (const [index, id] of ids.entries()) expect(await counted.run({ id }), `round ${round}`).toBe(index + 1)
      })
    })
  })
}
