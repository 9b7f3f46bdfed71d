/** What plugins do with their context, in Rollup and Rolldown: builds without a cache, with an empty one and with the same again are the same. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cached as cachedRolldown } from '@varve/plugins/rolldown'
import { cached, type CachedStats } from '@varve/plugins/rollup'
import { rolldown } from 'rolldown'
import { type LogLevelOption, type Plugin, type PluginContext, rollup } from 'rollup'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'

/** The output of a build and its messages. */
interface Built {
  readonly files: readonly (readonly [name: string, content: string])[]
  readonly logs: readonly string[]
}

/** Builds a project of two modules with one plugin. */
class Project {
  readonly folder: string = makeFolder()
  readonly stats: CachedStats[] = []
  readonly #tool: string

  constructor(tool: string) {
    this.#tool = tool
    writeFileSync(join(this.folder, 'main.js'), 'import "./part.js"\nconsole.log("WORD")\n')
    writeFileSync(join(this.folder, 'part.js'), 'console.log("WORD of a part")\n')
  }

  wrap(plugin: Plugin): Plugin {
    const onStats = (stats: CachedStats): void => void this.stats.push(stats)
    const options = { cacheKey: 'key', root: this.folder, dir: 'cache', trackReads: false, stateless: true, onStats }
    return Reflect.apply(this.#tool === 'rollup' ? cached : cachedRolldown<never>, undefined, [plugin, options])
  }

  async build(plugin: Plugin, isCached: boolean, logLevel: LogLevelOption = 'info'): Promise<Built> {
    const logs: string[] = []
    const onLog = (level: string, { message }: { message: string }): void => void logs.push(`${level}: ${message}`)
    const plugins = [isCached ? this.wrap(plugin) : plugin]
    const options = { input: join(this.folder, 'main.js'), plugins, onLog, logLevel }
    const bundle = this.#tool === 'rollup' ? await rollup(options) : await rolldown({ ...options, cwd: this.folder })
    const { output } = await bundle.generate({})
    await bundle.close()
    const files = output.map((one) => [one.fileName, String(one.type === 'chunk' ? one.code : one.source)] as const)
    return { files: files.toSorted(), logs: logs.toSorted() }
  }
}

/** Expects the same of a build without a cache and of the two with it. Returns the statistics of the second. */
async function expectSame(
  tool: string,
  make: () => Plugin,
  logLevel?: LogLevelOption,
): Promise<CachedStats | undefined> {
  const project = new Project(tool)
  const none = await project.build(make(), false, logLevel)
  expect(await project.build(make(), true, logLevel), 'with an empty cache').toEqual(none)
  expect(await project.build(make(), true, logLevel), 'with a full cache').toEqual(none)
  return project.stats.at(-1)
}

const replaced = (code: string): { code: string; map: null } => ({ code: code.replace('WORD', 'word'), map: null })
const load = (id: string): string | null =>
  /(?:main|part)\.js$/.test(id) ? readFileSync(id, 'utf8').replace('WORD', 'word') : null

describe.each(['rollup', 'rolldown'])('the context of a cached plugin, in %s', (tool) => {
  /** The context of buildStart was not the one that records the call. */
  it('assets and messages that a plugin makes with the context of buildStart are missing from the next build', async () => {
    const stats = await expectSame(tool, () => {
      const contexts: PluginContext[] = []
      return {
        name: 'keeping',
        buildStart() {
          contexts.push(this)
        },
        transform(code, id) {
          contexts[0]?.emitFile({ type: 'asset', fileName: `${id.length}.txt`, source: 'text' })
          contexts[0]?.warn('is old')
          return replaced(code)
        },
      }
    })
    expect(stats?.hits).toBe(0)
  })

  it('a plugin that keeps state by its context loses it', async () => {
    const stats = await expectSame(tool, () => {
      const words = new WeakMap<object, string>()
      return {
        name: 'keeping',
        buildStart() {
          words.set(this, 'kept')
        },
        resolveId() {
          if (words.has(this)) this.info('is kept')
          return null
        },
        load(id) {
          return load(id)?.replace('word', words.get(this) ?? 'lost') ?? null
        },
        closeBundle() {
          if (words.has(this)) this.info('is kept to the end')
        },
      }
    })
    expect(stats?.hits).toBe(2)
  })

  it('a hook whose work ends in a callback of its own is still cached', async () => {
    const stats = await expectSame(tool, () => ({
      name: 'calling',
      async transform(code) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        this.emitFile({ type: 'asset', fileName: `${code.length}.txt`, source: 'text' })
        return replaced(code)
      },
    }))
    expect(stats?.misses).toBe(0)
  })

  it('a plugin in two caches loses the assets that it emits', async () => {
    const project = new Project(tool)
    const make = (): Plugin => ({
      name: 'emitting',
      load(id) {
        this.emitFile({ type: 'asset', fileName: `${id.length}.txt`, source: 'text' })
        return load(id)
      },
      async transform(code) {
        await Promise.resolve()
        this.warn('is old')
        return replaced(code)
      },
    })
    const none = await project.build(make(), false)
    for (let round = 0; round < 3; round++)
      expect(await project.build(project.wrap(make()), true), `round ${round}`).toEqual(none)
    expect(project.stats.some(({ hits }) => hits > 0)).toBe(true)
  })

  /** The tool asks for such a message only if its level is logged, so the first build did not have it. */
  it('a message that a quiet build did not make is missing from the next build', async () => {
    const make = (): Plugin => ({
      name: 'lazy',
      load(id) {
        this.warn(() => 'a warning')
        this.debug(() => ({ message: 'a detail' }))
        return load(id)
      },
    })
    const project = new Project(tool)
    await project.build(make(), true, 'silent')
    await project.build(make(), true, 'silent')
    for (const level of ['warn', 'debug', 'warn'] as const) {
      expect((await project.build(make(), true, level)).logs, level).toEqual(
        (await project.build(make(), false, level)).logs,
      )
    }
    expect(project.stats.map(({ hits }) => hits)).toEqual([0, 2, 0, 0, 2])
  })
})
