/** What is stored: results of builds that fail, values of every kind, values of every size. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { describe, expect, it, vi } from 'vitest'
import type { Compiler, Configuration } from 'webpack'
import { makeFolder } from '../../folders.ts'
import { slow } from '../../slow.ts'
import { buildOnce, makeHost } from './compile.ts'

const MODULES = 6

function makeProject(modules = MODULES): string {
  const folder = makeFolder()
  const names = Array.from({ length: modules - 1 }, (_, index) => `./part-${index}.js`)
  writeFileSync(join(folder, 'main.js'), names.map((name) => `import '${name}'\n`).join(''))
  for (const name of names) writeFileSync(join(folder, name), `console.log('${name}')\n`)
  return folder
}

describe('a build with errors stores what succeeded', () => {
  const failing: Record<string, Configuration> = {
    'nothing is emitted': { optimization: { minimize: false, emitOnErrors: false } },
    'all is emitted': { optimization: { minimize: false, emitOnErrors: true } },
    'the first error ends it': { bail: true, parallelism: 1 },
    'a plugin throws at the end': {
      plugins: [
        {
          apply: (compiler: Compiler) =>
            compiler.hooks.emit.tap('broken', () => {
              throw new Error('broken')
            }),
        },
      ],
    },
  }

  it.each(Object.entries(failing))('%s', async (_name, config) => {
    const folder = makeProject()
    const broken = join(folder, `part-${MODULES - 2}.js`)
    const text = readFileSync(broken, 'utf8')
    writeFileSync(broken, 'const = 1\n')
    const host = makeHost(folder, config)
    await host.run().catch(() => undefined)
    await host.close()
    expect(host.complaints).toEqual([])
    writeFileSync(broken, text)
    const { counts, complaints } = await buildOnce(folder)
    expect([counts.built, complaints]).toEqual([1, []])
  })
})

/** Compilers wait for each other in Docusaurus: small packs stored the server's build in 266 of them, and made its next build slower. */
it('a build that is stored while its process does other work has no more packs than one that is closed at once', async () => {
  const packsOf = async (folder: string): Promise<number> => {
    const cache = await openCache({ name: 'webpack', dir: join(folder, 'cache'), readOnly: true })
    const { namespaces } = await cache.stats()
    await cache.close()
    return namespaces.reduce((sum, { name, entries }) => sum + (name.startsWith('webpack packs ') ? entries : 0), 0)
  }
  const [waiting, closed] = [makeProject(60), makeProject(60)]
  const { stats } = await buildOnce(closed)
  const host = makeHost(waiting, {}, { idleTimeoutForInitialStore: 0 })
  await host.run()
  await vi.waitFor(() => expect(host.stats.stored).toBe(stats.stored), 10_000)
  await host.close()
  expect(await packsOf(waiting)).toBe(await packsOf(closed))
})

/** Otherwise each build reported the damage again: nothing else makes a build that hits everything write. */
it('a list of environments that damage has taken is written again by a build that takes everything from the cache', async () => {
  const folder = makeProject()
  const withList = async (change: boolean): Promise<number> => {
    const cache = await openCache({ name: 'webpack', dir: join(folder, 'cache') })
    const { version = '' } = (await cache.stats()).namespaces.find(({ name }) => name === 'webpack environments') ?? {}
    const environments = cache.namespace('webpack environments', { version })
    const lists = [...environments.keys()].filter((key) => !String(key).includes('\0'))
    if (change) for (const key of lists) environments.delete(key)
    await cache.commit()
    await cache.close()
    return lists.length
  }
  await buildOnce(folder)
  expect(await withList(true)).toBe(1)
  const { counts, complaints } = await buildOnce(folder)
  expect([counts.built, complaints, await withList(false)]).toEqual([0, [], 1])
})

/** `rm -rf node_modules/.cache`, or `npm ci`. Otherwise nothing that the process writes from then on had an environment. */
describe.each(['native', 'wasm'] as const)(
  'a cache that is removed while a process builds again and again: %s',
  (engine) => {
    it.each(['the first', 'a later'])('has what %s process writes afterwards', async (order) => {
      const folder = makeProject()
      if (order === 'a later') await buildOnce(folder, {}, { engine })
      const host = makeHost(folder, {}, { engine, idleTimeoutForInitialStore: 0 })
      await host.run()
      const wanted = order === 'the first' ? 1 : 0
      await vi.waitFor(() => expect(host.stats.stored).toBeGreaterThanOrEqual(wanted), 10_000)
      rmSync(join(folder, 'cache'), { recursive: true })
      for (const name of ['part-0.js', 'part-1.js']) {
        writeFileSync(join(folder, name), `console.log('changed ${name}')\n`)
        await host.run()
      }
      await host.close()
      const { counts, complaints } = await buildOnce(folder, {}, { engine })
      // A pack that was in memory may be written again as a whole.
      expect(counts.built).toBeLessThanOrEqual(MODULES - 2)
      expect([complaints, host.complaints]).toEqual([[], []])
      expect((await buildOnce(folder, {}, { engine })).counts.built).toBe(0)
    })
  },
)

/** Gets and stores values as plugins of webpack do. */
function caching(values: Record<string, unknown>, found: Record<string, unknown>): Configuration {
  const apply = (compiler: Compiler): void => {
    compiler.hooks.thisCompilation.tap('caching', (compilation) => {
      compilation.hooks.processAssets.tapPromise('caching', async () => {
        const cache = compilation.getCache('caching')
        for (const [name, value] of Object.entries(values)) {
          found[name] = await cache.getPromise(name, null)
          await cache.storePromise(name, null, value)
        }
      })
    })
  }
  return { plugins: [{ apply }] }
}

it('texts and numbers that a plugin puts into compilation.getCache() are stored', async () => {
  const folder = makeProject()
  const values = { text: 'a text', empty: '', number: 42, zero: 0, no: false, big: 7n, list: ['in a list'] }
  await buildOnce(folder, caching(values, {}))
  const found = {}
  const { stats } = await buildOnce(folder, caching(values, found))
  expect([found, stats.skipped]).toEqual([values, []])
})

it('a value that cannot be serialised costs no other', async () => {
  const folder = makeProject()
  const values = { before: { a: 1 }, function: { call: () => 1 }, after: { b: 2 } }
  const cold = await buildOnce(folder, caching(values, {}))
  const found = {}
  await buildOnce(folder, caching(values, found))
  expect([cold.stats.skipped, found]).toEqual([
    ['caching|function'],
    { before: { a: 1 }, function: undefined, after: { b: 2 } },
  ])
})

/** Otherwise everything that webpack stored later was lost in each build, such as the minimised bundle. */
it('an etag that throws costs its own value, and no other', async () => {
  const folder = makeProject()
  const etag = {
    toString: (): string => {
      throw new TypeError('no hash')
    },
  }
  const config = (found: unknown[]): Configuration => ({
    optimization: { minimize: true },
    plugins: [
      {
        apply: (compiler: Compiler) =>
          compiler.hooks.thisCompilation.tap('caching', (compilation) => {
            compilation.hooks.processAssets.tapPromise('caching', async () => {
              const cache = compilation.getCache('caching')
              found.push(await cache.getPromise('value', etag))
              await cache.storePromise('value', etag, { n: 1 })
            })
          }),
      },
    ],
  })
  const found: unknown[] = []
  const cold = await buildOnce(folder, config(found))
  const warm = await buildOnce(folder, config(found))
  expect([cold.complaints, cold.stats.skipped]).toEqual([[], ['caching|value']])
  expect([warm.complaints, warm.counts.built, warm.stats.misses, found]).toEqual([[], 0, 1, [undefined, undefined]])
})

it('the generated code of runtime modules is not stored, because webpack before 5.110 has hashes for it that do not cover it', async () => {
  const folder = makeProject()
  writeFileSync(join(folder, 'main.js'), "import('./part-0.js')\n")
  await buildOnce(folder)
  const cache = await openCache({ name: 'webpack', dir: join(folder, 'cache'), readOnly: true })
  const { namespaces } = await cache.stats()
  const { name = '', version = '' } = namespaces.find((one) => /^webpack (?!environments|packs)/.test(one.name)) ?? {}
  const keys = [...cache.namespace(name, { version: decodeURIComponent(version) }).keys()].map(String)
  await cache.close()
  expect(keys.filter((key) => key.includes('Compilation/codeGeneration|')).length).toBeGreaterThan(0)
  expect(keys.filter((key) => key.includes('codeGeneration|webpack/runtime/'))).toEqual([])
})

describe.each(['native', 'wasm'] as const)('values of more than an entry can hold: %s', (engine) => {
  const LOADER = "module.exports = () => Buffer.alloc(70 << 20, 'large '); module.exports.raw = true\n"

  it('an asset of 70 MiB is stored, and not built again', slow, async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), "import url from './large.bin'\nconsole.log(url)\n")
    writeFileSync(join(folder, 'large.bin'), 'made by a loader')
    writeFileSync(join(folder, 'loader.cjs'), LOADER)
    const rule = {
      test: /\.bin$/,
      type: 'asset/resource',
      use: join(folder, 'loader.cjs'),
      generator: { filename: 'large.bin' },
    }
    const config = { module: { rules: [rule] }, performance: false as const }
    const cold = await buildOnce(folder, config, { engine })
    const emitted = readFileSync(join(folder, 'dist', 'large.bin'))
    writeFileSync(join(folder, 'dist', 'large.bin'), 'changed since')
    const warm = await buildOnce(folder, config, { engine })
    expect([cold.stats.skipped, warm.counts.built, warm.stats.skipped, warm.complaints]).toEqual([[], 0, [], []])
    expect(readFileSync(join(folder, 'dist', 'large.bin')).equals(emitted)).toBe(true)
  })

  it('a text of 100 MB is stored beside small values', slow, async () => {
    const folder = makeProject()
    const values = { small: 'small', large: { text: 'x'.repeat(100_000_000) } }
    await buildOnce(folder, caching(values, {}), { engine })
    const found: Record<string, unknown> = {}
    const { stats } = await buildOnce(folder, caching({ small: 'small', large: 1 }, found), { engine })
    expect([found['small'], stats.skipped]).toEqual(['small', []])
    expect(JSON.stringify(found['large'])?.length).toBe(100_000_011)
  })
})
