/** Plugins of one config: the order of their hooks, and the configs in which they run. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cached, varve } from '@varve/plugins/vite'
import { build, createLogger, createServer, type Plugin, resolveConfig } from 'vite'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'

const options = { cacheKey: 'key', dir: 'cache', trackReads: false }

describe('a plugin in a cache, in Vite', () => {
  /** Vite calls these hooks in turn and waits for all of them, and the one of a cached plugin ran after the others. */
  it('configResolved of a cached plugin runs after those of later plugins', async () => {
    const order: string[] = []
    const noting = (name: string): Plugin => ({ name, configResolved: () => void order.push(name), transform: () => null })
    await resolveConfig({ configFile: false, logLevel: 'silent', plugins: [cached(noting('first'), options), noting('second')] }, 'build')
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
        transform: (code, id) => (id.endsWith('shared.js') ? { code: code.replace('PLACE', JSON.stringify(place)), map: null } : null),
      }
      return [plugin, varve({ ...options, plugins: ['places'] })]
    }
    const input = join(folder, 'main.js')
    const built = await build({
      root: folder, configFile: false, logLevel: 'silent', plugins: places(), worker: { plugins: places },
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
      const config = { root: folder, configFile: false, logLevel: 'silent', plugins, optimizeDeps: { noDiscovery: true } } as const
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
      const built = await build({ root: folder, configFile: false, customLogger, plugins, build: { write: false, rollupOptions: { input } } })
      expect(JSON.stringify(built)).toContain('word')
    }
    expect(warnings).toEqual([])
  })
})
