/** A cache in another checkout: all entries are found there, except those that name their own place in the file system. */
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import webpack from 'webpack'
import { Root } from '../../../packages/plugins/dist/build/root.js'
import { pathSerializers } from '../../../packages/plugins/dist/webpack/value.js'
import { runVarve } from '../../command.ts'
import { makeFolder } from '../../folders.ts'
import { slow } from '../../slow.ts'
import { PROJECTS, writeProject } from './projects.ts'
import { type Built, build, type Order } from './runner.ts'

const NAMES = Object.keys(PROJECTS)

/** Builds each project in its own directory of `place`; all in one process. */
function buildAll(place: string, cache: 'none' | 'varve', env: Record<string, string> = {}): Promise<Built[]> {
  return build(
    NAMES.map((_, index) => ({ folder: join(place, String(index), 'app'), cache })),
    env,
  )
}

describe('projects in the manner of webpack examples', slow, () => {
  const built: Record<string, Built[]> = {}

  beforeAll(async () => {
    const [folder, other] = [makeFolder(), makeFolder()]
    NAMES.forEach((name, index) =>
      writeProject(join(folder, String(index), 'app'), PROJECTS[name] ?? { config: '', files: {} }),
    )
    built['cold'] = await buildAll(folder, 'varve')
    built['warm'] = await buildAll(folder, 'varve')
    cpSync(folder, other, { recursive: true, preserveTimestamps: true })
    built['moved'] = await buildAll(other, 'varve', { VARVE_ENGINE: 'wasm' })
    built['no cache'] = await buildAll(other, 'none')
  }, 240_000)

  it.each(NAMES.map((name, index) => [name, index] as const))(
    '%s: a build in another checkout hits as in the first one',
    (_, index) => {
      const [cold, warm, moved, none] = ['cold', 'warm', 'moved', 'no cache'].map((title) => built[title]?.[index])
      expect(cold?.complaints).toEqual([])
      expect([moved?.files, moved?.warnings, moved?.errors]).toEqual([none?.files, none?.warnings, none?.errors])
      expect([moved?.built, moved?.taken, moved?.complaints]).toEqual([warm?.built, warm?.taken, []])
      // A stack trace names directories outside of the checkout, and so does an export of node_modules that the checkout shares.
      expect((moved?.misses ?? 0) - (warm?.misses ?? 0)).toBeLessThanOrEqual(2)
    },
  )
})

/** An application of two modules with a loader of this code. */
function makeCheckout(loader: string, folder = join(makeFolder(), 'app')): string {
  writeProject(folder, {
    config: `{
      entry: './main.js', optimization: { minimize: false },
      module: { rules: [{ test: /part\\.js$/, use: [join(folder, 'loader.cjs')] }] },
    }`,
    files: {
      'main.js': "import { part } from './part.js'\nconsole.log(part)\n",
      'part.js': 'export const part = 1\n',
      'loader.cjs': loader,
    },
  })
  return folder
}

/** Copies a checkout with its cache. */
function copied(folder: string, other = join(makeFolder(), 'app')): string {
  mkdirSync(dirname(other), { recursive: true })
  cpSync(folder, other, { recursive: true })
  return other
}

async function one(folder: string, order: Partial<Order> = {}, env: Record<string, string> = {}): Promise<Built> {
  const [built] = await build([{ folder, cache: 'varve', ...order }], env)
  if (built === undefined) throw new Error('no build')
  expect([built.errors, built.complaints]).toEqual([[], []])
  return built
}

/** What a build without a cache writes. */
async function expected(folder: string): Promise<Record<string, string>> {
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  const { files } = await one(folder, { cache: 'none' })
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  return files
}

/** Builds in a checkout, and then in a copy of it that `change` has changed. Expects the output of a build without a cache there. */
async function builtInCopy(folder: string, change: (other: string) => void = () => undefined): Promise<Built> {
  await one(folder)
  const other = copied(folder)
  change(other)
  const files = await expected(other)
  const found = await one(other)
  expect(found.files).toEqual(files)
  expect((await one(other)).built).toBe(0)
  return found
}

const PLAIN = 'module.exports = (source) => source\n'
const UPWARD = `const { existsSync, readFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
module.exports = function (source) {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'upward.json')
    if (existsSync(file)) return source + '/* ' + readFileSync(file, 'utf8') + ' */'
  }
  return source
}\n`

describe('in another checkout', slow, () => {
  it('a changed module is built, and no other', async () => {
    const found = await builtInCopy(makeCheckout(PLAIN), (other) =>
      writeFileSync(join(other, 'part.js'), 'export const part = 2\n'),
    )
    expect([found.built, found.taken]).toEqual([1, 1])
  })

  it('a module whose code has the path of its checkout is built again, and no other', async () => {
    const loader =
      "module.exports = function (source) { return source + '\\nconsole.log(' + JSON.stringify(this.resourcePath) + ')' }\n"
    expect(await builtInCopy(makeCheckout(loader))).toMatchObject({ built: 1, taken: 1 })
  })

  it('a module whose code has the path of its checkout only in a string of webpack is not stale', async () => {
    const folder = makeCheckout(PLAIN)
    writeFileSync(
      join(folder, 'main.js'),
      "import { part } from './part.js'\nconsole.log(part, __filename, __dirname)\n",
    )
    const config = join(folder, 'webpack.config.mjs')
    writeFileSync(
      config,
      `import { join } from 'node:path'\nexport default ({ folder, webpack }) => ({
      entry: './main.js', target: 'node', node: { __filename: true, __dirname: 'eval-only' }, optimization: { minimize: false },
      plugins: [new webpack.DefinePlugin({ PLACE: JSON.stringify(folder) })],
    })\n`,
    )
    writeFileSync(join(folder, 'part.js'), 'export const part = PLACE\n')
    await builtInCopy(folder)
  })

  it('a config that a loader looks for above the checkout, and finds only there, is not missed', async () => {
    const folder = makeCheckout(UPWARD)
    expect((await builtInCopy(folder)).built).toBe(0)
    const found = await builtInCopy(folder, (other) =>
      writeFileSync(join(dirname(other), 'upward.json'), '{ "found": 1 }'),
    )
    expect(found.built).toBe(2)
  })

  it('a config that a loader found above the first checkout only is not used', async () => {
    const folder = makeCheckout(UPWARD)
    writeFileSync(join(dirname(folder), 'upward.json'), '{ "found": 2 }')
    expect((await builtInCopy(folder)).built).toBe(2)
  })

  it('two checkouts with one cache directory build what a build without a cache does, in turns', async () => {
    const dir = join(makeFolder(), 'shared')
    const loader =
      "module.exports = function (source) { return source + '\\nconsole.log(' + JSON.stringify(this.resourcePath) + ')' }\n"
    const first = makeCheckout(loader)
    const second = copied(first)
    for (const folder of [first, second, first, second]) {
      const files = await expected(folder)
      expect((await one(folder, { options: { dir, name: 'app' } })).files).toEqual(files)
    }
  })

  it('a checkout that is reached through a link hits, and is not taken for another one', async () => {
    const folder = makeCheckout(PLAIN)
    const link = join(makeFolder(), 'link')
    symlinkSync(folder, link)
    await one(link)
    expect((await one(link)).built).toBe(0)
    const other = copied(folder)
    const files = await expected(other)
    expect((await one(other)).files).toEqual(files)
  })
})

describe('one cache directory outside of the checkouts, as VARVE_DIR is', slow, () => {
  const makeNamed = (name: string | undefined, loader = PLAIN, origin?: string): string => {
    const folder = makeCheckout(loader)
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0' }))
    if (origin === undefined) return folder
    mkdirSync(join(folder, '.git'))
    writeFileSync(join(folder, '.git/HEAD'), 'ref: refs/heads/main\n')
    writeFileSync(join(folder, '.git/config'), `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${origin}\n`)
    return folder
  }
  const comment = (version: number): string => `module.exports = (source) => source + '/* ${version} */'\n`
  /** Modules built in each checkout, one after the other; the output is that of a build without a cache. */
  const builtIn = async (dir: string, folders: readonly string[]): Promise<number[]> => {
    const built: number[] = []
    for (const folder of folders) {
      const files = await expected(folder)
      const found = await one(folder, { options: { dir } })
      expect(found.files).toEqual(files)
      built.push(found.built)
    }
    return built
  }

  it('a checkout in a directory of another name hits, and a module that differs there is built', async () => {
    const dir = join(makeFolder(), 'caches/webpack')
    const first = makeNamed('shop')
    const second = copied(first, join(makeFolder(), 'shop-2'))
    expect(await builtIn(dir, [first, second])).toEqual([2, 0])
    writeFileSync(join(second, 'part.js'), 'export const part = 2\n')
    expect(await builtIn(dir, [second, second, first])).toEqual([1, 0, 1])
    writeFileSync(join(second, 'loader.cjs'), comment(2))
    expect(await builtIn(dir, [second, first])).toEqual([2, 0])
  })

  it('npx varve why compares with the checkout in which it runs, and its paths are relative to that', async () => {
    const dir = join(makeFolder(), 'caches/webpack')
    const first = makeNamed('shop')
    const second = copied(first, join(makeFolder(), 'shop-2'))
    for (const folder of [first, second]) await one(folder, { options: { dir } })
    writeFileSync(join(second, 'part.js'), 'export const part = 2\n')
    const why = (cwd: string): string => runVarve(['why', 'part.js', '--dir', dir], { cwd }).out
    expect(why(first)).toContain(': a hit, if its inputs are')
    expect(why(second)).toMatch(
      /^webpack, production, .*, shop, module part\.js: 1 variant\n[^/]*: a miss: part\.js changed\n/,
    )
  })

  it('projects of one name that were cloned from different places keep their entries', async () => {
    const dir = join(makeFolder(), 'caches/webpack')
    const urls = [
      'https://user:word@example.com/a/web.git',
      'git@example.com:b/web.git',
      'ssh://git@example.com:22/c/web',
      '/srv/d/web.git',
      'https://example.com/e/web',
    ]
    const folders = urls.map((url, index) => makeNamed('web', comment(index), url))
    for (const folder of folders) expect((await one(folder, { options: { dir } })).built).toBe(2)
    expect((await one(folders[0] ?? '', { options: { dir } })).built).toBe(0)
    const stored = runVarve(['stats', '--dir', dir, '--raw', '--json']).out
    expect([stored.includes('example.com/a/web'), stored.includes('word@')]).toEqual([true, false])
    // A record of a build has the beginning of each name only.
    const env = { VARVE_HISTORY: 'always' }
    await one(folders[1] ?? '', { options: { dir } }, env)
    expect(runVarve(['history', '--dir', dir]).out).toMatch(/ webpack, production, web$/m)
  })

  it('a project without a name shares nothing with one in a directory of another name', async () => {
    const dir = join(makeFolder(), 'caches/webpack')
    const first = makeNamed(undefined)
    const second = copied(first, join(makeFolder(), 'shop-2'))
    expect(await builtIn(dir, [first, second, first])).toEqual([2, 2, 0])
  })
})

describe('in a checkout right below a directory at the top of the file system, such as /workspaces', () => {
  const isBound = async (...texts: string[]): Promise<boolean> => {
    const binding = { isBound: false }
    await pathSerializers(webpack, new Root('/workspaces/app'))?.toList.serialize({ texts }, { binding })
    return binding.isBound
  }

  it('an entry that names the root, and the directory above it as snapshots do, hits in other checkouts', async () => {
    expect(await isBound('/workspaces/app/src/a.js', '/workspaces/app', '/workspaces', '/', '/workspaces2/b.js')).toBe(
      false,
    )
  })

  it('an entry that names anything else in that directory does not', async () => {
    expect(await isBound('/workspaces/shared/a.js')).toBe(true)
    expect(await isBound('const folder = "/workspaces"')).toBe(true)
  })
})
