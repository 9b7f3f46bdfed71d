/** Plugins of one config: the order of their hooks, and the configs in which they run. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cached, type CachedStats, varve } from '@varve/plugins/vite'
import { build, createLogger, createServer, type Plugin, resolveConfig } from 'vite'
import { beforeEach, describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'

const options = { cacheKey: 'key', dir: 'cache', trackReads: false }

describe('a plugin in a cache, in Vite', () => {
  /** Vite calls these hooks in turn and waits for all of them, and the one of a cached plugin ran after the others. */
  it('configResolved of a cached plugin runs after those of later plugins', async () => {
    const order: string[] = []
    const noting = (name: string): Plugin => ({
      name,
      configResolved: () => void order.push(name),
      transform: () => null,
    })
    await resolveConfig(
      { configFile: false, logLevel: 'silent', plugins: [cached(noting('first'), options), noting('second')] },
      'build',
    )
    expect(order).toEqual(['first', 'second'])
  })

  it('a module that a page and its worker share is that of the other in one of them', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), "import Work from './work.js?worker'\nimport './shared.js'\nnew Work()\n")
    writeFileSync(join(folder, 'work.js'), "import './shared.js'\n")
    writeFileSync(join(folder, 'shared.js'), 'console.log(PLACE)\n')
    const places = (): Plugin[] => {
      let place = ''
      const plugin: Plugin = {
        name: 'places',
        configResolved: ({ isWorker }) => void (place = isWorker ? 'in a worker' : 'in a page'),
        transform: (code, id) =>
          id.endsWith('shared.js') ? { code: code.replace('PLACE', JSON.stringify(place)), map: null } : null,
      }
      return [plugin, varve({ ...options, plugins: ['places'] })]
    }
    const input = join(folder, 'main.js')
    const built = await build({
      root: folder,
      configFile: false,
      logLevel: 'silent',
      plugins: places(),
      worker: { plugins: places },
      build: { write: false, minify: false, rollupOptions: { input } },
    })
    const output = [built].flat().flatMap((one) => ('output' in one ? one.output : []))
    const texts = output.map((one) => String(one.type === 'chunk' ? one.code : one.source))
    expect(texts.filter((text) => text.includes('in a worker'))).toHaveLength(1)
    expect(texts.filter((text) => text.includes('in a page'))).toHaveLength(1)
  })

  it('a server has the addresses of one with another origin', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), 'console.log(ORIGIN)\n')
    for (const origin of ['http://one.test', 'http://two.test']) {
      let found: string | undefined = ''
      const addresses: Plugin = {
        name: 'addresses',
        configResolved: ({ server }) => void (found = server.origin),
        transform: (code) => ({ code: code.replace('ORIGIN', JSON.stringify(found)), map: null }),
      }
      const plugins = [addresses, varve({ ...options, plugins: ['addresses'] })]
      const config = {
        root: folder,
        configFile: false,
        logLevel: 'silent',
        plugins,
        optimizeDeps: { noDiscovery: true },
      } as const
      const server = await createServer({ ...config, server: { middlewareMode: true, ws: false, origin } })
      const result = await server.transformRequest('/main.js')
      await server.close()
      expect(result?.code).toContain(origin)
    }
  })

  /** The work of the inner cache waited for that of the outer one, of which it is a part. */
  it('two instances of varve() that name one plugin warn of a cycle', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), 'console.log("WORD")\n')
    const words: Plugin = { name: 'words', transform: (code) => ({ code: code.replace('WORD', 'word'), map: null }) }
    const twice = { ...options, plugins: ['words'] }
    const warnings: string[] = []
    const warn = (text: string): void => void warnings.push(text)
    const customLogger = { ...createLogger('silent'), warn, warnOnce: warn }
    for (let round = 0; round < 2; round++) {
      const input = join(folder, 'main.js')
      const plugins = [{ ...words }, varve(twice), varve(twice)]
      const built = await build({
        root: folder,
        configFile: false,
        customLogger,
        plugins,
        build: { write: false, rollupOptions: { input } },
      })
      expect(JSON.stringify(built)).toContain('word')
    }
    expect(warnings).toEqual([])
  })

  /** Vite 5 calls these hooks without a context, in place of which the plugin got an object that throws. */
  it('a plugin that looks for the version of Vite in configResolved fails in Vite 5', async () => {
    const found: unknown[] = []
    const plugin = {
      name: 'versions',
      configResolved(this: { meta: object } | undefined) {
        found.push(this?.meta)
      },
      transform: () => null,
    } satisfies Plugin
    const { configResolved } = cached(plugin, { cacheKey: 'key', dir: 'cache' })
    const config = await resolveConfig({ configFile: false, logLevel: 'silent' }, 'build')
    Reflect.apply(configResolved, undefined, [config])
    expect(found).toEqual([undefined])
  })

  it('a frozen plugin that varve() names has an error with a way out', async () => {
    const frozen = Object.freeze({ name: 'frozen', transform: () => null })
    const resolving = resolveConfig(
      { configFile: false, logLevel: 'silent', plugins: [frozen, varve({ ...options, plugins: ['frozen'] })] },
      'build',
    )
    await expect(resolving).rejects.toThrow(/hooks of plugin 'frozen' cannot be replaced.*cached\(\)/)
  })
})

describe('the environment in a cached hook, in Vite', () => {
  const found: CachedStats[] = []
  beforeEach(() => void (found.length = 0))
  const withCache = (plugin: Plugin): Plugin =>
    cached(plugin, { ...options, onStats: (stats) => void found.push(stats) })

  /** A hit repeats what the plugin does with its context, but not what it does with the environment in it. */
  it('a message that a plugin logs with its environment is missing from the next build', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), 'console.log("WORD")\n')
    const words = (): Plugin => ({
      name: 'words',
      transform(code) {
        this.environment.logger.warn(`is old in ${this.environment.name}`)
        return { code: code.replace('WORD', 'word'), map: null }
      },
    })
    const run = async (plugin: Plugin): Promise<readonly string[]> => {
      const logs: string[] = []
      const customLogger = { ...createLogger('silent'), warn: (text: string): void => void logs.push(text) }
      const input = join(folder, 'main.js')
      await build({
        root: folder,
        configFile: false,
        customLogger,
        plugins: [plugin],
        build: { write: false, rollupOptions: { input } },
      })
      return logs
    }
    const none = await run(words())
    expect(none.length).toBeGreaterThan(0)
    for (let round = 0; round < 2; round++) expect(await run(withCache(words()))).toEqual(none)
    expect(found.at(-1)?.uncacheable).toEqual({ 'uses this.environment.logger': none.length })
  })

  it('a module that depends on the module graph of the server is that of an earlier server', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'main.js'), 'console.log(KNOWN, PLACE)\n')
    writeFileSync(join(folder, 'other.js'), 'export {}\n')
    const serve = async (first: readonly string[]): Promise<string | undefined> => {
      const places = new WeakMap<object, string>()
      const graph: Plugin = {
        name: 'graph',
        configureServer: ({ environments }) => void places.set(environments.client, 'kept'),
        transform(code) {
          const isKnown =
            this.environment.mode === 'dev' &&
            this.environment.moduleGraph.getModuleById(join(folder, 'other.js')) !== undefined
          return {
            code: code.replace('KNOWN', String(isKnown)).replace('PLACE', JSON.stringify(places.get(this.environment))),
            map: null,
          }
        },
      }
      const config = {
        root: folder,
        configFile: false,
        logLevel: 'silent',
        optimizeDeps: { noDiscovery: true },
      } as const
      const server = await createServer({
        ...config,
        plugins: [withCache(graph)],
        server: { middlewareMode: true, ws: false },
      })
      for (const url of first) await server.transformRequest(url)
      const result = await server.transformRequest('/main.js')
      await server.close()
      return result?.code
    }
    expect(await serve([])).toContain('console.log(false, "kept")')
    expect(await serve(['/other.js'])).toContain('console.log(true, "kept")')
  })
})
