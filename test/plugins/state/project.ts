/** A project of a few modules, and builds of it with one plugin, by each tool that has plugins of this kind. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as forRolldown from '@varve/plugins/rolldown'
import * as forRollup from '@varve/plugins/rollup'
import * as forVite from '@varve/plugins/vite'
import { type Plugin as EsbuildPlugin, build as esbuild } from 'esbuild'
import { type Plugin as RolldownPlugin, rolldown } from 'rolldown'
import { type Plugin, rollup } from 'rollup'
import { build as vite, createLogger } from 'vite'
import { makeFolder } from '../../folders.ts'

/** What a build emitted or why it failed, its warnings, and its calls. */
export interface Outcome {
  readonly files: Readonly<Record<string, string>>
  readonly failure: string
  readonly warnings: readonly string[]
  readonly hits: number
  readonly misses: number
  readonly uncacheable: Readonly<Record<string, number>>
}

export interface Options {
  readonly stateless?: boolean
}

export type Tool = 'rollup' | 'rolldown' | 'vite'
export const TOOLS: readonly Tool[] = ['rollup', 'rolldown', 'vite']

/** Plugins, of which the first is cached. Each build makes new ones. */
export type Make = () => readonly object[]

/** A project with two modules that log WORD. */
export function makeProject(files: Readonly<Record<string, string>> = {}): string {
  const folder = makeFolder()
  mkdirSync(join(folder, 'src'))
  const all = {
    'package.json': '{"name": "project", "type": "module", "sideEffects": true}',
    'src/main.js': "import './part.js'\nconsole.log('WORD main')\n",
    'src/part.js': "console.log('WORD part')\n",
    ...files,
  }
  for (const [path, text] of Object.entries(all)) writeFileSync(join(folder, path), text)
  return folder
}

/** One build by a tool of Rollup's family, with options of the cache or without a cache. */
export async function buildBy(tool: Tool, folder: string, make: Make, options?: Options): Promise<Outcome> {
  const warnings: string[] = []
  const counts = { hits: 0, misses: 0, uncacheable: {} }
  const all = options && {
    ...options,
    cacheKey: 'key',
    root: folder,
    dir: 'cache',
    trackReads: false,
    onStats: (stats: forRollup.CachedStats) => void Object.assign(counts, stats),
  }
  const run = RUNS[tool]
  try {
    const output = await run(folder, make(), all, (text) => void warnings.push(text))
    return { files: filesOf(output), failure: '', warnings, ...counts }
  } catch (error) {
    return { files: {}, failure: String(error), warnings, ...counts }
  }
}

interface Output {
  readonly fileName: string
  readonly code?: string
  readonly source?: string | Uint8Array
}

type VitePlugin = Parameters<typeof forVite.cached>[0]

/** The tools share plugins; only their types differ. */
const isOfRollup = (plugin: unknown): plugin is Plugin => isObject(plugin)
const isOfRolldown = (plugin: unknown): plugin is RolldownPlugin => isObject(plugin)
const isOfVite = (plugin: unknown): plugin is VitePlugin => isObject(plugin)
const isOfEsbuild = (plugin: unknown): plugin is EsbuildPlugin => isObject(plugin)
const NONE = { name: 'none' }
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

type Cached = forRollup.CachedPluginOptions

type Run = (
  folder: string,
  plugins: readonly object[],
  options: Cached | undefined,
  warn: (text: string) => void,
) => Promise<readonly Output[]>

const RUNS: Readonly<Record<Tool, Run>> = {
  async rollup(folder, plugins, options, warn) {
    const [own = NONE, ...rest] = plugins.filter(isOfRollup)
    const bundle = await rollup({
      input: join(folder, 'src/main.js'),
      plugins: [options ? forRollup.cached(own, options) : own, ...rest],
      onLog: (level, { message }) => void (level === 'warn' && warn(message)),
    })
    const { output } = await bundle.generate({})
    await bundle.close()
    return output
  },
  async rolldown(folder, plugins, options, warn) {
    const [own = NONE, ...rest] = plugins.filter(isOfRolldown)
    const bundle = await rolldown({
      input: join(folder, 'src/main.js'),
      plugins: [options ? forRolldown.cached(own, options) : own, ...rest],
      onLog: (level, { message }) => void (level === 'warn' && warn(message)),
    })
    const { output } = await bundle.generate({})
    await bundle.close()
    return output
  },
  async vite(folder, plugins, options, warn) {
    const [own = NONE, ...rest] = plugins.filter(isOfVite)
    const customLogger = { ...createLogger('silent'), warn }
    const built = await vite({
      root: folder,
      configFile: false,
      logLevel: 'silent',
      customLogger,
      plugins: [options ? forVite.cached(own, options) : own, ...rest],
      build: { write: false, minify: false, rollupOptions: { input: join(folder, 'src/main.js') } },
    })
    return 'output' in built ? built.output : []
  },
}

function filesOf(output: readonly Output[]): Record<string, string> {
  const files = output.map(({ fileName, code, source }): [string, string] => [fileName, code ?? String(source)])
  return Object.fromEntries(files.sort())
}

/** One build by esbuild. */
export async function buildByEsbuild(folder: string, make: Make, options?: Options): Promise<Outcome> {
  const { cached } = await import('@varve/plugins/esbuild')
  const counts = { hits: 0, misses: 0, uncacheable: {} }
  const all = options && {
    ...options,
    cacheKey: 'key',
    root: folder,
    dir: 'cache',
    trackReads: false,
    onStats: (stats: forRollup.CachedStats) => void Object.assign(counts, stats),
  }
  const [own = { ...NONE, setup: () => undefined }, ...rest] = make().filter(isOfEsbuild)
  try {
    const { outputFiles, warnings } = await esbuild({
      absWorkingDir: folder,
      entryPoints: ['src/main.js'],
      bundle: true,
      format: 'esm',
      outdir: 'dist',
      write: false,
      logLevel: 'silent',
      plugins: [all ? cached(own, all) : own, ...rest],
    })
    const files = Object.fromEntries(outputFiles.map(({ path, text }) => [path.slice(folder.length), text]))
    return { files, failure: '', warnings: warnings.map(({ text }) => text), ...counts }
  } catch (error) {
    return { files: {}, failure: String(error), warnings: [], ...counts }
  }
}
