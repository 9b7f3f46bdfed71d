/** What the commands show of the caches of plugins: configurations, modules and assets as their users know them, and nothing else. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { cached } from '@varve/plugins/rollup'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { rollup } from 'rollup'
import type { CliJson } from 'varve/cli-json'
import { beforeAll, describe, expect, it } from 'vitest'
import webpack from 'webpack'
import { runVarve } from '../command.ts'
import { makeFolder } from '../folders.ts'

/** Names of namespaces and marks, keys of packs, versions and digests. */
const INTERNAL = /parts:|packs|task:|result:|reads:|<varve|\\x00|\.\.\/\.\.|\b[0-9a-f]{16}\b|%20/

let root = ''

function run(...args: readonly string[]): string {
  const { out, err, status } = runVarve(args, { cwd: root })
  expect([status, err]).toEqual([0, ''])
  return out
}

const json = <Name extends keyof CliJson>(...args: readonly string[]): CliJson[Name] =>
  JSON.parse(run(...args, '--json'))

describe('a cache of webpack', () => {
  beforeAll(async () => {
    root = makeFolder()
    mkdirSync(join(root, 'src'))
    // Large enough for a blob, which no table has.
    const files = {
      'package.json': '{}',
      'src/main.js': "import './b.js'",
      'src/b.js': `export default '${'x'.repeat(3 << 20)}'`,
    }
    for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text)
    for (const mode of ['development', 'production'] as const) {
      const compiler = webpack({
        mode,
        target: 'web',
        context: root,
        entry: './src/main.js',
        output: { path: join(root, 'dist') },
        cache: { type: 'memory' },
        plugins: [new VarveWebpackPlugin({ dir: join(root, 'node_modules/.cache/varve/webpack') })],
      })
      const stats = await promisify(compiler.run.bind(compiler))()
      if (stats?.hasErrors() !== false) throw new Error(stats?.toString('errors-only'))
      await promisify(compiler.close.bind(compiler))()
    }
  })

  it('stats of webpack lists hex keys and versions, and accounts for a tenth of the bytes', () => {
    const out = run('stats', '--dir', 'node_modules/.cache/varve/webpack')
    expect(out).toMatch(/^webpack, development, web +2 modules, \d assets? /m)
    expect(out).toMatch(/^webpack, production, web +2 modules, \d assets? /m)
    expect(out).not.toMatch(INTERNAL)
    expect(run('stats', '--raw', '--dir', 'node_modules/.cache/varve/webpack')).toMatch(INTERNAL)
    const { caches } = json<'stats --dir'>('stats', '--dir', 'node_modules/.cache/varve/webpack')
    const { contents = [], namespaces = [], blobBytes = 0, tableBytes = 0 } = caches[0] ?? {}
    const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)
    expect(sum(contents.map(({ bytes }) => bytes))).toBe(
      sum(namespaces.map(({ keyBytes, valueBytes }) => keyBytes + valueBytes)),
    )
    expect(blobBytes).toBeGreaterThan(0)
    const onDisk = sum(contents.map(({ diskBytes }) => diskBytes))
    expect(onDisk).toBeLessThanOrEqual(tableBytes + blobBytes)
    expect(onDisk).toBeGreaterThan(0.9 * (tableBytes + blobBytes))
  })

  it('ls, history and why of webpack show names of namespaces, and ls is not sorted', () => {
    const lines = run('ls').trimEnd().split('\n')
    expect(lines).toEqual(lines.toSorted())
    expect(lines).toEqual(expect.arrayContaining(['src/b.js', 'src/main.js', 'main.js']))
    expect(run('ls', '--sort', 'size', '--limit', '4')).toMatch(
      /^ *[\d.]+ MiB +webpack, \w+, web +module +src\/b\.js$/m,
    )
    expect(run('history')).toContain('webpack, production, web')
    expect(run('why', 'src/b.js')).toMatch(/^webpack, production, web, module src\/b\.js: 1 variant$/m)
    const shown = [
      run('ls', '--long'),
      run('ls', '--task'),
      run('ls', '--sort', 'size'),
      run('history'),
      run('why', 'src/b.js'),
    ]
    expect(shown.join('\n')).not.toMatch(INTERNAL)
    expect(run('ls', '--raw')).toMatch(INTERNAL)
    expect(run('why', '--raw', 'src/b.js')).toContain('task webpack default production web')
  })
})

describe('a cache of plugins', () => {
  beforeAll(async () => {
    root = makeFolder()
    mkdirSync(join(root, 'src'))
    for (const name of ['b', 'main'])
      writeFileSync(join(root, `src/${name}.js`), name === 'main' ? "import './b.js'" : '1')
    writeFileSync(join(root, 'package.json'), '{}')
    const plugin = { name: 'shout', transform: (code: string) => ({ code: `${code}\n`, map: null }) }
    const dir = join(root, 'node_modules/.cache/varve/rollup')
    const build = await rollup({
      input: join(root, 'src/main.js'),
      plugins: [cached(plugin, { cacheKey: 1, root, dir })],
    })
    await build.close()
  })

  it('history shows no name for a plugin with a long one, of which its record has the beginning', async () => {
    const folder = makeFolder()
    const name = '@company/rollup-plugin-shout'
    writeFileSync(join(folder, 'main.js'), '1')
    const plugin = { name, transform: (code: string) => ({ code: `${code}\n`, map: null }) }
    const dir = join(folder, 'cache')
    await (
      await rollup({ input: join(folder, 'main.js'), plugins: [cached(plugin, { cacheKey: 1, root: folder, dir })] })
    ).close()
    expect(run('history', '--dir', dir)).toMatch(RegExp(` ${name}$`, 'm'))
  })

  it('ls and why of a plugin show the mark of the root, and digests', () => {
    expect(run('ls')).toBe('src/b.js\nsrc/main.js\n')
    expect(run('ls', '--task')).toBe('shout  src/b.js\nshout  src/main.js\n')
    expect(run('why', 'src/b.js')).toMatch(/^shout, module src\/b\.js: 1 variant$/m)
    expect(run('history')).toMatch(/ shout$/m)
    const stats = run('stats', '--dir', 'node_modules/.cache/varve/rollup')
    expect(stats).toMatch(/^shout +2 modules /m)
    expect(stats).toMatch(/^newest commits, in logs /m)
    expect([stats, run('ls', '--long'), run('ls', '--sort', 'size')].join('\n')).not.toMatch(INTERNAL)
  })
})

describe('why of a plugin', () => {
  const bundle = async (folder: string, checkout: string): Promise<void> => {
    const at = join(checkout, folder)
    mkdirSync(at, { recursive: true })
    writeFileSync(join(at, 'main.js'), "import 'virtual:words'")
    const words = {
      name: 'words',
      resolveId: (id: string) => (id === 'virtual:words' ? `\0${id}` : null),
      load: (id: string) => (id === '\0virtual:words' ? '1' : null),
    }
    const shout = { name: 'shout', transform: (code: string) => ({ code: `${code}\n`, map: null }) }
    const wrapped = cached(shout, { cacheKey: 1, root: at, dir: join(checkout, 'cache') })
    await (await rollup({ input: join(at, 'main.js'), plugins: [words, wrapped] })).close()
  }

  it('finds no virtual module by the id that ls --task lists', async () => {
    root = makeFolder()
    await bundle('.', root)
    expect(run('ls', '--task', '--dir', 'cache')).toContain('shout  virtual:words\n')
    expect(run('why', 'virtual:words', '--dir', 'cache')).toMatch(/^shout, module virtual:words: 1 variant$/m)
  })

  it('says that input place changed, without its values, in a package that was moved in its checkout', async () => {
    root = makeFolder()
    mkdirSync(join(root, '.git'))
    await bundle('packages/one', root)
    await bundle('packages/two', root)
    expect(run('history', '--dir', 'cache')).toContain('directory in the checkout packages/one -> packages/two (2)')
  })
})

it('why in the root of a workspace compares the files of a package with those of the workspace', async () => {
  root = makeFolder()
  const app = join(root, 'packages/app')
  const files = {
    'package.json': '{ "workspaces": ["packages/*"] }',
    'packages/app/package.json': '{ "name": "app" }',
    'packages/app/words.txt': 'one',
    'packages/ui/package.json': '{ "name": "ui" }',
    'packages/ui/button.js': 'console.log(1)',
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const transform = (code: string): { code: string; map: null } => ({
    code: `${code}\n// ${readFileSync(join(app, 'words.txt'), 'utf8')}`,
    map: null,
  })
  const dir = join(root, 'cache')
  const plugin = cached({ name: 'words', transform }, { cacheKey: 1, root: app, dir })
  const bundle = await rollup({ input: join(root, 'packages/ui/button.js'), plugins: [plugin] })
  await bundle.close()
  const why = (): string => run('why', 'packages/ui/button.js', '--dir', dir)
  expect(why()).toMatch(/^words, module packages\/ui\/button\.js: 1 variant\n.*\n.*: a hit, if /)
  writeFileSync(join(app, 'words.txt'), 'two')
  expect(why()).toMatch(/: a miss: words\.txt changed\n/)
})
