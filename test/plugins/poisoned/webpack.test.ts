/** Poisoned caches of VarveWebpackPlugin, and of the caching loader in webpack. */
import { hash } from 'node:crypto'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { expect, it } from 'vitest'
import webpack, { type Configuration, type Stats } from 'webpack'
import type * as cacheModule from '../../../packages/plugins/dist/loader/cache.js'
import type * as sharedModule from '../../../packages/plugins/dist/loader/shared.js'
import { isForeign } from '../../../packages/plugins/dist/webpack/requests.js'
import { makeFolder } from '../../folders.ts'
import { pick, type Random, randomOf, runSeed } from '../../random.ts'
import { makeApplication } from './application.ts'
import { attack, VALUES } from './attack.ts'
import { entriesOf, plant, type Stored } from './cache.ts'
import { watchdog } from './watchdog.ts'
import { slow } from '../../slow.ts'

const beat = watchdog()

/** Builds from packs with changed lazy parts, and the first byte of an ordinary pack. */
const LAZY_ROUNDS = 5
const STREAM = 1
const dist = (name: string): string => fileURLToPath(new URL(`../../../packages/plugins/dist/${name}`, import.meta.url))
const CACHING = dist('loader.js')

const LOADER = `module.exports = function (source) {
  this.addDependency(require('node:path').join(__dirname, 'shared.txt'))
  if (this.resourcePath.endsWith('1.js')) this.emitWarning(new Error('is old'))
  if (this.resourcePath.endsWith('2.js')) this.emitFile(require('node:path').basename(this.resourcePath) + '.txt', 'emitted')
  const map = { version: 3, sources: [this.resourcePath], sourcesContent: [source], names: [], mappings: 'AAAA' }
  this.callback(null, source + '// ${'long '.repeat(60)}\\n', map)
}`

/** An application whose modules have a loader. */
function makeLoaded(): string {
  const folder = makeApplication()
  writeFileSync(join(folder, 'loader.cjs'), LOADER)
  writeFileSync(join(folder, 'package.json'), '{"name": "application", "version": "1.0.0"}')
  return folder
}

const usual = (folder: string, before: readonly object[] = []): Configuration => ({
  mode: 'production',
  context: folder,
  entry: './main.js',
  output: { path: join(folder, 'dist') },
  devtool: 'source-map',
  optimization: { minimize: false },
  infrastructureLogging: { level: 'none' },
  module: {
    rules: [
      { test: /\.js$/, use: [...before, { loader: join(folder, 'loader.cjs') }] },
      { test: /\.text$/, type: 'asset/source' },
    ],
  },
})

/** Builds; files by name and messages. */
async function run(config: Configuration): Promise<{ files: Record<string, string>; messages: string[] }> {
  const compiler = webpack(config)
  if (compiler === null) throw new Error('webpack made no compiler')
  const stats = await new Promise<Stats | undefined>((resolve, reject) =>
    compiler.run((error, found) => (error ? reject(error) : resolve(found))),
  )
  await new Promise((resolve) => compiler.close(resolve))
  if (stats === undefined || stats.hasErrors()) throw new Error(stats?.toString({ all: false, errors: true }))
  const { assets = [], warnings = [] } = stats.toJson({ all: false, assets: true, warnings: true })
  const folder = config.output?.path ?? ''
  const files = assets.map(({ name }) => [name, hash('sha256', readFileSync(join(folder, name)))] as const)
  return { files: Object.fromEntries(files.sort()), messages: warnings.map(({ message }) => message) }
}

it(
  'a build through the caching loader from a cache of values that it did not store is the build without a cache',
  slow,
  async () => {
    let hits = 0
    const onStats = (stats: { readonly hits: number }): void => void (hits = stats.hits)
    // The same modules as webpack loads, which vitest has others of.
    const require = createRequire(import.meta.url)
    const { LoaderCache }: typeof cacheModule = require(dist('loader/cache.js'))
    const { attach }: typeof sharedModule = require(dist('loader/shared.js'))
    const build = async (folder: string, isCached: boolean) => {
      hits = 0
      const cache = new LoaderCache({ root: folder, dir: 'cache', onStats })
      const attached = {
        apply(compiler: webpack.Compiler) {
          const log = (): undefined => undefined
          compiler.hooks.beforeRun.tap('test', () =>
            cache.begin({ tool: 'loader', root: folder, inputs: {}, warn: log, info: log }),
          )
          compiler.hooks.compilation.tap('test', (compilation) => {
            compiler.webpack.NormalModule.getCompilationHooks(compilation).loader.tap('test', (context, module) => {
              const chain = context as Parameters<typeof attach>[0]
              attach(chain, cache)
              cache.listen(chain, module.identifier())
            })
          })
          compiler.hooks.done.tapPromise('test', () => cache.end(false))
        },
      }
      const config = usual(folder, isCached ? [{ loader: CACHING }] : [])
      return { ...(await run({ ...config, cache: false, plugins: isCached ? [attached] : [] })), hits }
    }
    await attack('loader', makeLoaded(), build, beat)
  },
)

/** Where the buffers and lazy parts begin in a pack: `bytes.ts` has the layout. */
function lazyPartsOf(value: Buffer): number {
  return 1 + 4 + value.readUInt32LE(1)
}

/** Other bytes in the place of an entry of webpack's. */
function spoiled(random: Random, value: Buffer, others: readonly Buffer[]): Buffer {
  const flipped = Buffer.from(value)
  if (flipped.length > 0) flipped[random(flipped.length)] = random(256)
  const words = Buffer.from(value)
  if (words.length >= 16) words.writeUInt32LE(random(2 ** 32), random(words.length - 4))
  const cut = value.subarray(0, random(value.length))
  return pick(random, [
    cut,
    flipped,
    flipped,
    words,
    pick(random, others),
    Buffer.from('null'),
    Buffer.alloc(random(100), random(4)),
  ])
}

it('a build by webpack from a cache of values that the plugin did not store is the build without a cache', async () => {
  const random = randomOf(runSeed('poisoned webpack'))
  const folder = makeLoaded()
  const build = async () => {
    const plugin = new VarveWebpackPlugin({ dir: join(folder, 'cache') })
    return { ...(await run({ ...usual(folder), cache: { type: 'memory' }, plugins: [plugin] })), ...plugin.stats }
  }
  const { files, messages } = await run({ ...usual(folder), cache: false })
  expect(await build()).toMatchObject({ files, messages, hits: 0 })
  expect((await build()).hits).toBeGreaterThan(0)
  const isOf = [/^webpack (?!packs|environments)/, /^webpack packs/, /^webpack/, /^webpack environments/]
  for (let [planted, round] = [0, 0]; planted < VALUES; round++) {
    const all = await entriesOf(join(folder, 'cache'))
    const others = all.map(({ value }) => value)
    const chosen = all.filter(({ namespace }) => isOf[round % isOf.length]?.test(namespace))
    const entries = chosen.map((entry): Stored => ({ ...entry, value: spoiled(random, entry.value, others) }))
    await plant(join(folder, 'cache'), entries)
    expect(await build(), `round ${round}`).toMatchObject({ files, messages })
    planted += entries.length
    beat()
  }
  expect(await build()).toMatchObject({ files, messages })
})

// webpack reads the lazy parts of what was restored while it renders: an error there ends the process.
it('a build that asks for lazy parts whose bytes were changed is the build without a cache', async () => {
  const random = randomOf(runSeed('poisoned lazy parts'))
  const folder = makeLoaded()
  const config = { ...usual(folder), mode: 'development' as const }
  const build = async (): Promise<object> => {
    const plugin = new VarveWebpackPlugin({ dir: join(folder, 'cache') })
    return run({ ...config, cache: { type: 'memory' }, plugins: [plugin] })
  }
  await build()
  for (let round = 0; round < LAZY_ROUNDS; round++) {
    const all = await entriesOf(join(folder, 'cache'))
    const isPack = ({ namespace, value }: Stored): boolean =>
      namespace.startsWith('webpack packs') && value[0] === STREAM
    const packs = all.filter((entry) => isPack(entry) && lazyPartsOf(entry.value) < entry.value.length)
    expect(packs.length).toBeGreaterThan(0)
    for (const { value } of packs)
      for (let at = lazyPartsOf(value); at < value.length; at += 1 + random(200)) value[at] = random(256)
    await plant(join(folder, 'cache'), packs)
    appendFileSync(join(folder, `module-${round}.js`), 'export const more = 1\n')
    const { files, messages } = await run({ ...config, cache: false })
    expect(await build(), `round ${round}`).toEqual({ files, messages })
    beat()
  }
})

it('a stream in a cache cannot have webpack load a module that is not part of the project', () => {
  const require = createRequire(import.meta.url)
  const project = makeFolder()
  const cache = join(project, 'node_modules', '.cache', 'varve', 'webpack')
  const foreign = (request: string): boolean =>
    isForeign(request, createRequire(join(project, 'package.json')), [cache, join(project, 'cache')])
  for (const request of [
    join(cache, 'evil.js'),
    join(project, 'cache', 'evil.js'),
    '.cache/varve/webpack/evil.js',
    'lodash/../.cache/evil',
    './evil.js',
    '../evil.js',
    join(project, 'build.js'),
    join(project, 'node_modules', 'plugin', '..', '.cache', 'evil.js'),
    '/dev/shm/evil.js',
    'node:fs',
    'fs',
    '..\\evil',
    join(project, 'node_modules', 'plugin', 'node_modules', '.cache', 'evil.js'),
  ]) {
    expect([request, foreign(request)]).toEqual([request, true])
  }
  for (const request of [
    'mini-css-extract-plugin/dist/CssModule',
    '@scope/plugin/module',
    join(project, 'node_modules', 'plugin', 'module.js'),
  ]) {
    expect([request, foreign(request)]).toEqual([request, false])
  }
  expect(isForeign(require.resolve('webpack'), require, [])).toBe(false)
})

it('a class in a cache whose module lies in the folder of the cache is not restored, and no code of it runs', async () => {
  const folder = makeLoaded()
  const plugin = new VarveWebpackPlugin({ dir: join(folder, 'cache') })
  await run({ ...usual(folder), cache: { type: 'memory' }, plugins: [plugin] })
  const { buffersSerializer, register } = webpack.util.serialization
  class Evil {
    readonly isEvil = true
  }
  const module = join(folder, 'cache', 'evil.js')
  writeFileSync(module, "globalThis.evil = 'code ran'")
  register(Evil, module, 'registered elsewhere', { serialize: () => undefined, deserialize: () => new Evil() })
  const bytes = await buffersSerializer.serialize(new Evil(), {})
  const stream = Buffer.concat(bytes.filter((part) => Buffer.isBuffer(part)))
  const named = Buffer.from(stream.toString('latin1').replace('registered elsewhere', 'not registered, ever'), 'latin1')
  expect(() => buffersSerializer.deserialize([named], {})).toThrow(
    'which is neither loaded nor part of an installed package',
  )
  expect(Reflect.get(globalThis, 'evil')).toBeUndefined()
})
