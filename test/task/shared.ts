/** Files and packages that every run of a task depends on. */
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import type { Cache } from 'varve'
import { describe, expect, it } from 'vitest'
import { Counted, type Project, type Subject, withCache } from './subject.ts'

const MANIFEST = 'node_modules/marked/package.json'

function manifest(version: string): string {
  return JSON.stringify({ name: 'marked', version })
}

/** A task as the next process makes it. */
function taskNow(cache: Cache, { root }: Project): Counted {
  return new Counted(cache, root, { packages: ['marked'], inputs: { options: {} } })
}

/** The outcome of the next run, and why it missed. */
async function outcomeNow(cache: Cache, project: Project): Promise<readonly [hits: number, reason: string]> {
  const counted = taskNow(cache, project)
  let reason = ''
  await counted.run({}, ({ why }) => (reason = why))
  return [counted.task.stats().hits, reason]
}

/** Links `node_modules/marked` to a folder. */
function link(project: Project, target: string): void {
  mkdirSync(project.path('node_modules'), { recursive: true })
  rmSync(project.path('node_modules/marked'), { recursive: true, force: true })
  symlinkSync(project.path(target), project.path('node_modules/marked'), 'junction')
}

export function sharedContract(subject: Subject): void {
  describe('shared dependencies', () => {
    it('a shared file is a dependency of every run, beside the files of the run', async () => {
      const project = subject.project()
      await project.settle('styles.config.json', 'one')
      await project.settle('a.css', 'one')
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root, { sharedFiles: ['styles.config.json'] })
        const numbers = async (): Promise<readonly number[]> => [
          await counted.run({ id: 'a', files: ['a.css'] }),
          await counted.run({ id: 'b' }),
        ]
        expect(await numbers()).toEqual([1, 2])
        expect(await numbers()).toEqual([1, 2])
        await project.settle('styles.config.json', 'two')
        expect((await counted.task.why('b')).differences).toMatchObject([{ kind: 'file', name: 'styles.config.json' }])
        expect(await numbers()).toEqual([3, 4])
        await project.settle('a.css', 'two')
        expect(await numbers()).toEqual([5, 4])
        expect(counted.task.stats().reasons).toEqual({ new: 2, 'file styles.config.json': 2, file: 1 })
        const requests = [{ id: 'a', files: ['a.css'] }, { id: 'b' }]
        await project.settle('styles.config.json', 'three')
        await counted.task.runMany(requests, () => 'many')
        expect((await counted.task.runMany(requests, () => 'not called')).map(({ status }) => status)).toEqual(
          requests.map(() => 'fulfilled'),
        )
        expect(counted.task.stats()).toMatchObject({ misses: 7 })
      })
    })

    it('a task that declares a shared file later does not use results that were made without it', async () => {
      const project = subject.project()
      await project.settle('styles.config.json', 'one')
      await withCache(subject, project, async (cache) => {
        await new Counted(cache, project.root).run()
        const later = new Counted(cache, project.root, { sharedFiles: ['styles.config.json'] })
        await later.run()
        expect([later.count, later.task.stats().reasons]).toEqual([1, { 'file styles.config.json': 1 }])
      })
    })

    it('another version of a package is a miss that names both versions', async () => {
      const project = subject.project()
      project.write(MANIFEST, manifest('12.0.0'))
      await withCache(subject, project, async (cache) => {
        expect(await outcomeNow(cache, project)).toEqual([0, 'nothing was stored'])
        expect(await outcomeNow(cache, project)).toEqual([1, ''])
        project.write(MANIFEST, manifest('12.0.1'))
        const counted = taskNow(cache, project)
        const digest = (version: string): unknown => expect.stringMatching(RegExp(`^b[\\w-]{22} ${version}$`))
        expect((await counted.task.why('id')).differences).toEqual([
          { kind: 'input', name: 'package marked', before: digest('12.0.0'), after: digest('12.0.1') },
        ])
        expect(await outcomeNow(cache, project)).toEqual([0, 'package marked 12.0.0 -> 12.0.1'])
        project.write(MANIFEST, manifest('12.0.0'))
        expect(await outcomeNow(cache, project)).toEqual([1, ''])
      })
    })

    it('a package is found above the root, and a nearer one replaces it', async () => {
      const project = subject.project()
      project.write(MANIFEST, manifest('1.0.0'))
      mkdirSync(project.path('packages/app'), { recursive: true })
      const app = { ...project, root: project.path('packages/app') }
      await withCache(subject, project, async (cache) => {
        await outcomeNow(cache, app)
        expect(await outcomeNow(cache, app)).toEqual([1, ''])
        project.write(`packages/app/${MANIFEST}`, manifest('2.0.0'))
        expect(await outcomeNow(cache, app)).toEqual([0, 'package marked 1.0.0 -> 2.0.0'])
      })
    })

    it('two copies of one version differ by where the link leads', async () => {
      const project = subject.project()
      const copyOf = (peer: string): string => `node_modules/.pnpm/marked@1_${peer}/node_modules/marked`
      const one = copyOf('one')
      const other = copyOf('other')
      for (const copy of [one, other]) project.write(`${copy}/package.json`, manifest('1.0.0'))
      await withCache(subject, project, async (cache) => {
        link(project, one)
        await outcomeNow(cache, project)
        expect(await outcomeNow(cache, project)).toEqual([1, ''])
        link(project, other)
        expect(await outcomeNow(cache, project)).toEqual([0, 'package marked changed'])
      })
    })

    it('an edit of a package that is a link into the project is a miss', async () => {
      const project = subject.project()
      project.write('packages/marked/package.json', manifest('1.0.0'))
      project.write('packages/marked/src/index.js', 'one')
      link(project, 'packages/marked')
      await withCache(subject, project, async (cache) => {
        await outcomeNow(cache, project)
        expect(await outcomeNow(cache, project)).toEqual([1, ''])
        project.write('packages/marked/src/index.js', 'two')
        expect(await outcomeNow(cache, project)).toEqual([0, 'package marked changed'])
        project.write('packages/marked/src/other.js', 'new')
        expect(await outcomeNow(cache, project)).toEqual([0, 'package marked changed'])
      })
    })

    it('a package that is not installed, and a path in place of a name, are refused', async () => {
      const project = subject.project()
      await withCache(subject, project, async (cache) => {
        const make = (name: string) => (): unknown => cache.task('made', { root: project.root, packages: [name] })
        expect(make('maked')).toThrow(`package 'maked' of option 'packages' is not installed in '${project.root}'`)
        for (const name of ['', '../marked', '/marked', 'marked/lib', '@scope']) {
          expect(make(name), name).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
        }
      })
    })
  })
}
