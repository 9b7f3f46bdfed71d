/** One build by each tool, with two cached plugins or with loaders: what its logger printed. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { cached as cachedInEsbuild } from '@varve/plugins/esbuild'
import { cached as cachedInRollup, type CachedOptions } from '@varve/plugins/rollup'
import { cached as cachedInRolldown } from '@varve/plugins/rolldown'
import { varve } from '@varve/plugins/vite'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import * as esbuild from 'esbuild'
import { rolldown } from 'rolldown'
import { type Plugin, rollup } from 'rollup'
import { build as buildWithVite, createLogger } from 'vite'
import { vi } from 'vitest'
import webpack from 'webpack'

/** Modules of the application. */
export const MODULES = 12

/** Builds the application in `folder` and returns the lines of Varve. */
export type BuildReported = (folder: string, options: Pick<CachedOptions, 'engine' | 'report'>) => Promise<string[]>

/** Writes an application of MODULES modules, each of which takes some time. */
export function writeApplication(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const names = Array.from({ length: MODULES - 1 }, (_, index) => `module-${index}.js`)
  names.forEach((name, index) => writeFileSync(join(folder, name), `export const value = ${index}\n`))
  writeFileSync(
    join(folder, 'main.js'),
    names.map((name, index) => `export { value as v${index} } from './${name}'\n`).join(''),
  )
  writeFileSync(join(folder, 'settings.json'), '1')
  writeFileSync(join(folder, 'package.json'), '{"name": "application", "version": "1.0.0", "type": "module"}')
  writeFileSync(
    join(folder, 'loader.cjs'),
    `module.exports = function (source) {
    require('node:fs').readFileSync(require('node:path').join(__dirname, 'settings.json'))
    for (const end = performance.now() + 5; performance.now() < end; );
    return source
  }\n`,
  )
}

/** Vite and Rolldown add modules of their own. */
const MODULE = /(?:main|module-\d+)\.js$/

/** Work of 5 ms that reads the settings. */
function work(folder: string): void {
  readFileSync(join(folder, 'settings.json'))
  for (const end = performance.now() + 5; performance.now() < end;);
}

function transformer(name: string, folder: string): Plugin {
  return {
    name,
    transform: {
      filter: { id: MODULE },
      handler(code) {
        work(folder)
        return { code, map: null }
      },
    },
  }
}

const byRollup: BuildReported = async (folder, options) => {
  const lines: string[] = []
  const wrap = (name: string): Plugin =>
    cachedInRollup(transformer(name, folder), { ...options, cacheKey: 'key', root: folder, dir: 'cache' })
  const plugins = [wrap('one'), wrap('two')]
  const bundle = await rollup({
    input: join(folder, 'main.js'),
    plugins,
    onLog: (_, { message }) => void lines.push(message),
  })
  await bundle.close()
  return lines
}

const byRolldown: BuildReported = async (folder, options) => {
  const lines: string[] = []
  const plugins = ['one', 'two'].map((name) => {
    const handler = (code: string): { readonly code: string } => {
      work(folder)
      return { code }
    }
    return cachedInRolldown(
      { name, transform: { filter: { id: MODULE }, handler } },
      { ...options, cacheKey: 'key', root: folder, dir: 'cache' },
    )
  })
  const bundle = await rolldown({
    input: join(folder, 'main.js'),
    plugins,
    onLog: (_, { message }) => void lines.push(message),
  })
  await bundle.generate()
  await bundle.close()
  return lines
}

const byVite: BuildReported = async (folder, options) => {
  const lines: string[] = []
  const info = (text: string): void => void lines.push(text)
  await buildWithVite({
    root: folder,
    configFile: false,
    customLogger: { ...createLogger('info'), info },
    plugins: [
      transformer('one', folder),
      transformer('two', folder),
      varve({ ...options, plugins: ['one', 'two'].map((name) => ({ name, cacheKey: 'key' })), dir: 'cache' }),
    ],
    build: { write: false, minify: false, lib: { entry: 'main.js', formats: ['es'] } },
  })
  return lines
}

const byEsbuild: BuildReported = async (folder, options) => {
  const lines: string[] = []
  const plugin = (name: string, filter: RegExp): esbuild.Plugin => ({
    name,
    setup: ({ onLoad }) => {
      onLoad({ filter }, ({ path }) => {
        work(folder)
        return { contents: readFileSync(path, 'utf8'), resolveDir: folder }
      })
    },
  })
  const wrap = (one: esbuild.Plugin): esbuild.Plugin =>
    cachedInEsbuild(one, { ...options, cacheKey: 'key', root: folder, dir: 'cache' })
  const plugins = [wrap(plugin('one', /module-\d*[02468]\.js$/)), wrap(plugin('two', /\.js$/))]
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => lines.push(String(chunk).trimEnd()) > 0)
  try {
    const entryPoints = [join(folder, 'main.js')]
    const context = await esbuild.context({
      entryPoints,
      bundle: true,
      write: false,
      absWorkingDir: folder,
      logLevel: 'silent',
      plugins,
    })
    await context.rebuild()
    await context.dispose()
  } finally {
    spy.mockRestore()
  }
  return lines
}

const byWebpack: BuildReported = async (folder, options) => {
  const lines: string[] = []
  const log = (text: string): void => void lines.push(text.replace('<i> [VarveWebpackPlugin] ', ''))
  const compiler = webpack({
    mode: 'development',
    context: folder,
    entry: './main.js',
    output: { path: join(folder, 'dist') },
    cache: { type: 'memory' },
    module: { rules: [{ test: /\.js$/, use: join(folder, 'loader.cjs') }] },
    infrastructureLogging: { level: 'info', console: Object.assign(Object.create(console), { info: log }) },
    plugins: [new VarveWebpackPlugin({ ...options, dir: 'cache' })],
  })
  if (compiler === null) throw new Error('webpack made no compiler')
  await new Promise<void>((resolve, reject) => compiler.run((error) => (error ? reject(error) : resolve())))
  await new Promise<void>((resolve, reject) => compiler.close((error) => (error ? reject(error) : resolve())))
  return lines
}

const PROGRAM = fileURLToPath(new URL('loaders.mjs', import.meta.url))

/** A build with the caching loader, which shares its modules with the plugin only if both are the built ones. */
const byLoader =
  (tool: 'rspack' | 'loader'): BuildReported =>
  async (folder, options) => {
    const child = spawn(process.execPath, [PROGRAM, tool, JSON.stringify(options)], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return (await textOf(child.stdout)).split('\n')
  }

/** Each tool with the name of its cache. */
export const TOOLS: Readonly<Record<string, BuildReported>> = {
  rollup: byRollup,
  rolldown: byRolldown,
  vite: byVite,
  esbuild: byEsbuild,
  webpack: byWebpack,
  rspack: byLoader('rspack'),
  loader: byLoader('loader'),
}
