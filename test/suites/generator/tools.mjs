// @ts-check
// How each tool builds a generated program, with Varve or without.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/**
 * What the build of a program needs to know of it.
 * @typedef {Pick<import('./program.mjs').Program, 'tool' | 'format' | 'hook' | 'collects' | 'isParallel' | 'modules'> & { isCached: boolean }} Settings
 */

/** @typedef {Omit<import('../staleness/build/outcome.mjs').Outcome, 'files'>} Result */

/** Of `onStats`. @type {{ hits: number }[]} */
const stats = []
const options = { cacheKey: 'same', onStats: (/** @type {{ hits: number }} */ one) => void stats.push(one) }

const hits = () => stats.reduce((sum, one) => sum + one.hits, 0)

/** The parts of a program that are in its project. @param {string} folder @param {Settings} settings */
async function partsOf(folder, { tool, format, hook, collects }) {
  const require = createRequire(join(folder, 'package.json'))
  const { words } = require(join(folder, 'config.cjs'))
  const generated = await require('./load.cjs').loadGenerated(format)
  if (tool === 'task') return { words, generated }
  const adapter = require(tool === 'esbuild' ? './esbuild-plugin.cjs' : './rollup-plugin.cjs')
  return { words, plugin: adapter(generated, { hook, collects, words }) }
}

/** @param {string} folder @param {Settings} settings @param {'webpack' | 'rspack'} tool */
function loaderRule(folder, { format, isCached }, tool) {
  const require = createRequire(join(folder, 'package.json'))
  const { words } = require(join(folder, 'config.cjs'))
  const loader = { loader: join(folder, 'loader.cjs'), options: { format, words } }
  const before = isCached && tool === 'rspack' ? ['@varve/plugins/loader'] : []
  return { test: /src.m\d\.js$/, use: [...before, loader] }
}

/** @param {string} folder @param {Settings} settings */
function collectors(folder, { format, collects }) {
  const Collector = createRequire(join(folder, 'package.json'))('./collector.cjs')
  return collects ? [new Collector(format)] : []
}

/** Runs a compiler of webpack or Rspack. @param {any} compiler @returns {Promise<Result>} */
const compile = (compiler) =>
  new Promise((resolve, reject) => {
    compiler.run((/** @type {unknown} */ error, /** @type {any} */ result) => {
      const { errors = [], warnings = [] } = result?.toJson({ all: false, errors: true, warnings: true }) ?? {}
      const messages = (/** @type {{ message: string }[]} */ list) => list.map(withoutPlace).sort()
      compiler.close((/** @type {unknown} */ closeError) => {
        if (error ?? closeError) reject(error ?? closeError)
        else resolve({ errors: messages(errors), warnings: messages(warnings), hits: 0 })
      })
    })
  })

/** The message without the place of the loader in the chain. @param {{ message: string }} error */
const withoutPlace = ({ message }) => message.replaceAll(/\(from [^)]*\)/g, '')

/** @param {any} bundler its function @param {string} folder @param {Settings} settings @param {any} cached @returns {Promise<Result>} */
async function bundleOnce(bundler, folder, settings, cached) {
  const { plugin } = await partsOf(folder, settings)
  /** @type {string[]} */
  const warnings = []
  const onLog = (/** @type {string} */ level, /** @type {{ message: string }} */ { message }) =>
    void (level === 'warn' && warnings.push(message))
  const bundle = await bundler({
    input: join(folder, 'src/main.js'),
    plugins: [cached === undefined ? plugin : cached(plugin, options)],
    onLog,
  })
  await bundle.write({ dir: join(folder, 'dist') })
  await bundle.close()
  return { errors: [], warnings: warnings.sort(), hits: hits() }
}

/** @type {Readonly<Record<Settings['tool'], (folder: string, settings: Settings) => Promise<Result>>>} */
export const BUILDS = {
  async task(folder, settings) {
    const { isCached, isParallel, modules } = settings
    const cache = isCached ? await openTasks(folder) : undefined
    const { words, generated } = await partsOf(folder, settings)
    /** @type {string[]} */
    const warnings = []
    const one = async (/** @type {string} */ name) => {
      const file = join(folder, 'src', `${name}.js`)
      const work = async () => {
        /** @type {string[]} */
        const own = []
        const text = await generated.transform(readFileSync(file, 'utf8'), selfOf(name, words, own))
        return { text, warnings: own }
      }
      const result = await (cache === undefined ? work() : cache.run(file, work))
      warnings.push(...result.warnings)
      mkdirSync(join(folder, 'dist'), { recursive: true })
      writeFileSync(join(folder, 'dist', `${name}.js`), result.text)
    }
    if (isParallel) await Promise.all(modules.map(one))
    else for (const name of modules) await one(name)
    await cache?.close()
    return { errors: [], warnings: warnings.sort(), hits: cache?.hits() ?? 0 }
  },
  async esbuild(folder, settings) {
    const cached = settings.isCached ? (await import('@varve/plugins/esbuild')).cached : undefined
    const { build } = await import('esbuild')
    const { plugin } = await partsOf(folder, settings)
    const entryPoints = [join(folder, 'src/main.js')]
    const plugins = [cached === undefined ? plugin : cached(plugin, options)]
    const outdir = join(folder, 'dist')
    const { warnings } = await build({
      entryPoints,
      bundle: true,
      outdir,
      plugins,
      logLevel: 'silent',
      absWorkingDir: folder,
    })
    await new Promise((resolve) => setTimeout(resolve, 20)) // esbuild closes its cache after it disposed of a build
    return { errors: [], warnings: warnings.map(({ text }) => text).sort(), hits: hits() }
  },
  async rollup(folder, settings) {
    const cached = settings.isCached ? (await import('@varve/plugins/rollup')).cached : undefined
    const { rollup } = await import('rollup')
    return bundleOnce(rollup, folder, settings, cached)
  },
  async rolldown(folder, settings) {
    const cached = settings.isCached ? (await import('@varve/plugins/rolldown')).cached : undefined
    const { rolldown } = await import('rolldown')
    return bundleOnce(rolldown, folder, settings, cached)
  },
  async vite(folder, settings) {
    const varve = settings.isCached ? (await import('@varve/plugins/vite')).varve : undefined
    const { build, createLogger } = await import('vite')
    const { plugin } = await partsOf(folder, settings)
    /** @type {string[]} */
    const warnings = []
    const customLogger = { ...createLogger('silent'), warn: (/** @type {string} */ text) => void warnings.push(text) }
    const cache = varve?.({ plugins: [{ name: 'generated', cacheKey: 'same' }], onStats: options.onStats })
    await build({
      root: folder,
      configFile: false,
      customLogger,
      plugins: [plugin, cache],
      build: { minify: false, rollupOptions: { input: join(folder, 'src/main.js') } },
    })
    return { errors: [], warnings: warnings.sort(), hits: hits() }
  },
  async rspack(folder, settings) {
    const Plugin = settings.isCached ? (await import('@varve/plugins/rspack')).VarveRspackPlugin : undefined
    const { rspack } = await import('@rspack/core')
    const compiler = rspack({
      mode: 'none',
      context: folder,
      entry: './src/main.js',
      output: { path: join(folder, 'dist') },
      module: { rules: [loaderRule(folder, settings, 'rspack')] },
      plugins: [...collectors(folder, settings), Plugin && new Plugin({ onStats: options.onStats })],
    })
    return { ...(await compile(compiler)), hits: hits() }
  },
  async webpack(folder, settings) {
    const Plugin = settings.isCached ? (await import('@varve/plugins/webpack')).VarveWebpackPlugin : undefined
    const { default: webpack } = await import('webpack')
    const plugin = Plugin && new Plugin({ buildDependencies: { config: [join(folder, 'config.cjs')] } })
    const compiler = webpack({
      mode: 'none',
      context: folder,
      entry: './src/main.js',
      output: { path: join(folder, 'dist') },
      module: { rules: [loaderRule(folder, settings, 'webpack')] },
      cache: plugin === undefined ? false : { type: 'memory' },
      plugins: [...collectors(folder, settings), plugin],
    })
    return { ...(await compile(compiler)), hits: plugin?.stats.hits ?? 0 }
  },
}

/** @param {string} name @param {readonly string[]} words @param {string[]} warnings */
const selfOf = (name, words, warnings) => ({
  name,
  words,
  emit() {},
  readFile: (/** @type {string} */ file) => readFileSync(file, 'utf8'),
  warn: (/** @type {string} */ text) => void warnings.push(text),
  declareFile() {},
  declareFolder() {},
})

/** @param {string} folder */
async function openTasks(folder) {
  const { installReads } = await import('varve/reads')
  installReads()
  const { openCache } = await import('varve')
  const cache = await openCache({ name: 'generated', dir: join(folder, 'node_modules/.cache/generated') })
  const task = cache.task('transform', { codec: 'json', trackReads: true, root: folder })
  return {
    /** @template T @param {string} id @param {() => Promise<T>} work @returns {Promise<T>} */
    run: (id, work) => task.run({ id, files: [id] }, work),
    hits: () => task.stats().hits,
    close: () => cache.close(),
  }
}
