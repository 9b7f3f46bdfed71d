/** webpack in several worktrees of a repository that share one cache. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { writeProject } from '../plugins/webpack/projects.ts'
import { type Built, build } from '../plugins/webpack/runner.ts'
import { snapshot } from '../folders.ts'
import { slow } from '../slow.ts'
import { addWorktree, commitAll, git, makeRepository } from './repository.ts'

const MODULES = 3

/** An application of two modules and a loader, committed. */
function makeApplication(): string {
  const folder = makeRepository()
  writeProject(folder, {
    config: `{
      entry: './src/main.js', optimization: { minimize: false },
      module: { rules: [{ test: /src/, use: [join(folder, 'loader.cjs')] }] },
    }`,
    files: {
      'src/main.js': "import { part } from './part.js'\nimport { other } from './other.js'\nconsole.log(part, other)\n",
      'src/part.js': 'export const part = 1\n',
      'src/other.js': 'export const other = 1\n',
      'loader.cjs': loader(1),
      '.gitignore': 'dist\n',
    },
  })
  commitAll(folder)
  return folder
}

const loader = (version: number): string => `module.exports = (source) => source + '/* version ${version} */'\n`
const load = (folder: string, version: number): void => writeFileSync(join(folder, 'loader.cjs'), loader(version))

/** Builds, with the shared cache unless it is `none`. */
async function one(
  folder: string,
  cache: 'varve' | 'none' = 'varve',
  env: Record<string, string> = {},
): Promise<Built> {
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  const [built] = await build([{ folder, cache, options: { dir: 'git' } }], env)
  expect([built?.errors, built?.complaints]).toEqual([[], []])
  return built ?? expect.fail('no build')
}

/** Builds, expects the output of a build without a cache, and returns how many modules were built. */
async function builtIn(folder: string, env: Record<string, string> = {}): Promise<number> {
  const { files } = await one(folder, 'none')
  const found = await one(folder, 'varve', env)
  expect(found.files).toEqual(files)
  return found.built
}

describe("worktrees with dir: 'git'", slow, () => {
  it('a new worktree takes every module from the cache, with the output of a build without one, on both engines', async () => {
    const app = makeApplication()
    expect(await builtIn(app)).toBe(MODULES)
    expect(await builtIn(addWorktree(app, 'native'))).toBe(0)
    expect(await builtIn(addWorktree(app, 'wasm'), { VARVE_ENGINE: 'wasm' })).toBe(0)
  })

  it('a worktree builds the modules that differ, and no others', async () => {
    const app = makeApplication()
    await builtIn(app)
    const feature = addWorktree(app, 'feature')
    writeFileSync(join(feature, 'src/part.js'), 'export const part = 2\n')
    expect([await builtIn(feature), await builtIn(feature)]).toEqual([1, 0])
    expect([await builtIn(app), await builtIn(app)]).toEqual([1, 0])
  })

  it('worktrees with different loaders take turns without building again', async () => {
    const app = makeApplication()
    const feature = addWorktree(app, 'feature')
    load(feature, 2)
    expect([await builtIn(app), await builtIn(feature)]).toEqual([MODULES, MODULES])
    expect([await builtIn(app), await builtIn(feature), await builtIn(app)]).toEqual([0, 0, 0])
  })

  it('a worktree that is removed takes nothing with it', async () => {
    const app = makeApplication()
    const feature = addWorktree(app, 'feature')
    await builtIn(feature)
    git(app, 'worktree', 'remove', '--force', feature)
    expect(await builtIn(app)).toBe(0)
  })
})

describe('branches that take turns in one checkout', slow, () => {
  it('a branch with another loader is built once, and the first one still hits', async () => {
    const app = makeApplication()
    const order: number[] = []
    for (const version of [1, 2, 1, 2]) {
      load(app, version)
      order.push(await builtIn(app))
    }
    expect(order).toEqual([MODULES, MODULES, 0, 0])
  })

  it('values of the option version take turns without building again, and the last build writes nothing', async () => {
    const app = makeApplication()
    const dir = join(app, '.git/varve/webpack')
    const built: number[] = []
    const contents: Record<string, string>[] = []
    for (const version of ['1', '2', '1', '2', '1']) {
      const [found] = await build([{ folder: app, cache: 'varve', options: { dir: 'git', version } }])
      built.push(found?.built ?? Number.NaN)
      contents.push(snapshot(dir))
    }
    expect(built).toEqual([MODULES, MODULES, 0, 0, 0])
    expect(contents[4]).toEqual(contents[3])
  })

  it('the cache keeps the entries of the newest four environments', async () => {
    const app = makeApplication()
    for (const version of [1, 2, 3, 4, 5, 6]) {
      load(app, version)
      expect(await builtIn(app)).toBe(MODULES)
    }
    load(app, 3)
    expect(await builtIn(app)).toBe(0)
    load(app, 2)
    expect(await builtIn(app)).toBe(MODULES)
    const cache = await openCache({ name: 'webpack', dir: join(app, '.git/varve/webpack'), readOnly: true })
    const { namespaces } = await cache.stats()
    await cache.close()
    const packs = namespaces.filter(({ name, entries }) => name.startsWith('webpack packs') && entries > 0)
    expect(packs.map(({ name }) => name).sort()).toHaveLength(4)
  })
})
