/** VarveMetroStore with the real metro-cache, and whole bundles with the real Metro, each in a separate process. */
import { appendFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { VarveMetroStore } from '@varve/plugins/metro'
import { Cache, type CacheStore } from 'metro-cache'
import { describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { adapterContract } from '../contract.ts'
import { damage, keepFolder, runProgram } from '../programs.ts'
import { slow } from '../../slow.ts'

const BUILD = fileURLToPath(new URL('build.mjs', import.meta.url))
const MODULES = 60

interface Built {
  readonly digest: string
  readonly bytes: number
  readonly hits: number
  readonly misses: number
}

/** An application of `MODULES` modules. */
function makeApplication(): string {
  const folder = makeFolder()
  const numbers = Array.from({ length: MODULES }, (_, index) => index)
  for (const number of numbers)
    writeFileSync(join(folder, `module-${number}.js`), `export const value = (x = ${number}) => x?.y ?? x * 2\n`)
  const imports = numbers.map((number) => `import { value as v${number} } from './module-${number}'`)
  writeFileSync(
    join(folder, 'main.js'),
    `${imports.join('\n')}\nconsole.log(${numbers.map((number) => `v${number}()`).join(' + ')})\n`,
  )
  writeFileSync(join(folder, 'package.json'), '{"name": "application", "version": "1.0.0"}')
  writeFileSync(join(folder, 'metro.config.cjs'), 'module.exports = {}\n')
  return folder
}

const build = (folder: string, order: object = {}): Promise<Built> =>
  runProgram(BUILD, { folder, options: {}, ...order }, { cwd: folder })
const share = ({ hits, misses }: Built): number => hits / (hits + misses)

describe('VarveMetroStore', () => {
  adapterContract(fileURLToPath(new URL('program.mjs', import.meta.url)))

  it('VarveMetroStore is a CacheStore by its types; it returns stored results, and anything else is a miss', async () => {
    const store: CacheStore<unknown> = new VarveMetroStore({ dir: makeFolder() })
    const cache = new Cache<unknown>([store])
    const script = {
      type: 'js/module',
      data: {
        code: 'x',
        lineCount: 1,
        map: [
          [1, 0],
          [1, 2, 3, 4, 'name'],
        ],
        functionMap: null,
      },
    }
    const loc = { start: { line: 1, column: 2 } }
    const dependencies = [{ name: './a', data: { key: 'k', asyncType: null, isESMImport: true, locs: [loc] } }]
    const values = [
      { dependencies, output: [script] },
      { dependencies: [], output: [{ ...script, type: 'js/module/asset' }] },
    ]
    for (const [index, value] of values.entries()) {
      await cache.set(Buffer.from([index]), value)
      expect(await cache.get(Buffer.from([index]))).toEqual(value)
    }
    const others = [
      Buffer.from('bytes'),
      { a: [1, null, 'x'] },
      'text',
      0,
      false,
      '',
      { dependencies: [], output: [] },
      { dependencies: [], output: [script, script] },
    ]
    for (const other of others) {
      await cache.set(Buffer.from('other'), other)
      expect(await cache.get(Buffer.from('other'))).toBeNull()
    }
    await store.clear()
    for (const index of values.keys()) expect(await cache.get(Buffer.from([index]))).toBeNull()
  })

  /** Metro from 2026-08 on stores maps as VLQ, which was no shape of a result, so each module was a miss. */
  it('a module whose source map is compact, as in newer versions of Metro, is never found', async () => {
    const store = new VarveMetroStore({ dir: makeFolder() })
    const withMap = (map: unknown) => {
      return {
        dependencies: [],
        output: [{ type: 'js/module', data: { code: 'x', lineCount: 1, map, functionMap: null } }],
      }
    }
    const [key, compact] = [Buffer.from('key'), withMap({ mappings: 'AAAAA,C;', names: ['name'] })]
    await store.set(key, compact)
    expect(await store.get(key)).toEqual(compact)
    const wrong = ['AAAAA', 'ACAA', '!'].map((mappings) => ({ mappings, names: [] }))
    for (const map of [...wrong, { mappings: '' }, 'AAAA', null]) {
      await store.set(key, withMap(map))
      expect(await store.get(key)).toBeNull()
    }
    await store.close()
  })

  it('a Metro server that runs while a plugin of Babel is edited stores nothing that the old plugin made', async () => {
    const [root, dir, key] = [makeFolder(), makeFolder(), Buffer.from('key')]
    const made = (code: string) => ({
      dependencies: [],
      output: [{ type: 'js/module', data: { code, lineCount: 1, map: [], functionMap: null } }],
    })
    writeFileSync(join(root, 'babel.config.js'), `module.exports = { plugins: ['./plugin.js'] }`)
    writeFileSync(join(root, 'plugin.js'), 'module.exports = () => ({})')
    const running = new VarveMetroStore({ dir, root })
    await running.set(key, made('old'))
    expect(await running.get(key)).toEqual(made('old'))
    writeFileSync(join(root, 'plugin.js'), 'module.exports = () => ({ visitor: {} })')
    await expect.poll(() => running.get(key)).toBeNull()
    await running.set(key, made('old'))
    await running.close()
    const next = new VarveMetroStore({ dir, root })
    expect(await next.get(key)).toBeNull()
    await next.close()
  })

  it('a module is found after a change of a declared file or variable that an installed plugin reads', async () => {
    const root = makeFolder()
    const dir = makeFolder()
    const key = Buffer.from('key')
    const result = { dependencies: [], output: [{ type: 'js/module', data: { code: '1', lineCount: 1, map: [] } }] }
    /** A store as a process of its own has it. */
    const isFound = async (flavour: string, text: string): Promise<boolean> => {
      vi.stubEnv('FLAVOUR', flavour)
      writeFileSync(join(root, '.env'), text)
      vi.resetModules()
      const { VarveMetroStore: Store } = await import('@varve/plugins/metro')
      const store = new Store({ dir, root, env: ['FLAVOUR'], files: ['.env'] })
      const found = await store.get(key)
      if (found === null) await store.set(key, result)
      await store.close()
      return found !== null
    }
    expect(await isFound('one', 'one')).toBe(false)
    expect(await isFound('one', 'one')).toBe(true)
    expect(await isFound('two', 'one')).toBe(false)
    expect(await isFound('two', 'two')).toBe(false)
    expect(await isFound('one', 'one')).toBe(true)
    vi.unstubAllEnvs()
  })

  it('VarveMetroStore names a wrong option', () => {
    const make = (options: object) => () => new VarveMetroStore(options)
    expect(make({ verion: 'x' })).toThrow("new VarveMetroStore() has no option 'verion'; did you mean 'version'?")
  })
})

describe('a bundle', () => {
  it(
    'a second Metro bundle comes from the cache, byte for byte; a changed module or option is built',
    slow,
    async () => {
      const folder = makeApplication()
      const none = await build(folder, { options: null })
      const cold = await build(folder)
      expect(cold).toMatchObject({ hits: 0, digest: none.digest })
      const warm = await build(folder)
      expect(warm.digest).toBe(none.digest)
      expect(share(warm)).toBeGreaterThanOrEqual(0.95)

      appendFileSync(join(folder, 'module-7.js'), 'export const more = 1\n')
      const changed = await build(folder)
      expect(changed).toMatchObject({ misses: 1, digest: (await build(folder, { options: null })).digest })
      expect(changed.digest).not.toBe(none.digest)
      expect((await build(folder, { dev: false })).hits).toBe(0)
      expect((await build(folder, { options: { version: '2' } })).hits).toBe(0)
    },
  )

  it(
    'no stale module in a Metro bundle after an edit of a plugin of Babel, or an upgrade of a package',
    slow,
    async () => {
      const folder = makeApplication()
      const plugin = (number: number): string =>
        `module.exports = () => ({ visitor: { NumericLiteral({ node }) { if (node.value === 2) node.value = ${number} } } })`
      writeFileSync(join(folder, 'babel.config.js'), `module.exports = { plugins: ['./plugin.js'] }`)
      mkdirSync(join(folder, 'node_modules'))
      for (const [name, first, second] of [
        ['plugin.js', plugin(11), plugin(22)],
        ['node_modules/.package-lock.json', '{"a":1}', '{"a":2}'],
      ] as const) {
        writeFileSync(join(folder, 'plugin.js'), plugin(11))
        writeFileSync(join(folder, name), first)
        expect(await build(folder)).toMatchObject({ digest: (await build(folder, { options: null })).digest })
        expect(share(await build(folder))).toBe(1)
        writeFileSync(join(folder, name), second)
        expect(await build(folder)).toMatchObject({ hits: 0, digest: (await build(folder, { options: null })).digest })
      }
    },
  )

  it('the Metro bundle of a moved checkout comes from the cache', slow, async () => {
    const [folder, moved] = [makeApplication(), join(makeFolder(), 'moved')]
    const { digest } = await build(folder)
    cpSync(folder, moved, { recursive: true })
    const built = await build(moved)
    expect(built.digest).toBe(digest)
    expect(share(built)).toBeGreaterThanOrEqual(0.95) // Metro's runtime lies outside, at another relative path
  })

  it('a Metro bundle is correct with any damage of the cache', slow, async () => {
    const folder = makeApplication()
    const { digest } = await build(folder)
    const restore = keepFolder(join(folder, 'cache'), join(makeFolder(), 'kept'))
    for (const part of [0.02, 0.3, 0.6, 0.98]) {
      restore()
      damage(join(folder, 'cache'), part)
      expect((await build(folder)).digest, `at ${part}`).toBe(digest)
      expect(share(await build(folder)), `at ${part}, again`).toBeGreaterThanOrEqual(0.95)
    }
  })

  it('two concurrent Metro bundles lose nothing', slow, async () => {
    const folder = makeApplication()
    const builds = await Promise.all([build(folder), build(folder, { options: { engine: 'wasm' } })])
    expect(new Set(builds.map(({ digest }) => digest)).size).toBe(1)
    expect(share(await build(folder))).toBeGreaterThanOrEqual(0.95)
  })
})
