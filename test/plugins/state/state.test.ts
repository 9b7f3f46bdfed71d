/**
 * Plugins whose hooks share state: a warm build emits what a build without a cache does, because their results are not stored.
 *
 * A hit skips the hook that fills the state. Builds with @rollup/plugin-url, rollup-plugin-scss, -css-only and @wyw-in-js lost files or
 * failed, although the cold build was right.
 */
import { join } from 'node:path'
import { varve } from '@varve/plugins/vite'
import type { Plugin as EsbuildPlugin } from 'esbuild'
import type { Plugin } from 'rollup'
import { build as vite, createLogger } from 'vite'
import { describe, expect, it } from 'vitest'
import { COLLECTING, ESBUILD, ESBUILD_LEADING, IN_TWO_PARTS, LEADING } from './plugins.ts'
import { buildBy, buildByEsbuild, type Make, makeProject, type Outcome, TOOLS } from './project.ts'

const SOURCES = { 'src/main.js': "import 'virtual:all'\nimport './part.js'\nconsole.log('WORD main')\n" }

/** Builds without a cache, and twice with it; all three must agree. Returns the last one. */
async function expectSame(build: (options?: { stateless?: boolean }) => Promise<Outcome>): Promise<Outcome> {
  const plain = await build()
  expect(plain.failure).toBe('')
  const cold = await build({})
  const warm = await build({})
  for (const outcome of [cold, warm]) {
    expect(outcome.failure).toBe('')
    expect(outcome.files).toEqual(plain.files)
  }
  return warm
}

describe.each(TOOLS)('plugins with state, in %s', (tool) => {
  it.each(Object.entries(COLLECTING))(
    'a plugin that uses in %s what it collected in transform loses it in a warm build',
    async (_, make) => {
      const folder = makeProject()
      const warm = await expectSame((options) => buildBy(tool, folder, make, options))
      expect(warm.hits).toBe(0)
      const named = warm.warnings.filter((text) => text.includes("'stateless: true'"))
      expect(named).toEqual([expect.stringMatching(/plugin 'counting' is not cached: .* '(?:\w+)'/)])
    },
  )

  it('two plugins of one package share what one of them collects, and a warm build loses it', async () => {
    const folder = makeProject()
    const warm = await expectSame((options) => buildBy(tool, folder, IN_TWO_PARTS, options))
    expect(warm.hits).toBe(0)
    expect(warm.warnings).toEqual([expect.stringContaining("hook 'generateBundle' of plugin 'pair:emit'")])
  })

  it.each(Object.entries(LEADING))('a result that leads to %s fails a warm build', async (name, make) => {
    const folder = makeProject(name.includes('source imports') ? SOURCES : {})
    const { hits, misses, uncacheable } = await expectSame((options) => buildBy(tool, folder, make, options))
    const refused = uncacheable['leads to a module that only the plugin can load'] ?? 0
    expect(hits + misses === 0 || refused === 2).toBe(true)
  })

  const stateless = (): readonly Plugin[] => [
    {
      name: 'stateless',
      resolveId: (source) => (source === 'virtual:all' ? '\0virtual:all' : null),
      load: (id) => (id === '\0virtual:all' ? 'console.log("constant")' : null),
      transform: (code, id) => (/src.\w+\.js$/.test(id) ? { code: code.replace('WORD', 'word'), map: null } : null),
      buildEnd: () => undefined,
    },
  ]

  it('a plugin that keeps nothing hits with stateless: true, and the warning is gone', async () => {
    const folder = makeProject(SOURCES)
    expect(await buildBy(tool, folder, stateless, {})).toMatchObject({ hits: 0, misses: 0 })
    const cold = await buildBy(tool, folder, stateless, { stateless: true })
    const warm = await buildBy(tool, folder, stateless, { stateless: true })
    expect(cold).toMatchObject({ hits: 0, failure: '', warnings: [] })
    expect(warm).toMatchObject({ misses: 0, failure: '', files: cold.files, warnings: [] })
    expect(warm.hits).toBeGreaterThanOrEqual(2)
  })

  it('a plugin that adds an import of a file or of a package hits', async () => {
    const make = (): readonly Plugin[] => [
      {
        name: 'adding',
        transform: (code, id) =>
          id.endsWith('main.js') ? { code: `import './more.js'\nimport 'node:path'\n${code}`, map: null } : null,
      },
      { name: 'external', resolveId: (source) => (source === 'node:path' ? { id: source, external: true } : null) },
    ]
    const folder = makeProject({ 'src/more.js': "console.log('more')\n" })
    const warm = await expectSame((options) => buildBy(tool, folder, make, options))
    expect(warm).toMatchObject({ misses: 0, uncacheable: {}, warnings: [] })
    expect(warm.hits).toBeGreaterThanOrEqual(3)
  })
})

describe('plugins of Vite itself', () => {
  it('the plugin for CSS is cached by its name, and styles are missing in a warm build', async () => {
    const folder = makeProject({ 'src/main.js': "import './main.css'\n", 'src/main.css': 'a { color: red }\n' })
    const warnings: string[] = []
    const build = async (): Promise<unknown> => {
      const built = await vite({
        root: folder,
        configFile: false,
        customLogger: { ...createLogger('silent'), warn: (text) => void warnings.push(text) },
        plugins: [varve({ plugins: ['css'], cacheKey: 'key', dir: 'cache' })],
        build: { write: false, rollupOptions: { input: join(folder, 'src/main.js') } },
      })
      return 'output' in built && built.output.map(({ fileName }) => fileName.split('.').at(-1)).sort()
    }
    const cold = await build()
    expect(cold).toEqual(['css', 'js'])
    expect(await build()).toEqual(cold)
    expect(warnings[0]).toMatch(/plugin 'vite:css' is not cached: its hook '\w+'/)
  })
})

describe('plugins with state, in esbuild', () => {
  it.each(Object.entries(ESBUILD))('a plugin that %s loses it in a warm build', async (_, make) => {
    const folder = makeProject()
    const warm = await expectSame((options) => buildByEsbuild(folder, make, options))
    expect(warm.hits).toBe(0)
    expect(warm.warnings.filter((text) => text.includes("'stateless: true'")).length).toBe(1)
  })

  it('a result that leads to a module of another plugin fails a warm build', async () => {
    const folder = makeProject()
    const warm = await expectSame((options) => buildByEsbuild(folder, ESBUILD_LEADING, options))
    expect(warm).toMatchObject({
      hits: 0,
      warnings: [],
      uncacheable: { 'leads to a module that only the plugin can load': 2 },
    })
  })

  it('a plugin that keeps nothing hits with stateless: true', async () => {
    const folder = makeProject()
    const plugin: EsbuildPlugin = {
      name: 'stateless',
      setup({ onLoad, onEnd }) {
        onLoad({ filter: /part\.js$/ }, () => ({ contents: 'console.log("part")' }))
        onEnd(() => undefined)
      },
    }
    const make: Make = () => [plugin]
    expect(await buildByEsbuild(folder, make, {})).toMatchObject({ hits: 0, misses: 0 })
    expect(await buildByEsbuild(folder, make, { stateless: true })).toMatchObject({ hits: 0, misses: 1, warnings: [] })
    expect(await buildByEsbuild(folder, make, { stateless: true })).toMatchObject({ hits: 1, misses: 0, warnings: [] })
  })
})
