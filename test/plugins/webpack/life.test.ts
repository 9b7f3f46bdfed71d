/** What happens to a cache of VarveWebpackPlugin in the life of a project. Each build runs in a separate process. */
import {
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { slow } from '../../slow.ts'
import { writeProject } from './projects.ts'
import { type Built, build, type Order } from './runner.ts'

const MODULES = 12
const names = Array.from({ length: MODULES }, (_, index) => `module-${index}.js`)

const LOADER = "module.exports = (source) => source + '/* loaded by 1.0.0 */'\n"

/** An application of MODULES modules and an entry, with a loader and a plugin from packages of its own. */
function makeProject(folder: string = makeFolder()): string {
  const imports = names.map((name, index) => `import { value as v${index} } from './${name}'`)
  writeProject(folder, {
    config: `{
      entry: { main: './main.js', other: './other.js' }, optimization: { minimize: false },
      module: { rules: [{ test: /module-.*\\.js$/, use: 'some-loader' }] },
      plugins: [new webpack.BannerPlugin(text)],
    }`,
    files: {
      'main.js': `${imports.join('\n')}\nconsole.log(${names.map((_, index) => `v${index}`).join(', ')})\n`,
      'other.js': "import { value } from './module-3.js'\nconsole.log('other', value)\n",
      ...Object.fromEntries(names.map((name, index) => [name, `export const value = ${index} * 2\n`])),
      'node_modules/some-loader/package.json': '{ "name": "some-loader", "version": "1.0.0", "main": "index.js" }',
      'node_modules/some-loader/index.js': LOADER,
      'node_modules/some-plugin/package.json': '{ "name": "some-plugin", "version": "1.0.0", "main": "index.js" }',
      'node_modules/some-plugin/index.js': "module.exports = 'banner of 1.0.0'\n",
    },
  })
  const config = join(folder, 'webpack.config.mjs')
  writeFileSync(config, `import text from 'some-plugin'\n${readFileSync(config, 'utf8')}`)
  return folder
}

const MODULES_ALL = MODULES + 2

async function one(
  folder: string,
  order: Partial<Order> = {},
  env: Record<string, string> = {},
  flags: string[] = [],
): Promise<Built> {
  const [built] = await build([{ folder, cache: 'varve', ...order }], env, flags)
  if (built === undefined) throw new Error('no build')
  expect(built.errors).toEqual([])
  return built
}

/** What a build without a cache writes now. */
async function expected(folder: string): Promise<Record<string, string>> {
  const other = makeFolder()
  cpSync(folder, other, { recursive: true })
  rmSync(join(other, 'dist'), { recursive: true, force: true })
  return (await one(other, { cache: 'none' })).files
}

function publish(folder: string, name: string, version: string, code: string): void {
  const place = join(folder, 'node_modules', name)
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name, version, main: 'index.js' }))
  writeFileSync(join(place, 'index.js'), code)
}

const cacheFiles = (folder: string): string[] => {
  const place = join(folder, 'varve-cache', 'v1')
  return readdirSync(place).map((name) => join(place, name))
}

describe('what invalidates', () => {
  it('a build without changes builds and writes nothing', slow, async () => {
    const folder = makeProject()
    const cold = await one(folder)
    const before = cacheFiles(folder).map((file) => [file, statSync(file).mtimeMs])
    const warm = await one(folder)
    expect([cold.built, warm.built, warm.taken, warm.stored, warm.complaints]).toEqual([
      MODULES_ALL,
      0,
      MODULES_ALL,
      0,
      [],
    ])
    expect(warm.files).toEqual(cold.files)
    expect(cacheFiles(folder).map((file) => [file, statSync(file).mtimeMs])).toEqual(before)
  })

  it('a changed file builds its module only', slow, async () => {
    const folder = makeProject()
    await one(folder)
    writeFileSync(join(folder, 'module-3.js'), 'export const value = 33\n')
    const changed = await one(folder)
    expect([changed.built, changed.taken]).toEqual([1, MODULES_ALL - 1])
    expect(changed.files).toEqual(await expected(folder))
  })

  it('a changed option in the configuration builds everything', slow, async () => {
    const folder = makeProject()
    await one(folder)
    const config = join(folder, 'webpack.config.mjs')
    writeFileSync(
      config,
      readFileSync(config, 'utf8').replace('minimize: false', "minimize: false, moduleIds: 'natural'"),
    )
    const changed = await one(folder)
    expect(changed.built).toBe(MODULES_ALL)
    expect(changed.files).toEqual(await expected(folder))
    expect((await one(folder)).built).toBe(0)
  })

  it.each([
    ['some-loader', LOADER.replace('1.0.0', '1.0.1')],
    ['some-plugin', "module.exports = 'banner of 1.0.1'\n"],
  ])('another version of %s builds everything', slow, async (name, code) => {
    const folder = makeProject()
    await one(folder)
    publish(folder, name, '1.0.1', code)
    const changed = await one(folder)
    expect(changed.built).toBe(MODULES_ALL)
    expect(changed.files).toEqual(await expected(folder))
    expect((await one(folder)).built).toBe(0)
  })

  it('each mode, name and version has its own entries', slow, async () => {
    const folder = makeProject()
    await one(folder)
    expect((await one(folder, { options: { name: 'mine' } })).built).toBe(MODULES_ALL)
    expect((await one(folder, { options: { version: '2' } })).built).toBe(MODULES_ALL)
    expect((await one(folder, { options: { name: 'mine' } })).built).toBe(0)
    const config = join(folder, 'webpack.config.mjs')
    const text = readFileSync(config, 'utf8')
    writeFileSync(config, text.replace('entry:', "mode: process.env.MODE ?? 'production', entry:"))
    for (const MODE of ['production', 'development']) await one(folder, {}, { MODE })
    for (const MODE of ['production', 'development'])
      expect([MODE, (await one(folder, {}, { MODE })).built]).toEqual([MODE, 0])
  })

  it('a moved project hits at once, with the same output', slow, async () => {
    // A directory of its own around the project: what names the directory above a project is bound to it, as Varve's own path may be.
    const folder = join(makeFolder(), 'here')
    renameSync(makeProject(), folder)
    const { files } = await one(folder)
    const moved = join(makeFolder(), 'elsewhere')
    renameSync(folder, moved)
    const first = await one(moved)
    expect([first.built, first.files]).toEqual([0, files])
  })
})

describe('several at once', () => {
  it('concurrent builds of one project on both engines are correct and lose nothing', slow, async () => {
    const folder = makeProject()
    const files = await expected(folder)
    const engines = ['native', 'wasm', 'native']
    const orders = engines.map((_, index) => ({ options: { name: `build ${index % 2}` } }))
    const cold = await Promise.all(engines.map((engine, index) => one(folder, orders[index], { VARVE_ENGINE: engine })))
    for (const built of cold) expect(built.files).toEqual(files)
    for (const order of orders) expect(await one(folder, order)).toMatchObject({ built: 0, taken: MODULES_ALL, files })
  })
})

describe('other hosts', () => {
  it('with --no-addons, webpack builds from the cache on WebAssembly', slow, async () => {
    const folder = makeProject()
    const cold = await one(folder, {}, {}, ['--no-addons'])
    const warm = await one(folder, {}, {}, ['--no-addons'])
    expect([cold.built, warm.built, warm.files]).toEqual([MODULES_ALL, 0, cold.files])
    expect((await one(folder)).built).toBe(0)
  })

  it.each(['native', 'wasm'])(
    'watch mode rebuilds three times, and the next start uses the cache: %s',
    slow,
    async (engine) => {
      const folder = makeProject()
      const changes = [1, 2, 3].map(
        (round) => [`module-${round}.js`, `export const value = 'round ${round}'\n`] as const,
      )
      const watched = await one(folder, { changes }, { VARVE_ENGINE: engine })
      expect(watched.built).toBe(MODULES_ALL + 3)
      const start = await one(folder, {}, { VARVE_ENGINE: engine })
      expect([start.built, start.taken]).toEqual([0, MODULES_ALL])
      expect(start.files).toEqual(await expected(folder))
    },
  )
})

/** Bytes by which Varve recognises a file that it wrote. */
const START_BYTES = 16

describe('damage', () => {
  const wounds: Record<string, (file: string) => void> = {
    'cut in half': (file) => truncateSync(file, statSync(file).size >> 1),
    empty: (file) => truncateSync(file, 0),
    'noise behind its start': (file) => {
      const start = readFileSync(file).subarray(0, START_BYTES)
      writeFileSync(file, Buffer.concat([start, Buffer.alloc(statSync(file).size, 'noise')]))
    },
    missing: (file) => rmSync(file),
    'a flipped bit in the middle': (file) => {
      const bytes = readFileSync(file)
      const middle = bytes.length >> 1
      bytes[middle] = (bytes[middle] ?? 0) ^ 1
      writeFileSync(file, bytes)
    },
  }

  it.each(Object.keys(wounds).flatMap((wound) => ['native', 'wasm'].map((engine) => [wound, engine] as const)))(
    'with every cache file %s, the build is correct and the next one hits: %s',
    slow,
    async (wound, engine) => {
      const folder = makeProject()
      const { files } = await one(folder)
      for (const file of cacheFiles(folder)) wounds[wound]?.(file)
      expect((await one(folder, {}, { VARVE_ENGINE: engine })).files).toEqual(files)
      expect(await one(folder, {}, { VARVE_ENGINE: engine })).toMatchObject({ built: 0, taken: MODULES_ALL, files })
    },
  )

  it.each(['native', 'wasm'])(
    'a directory in which nothing shows that Varve wrote it stays as it is, and the build is correct: %s',
    slow,
    async (engine) => {
      const folder = makeProject()
      const { files } = await one(folder)
      for (const file of cacheFiles(folder)) writeFileSync(file, Buffer.alloc(statSync(file).size, 'noise'))
      const before = cacheFiles(folder).map((file) => readFileSync(file, 'latin1'))
      expect(await one(folder, {}, { VARVE_ENGINE: engine })).toMatchObject({ taken: 0, files })
      expect(cacheFiles(folder).map((file) => readFileSync(file, 'latin1'))).toEqual(before)
    },
  )
})

/** pnpm has a copy of one version for each set of packages that it depends on, and keeps copies that are no longer used for some days. */
describe('another copy of the same version of a package is noticed', () => {
  const STORE = 'node_modules/.pnpm'
  const copyOf = (name: string, number: number): string => `${STORE}/${name}@1.0.0_${number}/node_modules/${name}`
  const LINKS: Readonly<Record<string, string>> = {
    'that the application imports': 'node_modules/ui',
    'that only a loader requires': 'node_modules/of-loader',
    'of a scope': 'node_modules/@scope/ui',
    'that a package requires': `${STORE}/ui@1.0.0_1/node_modules/theme`,
    'that a package of a loader requires': `${STORE}/of-loader@1.0.0_1/node_modules/theme`,
  }

  const NAMES = ['ui', 'of-loader', 'theme', '@scope/ui']

  /** Links from `node_modules` to the first copies, whose own links lead to the first copy of `theme`. */
  function makeCopies(): string {
    const folder = makeFolder()
    const files: Record<string, string> = {}
    for (const name of NAMES)
      for (const number of [1, 2]) {
        files[`${copyOf(name, number)}/package.json`] = JSON.stringify({ name, version: '1.0.0' })
        const theme = name === 'theme' ? '' : " + ' over ' + require('theme')"
        files[`${copyOf(name, number)}/index.js`] = `module.exports = '${name} ${number}'${theme}\n`
      }
    writeProject(folder, {
      config: "{ entry: './main.js', module: { rules: [{ test: /\\.txt$/, use: './loader.cjs' }] } }",
      files: {
        ...files,
        'loader.cjs': "module.exports = (text) => 'export default ' + JSON.stringify(text + require('of-loader'))\n",
        'main.js':
          "import ui from 'ui'\nimport scoped from '@scope/ui'\nimport text from './a.txt'\nconsole.log(ui, scoped, text)\n",
        'a.txt': 'a text of ',
        'node_modules/@scope/empty.txt': '',
      },
    })
    for (const name of NAMES) link(folder, `node_modules/${name}`, copyOf(name, 1))
    for (const name of NAMES.filter((other) => other !== 'theme'))
      for (const number of [1, 2])
        link(folder, `${STORE}/${name}@1.0.0_${number}/node_modules/theme`, copyOf('theme', 1))
    return folder
  }

  function link(folder: string, from: string, to: string): void {
    rmSync(join(folder, from), { force: true })
    symlinkSync(relative(dirname(join(folder, from)), join(folder, to)), join(folder, from), 'dir')
  }

  it.each(Object.entries(LINKS))('%s', slow, async (_name, from) => {
    const folder = makeCopies()
    expect((await one(folder)).built).toBeGreaterThan(3)
    expect((await one(folder)).built).toBe(0)
    const name = from.includes('@scope/ui') ? '@scope/ui' : basename(from)
    link(folder, from, copyOf(name, 2))
    const { built, files } = await one(folder)
    expect(built).toBeGreaterThan(0)
    expect(files).toEqual((await one(folder, { cache: 'none' })).files)
    expect((await one(folder)).built).toBe(0)
  })
})
