/** The keys of Vitest's own cache: what Varve adds to them for the modules of its project. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cached, varve } from '@varve/plugins/vite'
import { createServer, type Plugin, type ViteDevServer } from 'vite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeFolder } from '../../folders.ts'

type Key = string | false | undefined
type Generator = (module: { readonly environment: object }) => Key

/** A plugin of a user, which replaces a word. */
const makeWords = (): Plugin => ({ name: 'words', transform: (code) => code.replaceAll('WORD', 'word') })

/** Without the recorder: it counts what this run of Vitest reads, too. */
const WAYS: Readonly<Record<string, (cacheKey: string) => Plugin[]>> = {
  varve: (cacheKey) => [makeWords(), varve({ plugins: ['words'], cacheKey, trackReads: false })],
  cached: (cacheKey) => [cached(makeWords(), { cacheKey, trackReads: false })],
}

describe.each(Object.entries(WAYS))("a key of Vitest's own cache, with %s()", (_, plugins) => {
  it('is the same in two runs, and another one with other options', async () => {
    const folder = makeFolder()
    const keyOf = async (cacheKey: string): Promise<Key> => {
      const [server, generate] = await start(folder, plugins(cacheKey))
      return generate({ environment: server.environments.ssr })
    }
    const first = await keyOf('1')
    expect(first).toEqual(expect.any(String))
    expect(await keyOf('1')).toBe(first)
    expect(await keyOf('2')).toEqual(expect.stringMatching(/^[0-9a-f]+$/))
    expect(await keyOf('2')).not.toBe(first)
  })

  it('differs between environments, and is left to Vitest in another project', async () => {
    const folder = makeFolder()
    const [one, generate] = await start(folder, plugins('1'))
    const [other] = await start(folder, plugins('1'))
    const keys = [one.environments.ssr, one.environments.client].map((environment) => generate({ environment }))
    expect(new Set(keys).size).toBe(2)
    expect([other.environments.ssr, {}].map((environment) => generate({ environment }))).toEqual([undefined, undefined])
  })

  it('is refused once an input has changed while the process runs', async () => {
    const folder = makeFolder()
    const [server, generate] = await start(folder, plugins('1'))
    writeFileSync(join(folder, 'tsconfig.json'), '{}\n')
    await expect.poll(() => generate({ environment: server.environments.ssr })).toBe(false)
  })
})

/** A server with these plugins, and what they define for the keys. */
async function start(folder: string, plugins: Plugin[]): Promise<readonly [ViteDevServer, Generator]> {
  const server = await createServer({
    root: folder,
    configFile: false,
    logLevel: 'silent',
    plugins,
    server: { middlewareMode: true, ws: false },
  })
  onTestFinished(() => server.close())
  const generators: Generator[] = []
  const context = { experimental_defineCacheKeyGenerator: (one: Generator) => void generators.push(one) }
  for (const plugin of server.config.plugins) {
    const hook: unknown = Reflect.get(plugin, 'configureVitest')
    if (typeof hook === 'function') Reflect.apply(hook, plugin, [context])
  }
  const [generate] = generators
  if (generate === undefined || generators.length > 1) throw new Error(`${generators.length} generators are defined`)
  return [server, generate]
}
