/** Hooks of a cached plugin run in the order, and with the context, that they have without a cache. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cached } from '@varve/plugins/rollup'
import type { CachedStats } from '@varve/plugins/rollup'
import { type OutputAsset, type OutputChunk, type Plugin, type PluginContext, rollup, type RollupOptions } from 'rollup'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'

/** A project with one module. */
function makeProject(): string {
  const folder = makeFolder()
  writeFileSync(join(folder, 'main.js'), 'console.log("WORD")\n')
  return folder
}

async function outputOf(options: RollupOptions): Promise<(OutputChunk | OutputAsset)[]> {
  const bundle = await rollup(options)
  const { output } = await bundle.generate({ assetFileNames: '[name][extname]' })
  await bundle.close()
  return output
}

describe('hooks of a plugin in a cache, in Rollup', () => {
  /** Rollup calls the hooks of all plugins in turn, and that of a cached plugin waited until the cache was open. */
  it('assets that two plugins emit in buildStart get other names', async () => {
    const folder = makeProject()
    const emitting = (name: string): Plugin => ({
      name,
      buildStart() {
        this.emitFile({ type: 'asset', name: 'note.txt', source: name })
      },
      transform: () => null,
    })
    const namesWith = async (first: Plugin): Promise<unknown> => {
      const output = await outputOf({ input: join(folder, 'main.js'), plugins: [first, emitting('second')] })
      return Object.fromEntries(output.flatMap((one) => (one.type === 'asset' ? [[one.fileName, one.source]] : [])))
    }
    const none = await namesWith(emitting('first'))
    expect(none).toMatchObject({ 'note.txt': 'first' })
    expect(
      await namesWith(cached(emitting('first'), { cacheKey: 'key', root: folder, dir: 'cache', trackReads: false })),
    ).toEqual(none)
  })

  /** Rollup loads it at once, while the cache is still being opened, so the plugin ran for it in each build. */
  it('a module that another plugin emits in buildStart is never cached', async () => {
    const folder = makeProject()
    const words: Plugin = { name: 'words', transform: (code) => ({ code: code.replace('WORD', 'word'), map: null }) }
    const pages: Plugin = {
      name: 'pages',
      buildStart() {
        this.emitFile({ type: 'chunk', id: 'page' })
      },
      resolveId: (source) => (source === 'page' ? '\0page' : null),
      load: (id) => (id === '\0page' ? 'console.log("WORD page")' : null),
    }
    const found: CachedStats[] = []
    for (let round = 0; round < 2; round++) {
      const onStats = (stats: CachedStats): void => void found.push(stats)
      const plugin = cached(
        { ...words },
        { cacheKey: 'key', root: folder, dir: 'cache', engine: 'wasm', trackReads: false, onStats },
      )
      await outputOf({ input: join(folder, 'main.js'), plugins: [plugin, pages] })
    }
    expect(found).toMatchObject([
      { hits: 0, misses: 2 },
      { hits: 2, misses: 0 },
    ])
  })

  /** The context was an empty object behind which the members were found by name only. */
  it('a hook that passes a copy of its context to a function fails the build', async () => {
    const folder = makeProject()
    const copying: Plugin = {
      name: 'copying',
      async resolveId(source, importer) {
        const copy = { ...this }
        return (await copy.resolve(`./${source}.js`, importer, { skipSelf: true })) ?? null
      },
      transform(code) {
        const { warn } = { ...this }
        warn('is old')
        return { code: code.replace('WORD', 'word'), map: null }
      },
    }
    const [input, logs] = [join(folder, 'main'), [] as string[]]
    const onLog = (_: string, { message }: { message: string }): void => void logs.push(message)
    const build = async (plugin: Plugin): Promise<unknown> => {
      const external = {
        name: 'external',
        resolveId: (source: string) => (source === `./${input}.js` ? `${input}.js` : null),
      }
      return (await outputOf({ input, onLog, plugins: [plugin, external] })).map((one) =>
        one.type === 'chunk' ? one.code : one.source,
      )
    }
    const none = await build({ ...copying })
    expect(
      await build(cached({ ...copying }, { cacheKey: 'key', root: folder, dir: 'cache', trackReads: false })),
    ).toEqual(none)
    expect(logs[0]).toContain('is old')
    expect(logs[1]).toBe(logs[0])
  })

  const words = (code: string): { code: string; map: null } => ({ code: code.replace('WORD', 'word'), map: null })
  class WithPrivate {
    #word = 'word'
    get name(): string {
      return `private-${this.#word.length}`
    }
    get transform(): (code: string) => ReturnType<typeof words> {
      const word = this.#word
      return (code) => ({ code: code.replace('WORD', word), map: null })
    }
    buildStart(this: PluginContext): void {
      this.warn('begins')
    }
  }
  class WithMethods {
    readonly name = 'methods'
    transform(this: PluginContext, code: string): ReturnType<typeof words> {
      this.warn('transforms')
      return words(code)
    }
  }
  const shapes: Readonly<Record<string, () => Plugin>> = {
    'is frozen': () => Object.freeze({ name: 'frozen', transform: words }),
    'is sealed': () => Object.seal({ name: 'sealed', transform: words }),
    'has frozen hooks': () => ({ name: 'hooks', transform: Object.freeze({ order: 'pre' as const, handler: words }) }),
    'has getters': () => ({
      name: 'getters',
      get transform() {
        return words
      },
    }),
    'has a version that throws': () => ({
      name: 'version',
      get version(): string {
        throw new Error('not yet')
      },
      transform: words,
    }),
    'has getters of a class with private fields': () => new WithPrivate(),
    'has methods of a class': () => new WithMethods(),
  }

  /** The hooks were replaced by assigning them. */
  it.each(Object.entries(shapes))('a plugin that %s fails the build, or is not cached', async (_, make) => {
    const folder = makeProject()
    const found: CachedStats[] = []
    const build = async (plugin: Plugin): Promise<unknown> => {
      const logs: string[] = []
      const onLog = (_level: string, { message }: { message: string }): void => void logs.push(message)
      return [
        logs,
        (await outputOf({ input: join(folder, 'main.js'), onLog, plugins: [plugin] })).map(
          (one) => one.type === 'chunk' && one.code,
        ),
      ]
    }
    const none = await build(make())
    const onStats = (stats: CachedStats): void => void found.push(stats)
    const options = { cacheKey: 'key', root: folder, dir: 'cache', trackReads: false, onStats }
    for (let round = 0; round < 2; round++) expect(await build(cached(make(), options))).toEqual(none)
    expect(found).toMatchObject([{ misses: 1 }, { hits: 1, misses: 0 }])
  })

  it('a plugin that does not let its hooks be replaced has an error that names it', () => {
    const plugin = new Proxy({ name: 'closed', transform: words }, { defineProperty: () => false })
    expect(() => cached(plugin, { cacheKey: 'key' })).toThrow(/hooks of plugin 'closed' cannot be replaced/)
  })
})
