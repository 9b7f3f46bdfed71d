// @ts-check
// How each tool builds a generated program, with Varve or without.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * What the build of a program needs to know of it.
 * @typedef {Pick<import('./program.mjs').Program, 'tool' | 'format' | 'hook' | 'collects' | 'virtual' | 'isParallel' | 'modules'> & { isCached: boolean }} Settings
 */

/** @typedef {Omit<import('../staleness/build/outcome.mjs').Outcome, 'files'>} Result */

/** Of `onStats`. @type {{ hits: number }[]} */
const stats = []
const options = { cacheKey: 'same', onStats: (/** @type {{ hits: number }} */ one) => void stats.push(one) }

const hits = () => stats.reduce((sum, one) => sum + one.hits, 0)

/** Another program is built in this process. */
export const forgetStats = () => void (stats.length = 0)

/** What the config of a project exports. @param {string} folder @param {Settings} settings @returns {Promise<any>} */
async function configOf(folder, { format }) {
  const file = join(folder, `build.config.${format}`)
  return format === 'cjs' ? createRequire(file)(file) : import(pathToFileURL(file).href)
}

/**
 * The plugin of a project. Its config calls `cached`, as that of a user does: Varve looks at the modules of the caller.
 * @param {string} folder
 * @param {Settings} settings
 * @param {(plugin: any) => unknown} [cached]
 */
async function pluginOf(folder, settings, cached = (plugin) => plugin) {
  const { makePlugin } = await configOf(folder, settings)
  return makePlugin(settings, cached)
}

/** @param {string} folder @param {Settings} settings @param {'webpack' | 'rspack'} tool */
async function loaderRule(folder, settings, tool) {
  const { words } = await configOf(folder, settings)
  const loader = { loader: join(folder, 'loader.cjs'), options: { words } }
  const before = settings.isCached && tool === 'rspack' ? ['@varve/plugins/loader'] : []
  return { test: /src.[em]\d\.js$/, use: [...before, loader] }
}

/** @param {string} folder @param {Settings} settings */
function pluginsOf(folder, { collects, virtual }) {
  const require = createRequire(join(folder, 'package.json'))
  const Collector = require(join(folder, 'collector.cjs'))
  const Virtual = require(join(folder, 'virtual.cjs'))
  return [...(collects === 'none' ? [] : [new Collector(collects)]), ...(virtual === 'none' ? [] : [new Virtual()])]
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

/** @param {any} bundler its function @param {string} folder @param {unknown} plugin @returns {Promise<Result>} */
async function bundleOnce(bundler, folder, plugin) {
  /** @type {string[]} */
  const warnings = []
  const onLog = (/** @type {string} */ level, /** @type {{ message: string }} */ { message }) =>
    void (level === 'warn' && warnings.push(message))
  const bundle = await bundler({
    input: join(folder, 'src/main.js'),
    plugins: [plugin],
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
    try {
      const { words, generated } = await configOf(folder, settings)
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
      if (isParallel) {
        const failed = (await Promise.allSettled(modules.map(one))).find(({ status }) => status === 'rejected')
        if (failed?.status === 'rejected') throw failed.reason
      } else for (const name of modules) await one(name)
      return { errors: [], warnings: warnings.sort(), hits: cache?.hits() ?? 0 }
    } finally {
      await cache?.close()
    }
  },
  async esbuild(folder, settings) {
    const around = settings.isCached ? (await import('@varve/plugins/esbuild')).cached : undefined
    const { build } = await import('esbuild')
    const entryPoints = [join(folder, 'src/main.js')]
    const plugins = [await pluginOf(folder, settings, around && ((plugin) => around(plugin, options)))]
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
    const around = settings.isCached ? (await import('@varve/plugins/rollup')).cached : undefined
    const { rollup } = await import('rollup')
    return bundleOnce(rollup, folder, await pluginOf(folder, settings, around && ((plugin) => around(plugin, options))))
  },
  async rolldown(folder, settings) {
    const around = settings.isCached ? (await import('@varve/plugins/rolldown')).cached : undefined
    const { rolldown } = await import('rolldown')
    return bundleOnce(
      rolldown,
      folder,
      await pluginOf(folder, settings, around && ((plugin) => around(plugin, options))),
    )
  },
  async vite(folder, settings) {
    const varve = settings.isCached ? (await import('@varve/plugins/vite')).varve : undefined
    const { build, createLogger } = await import('vite')
    const choice = { plugins: ['generated'], onStats: options.onStats }
    const cached = (/** @type {import('vite').Plugin} */ plugin) => [plugin, varve?.(choice)]
    Object.assign(globalThis, { generated: [settings, cached] })
    /** @type {string[]} */
    const warnings = []
    const customLogger = { ...createLogger('silent'), warn: (/** @type {string} */ text) => void warnings.push(text) }
    await build({
      root: folder,
      configFile: join(folder, `vite.config.${settings.format}`),
      customLogger,
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
      module: { rules: [await loaderRule(folder, settings, 'rspack')] },
      plugins: [...pluginsOf(folder, settings), Plugin && new Plugin({ onStats: options.onStats })],
    })
    return { ...(await compile(compiler)), hits: hits() }
  },
  async webpack(folder, settings) {
    const Plugin = settings.isCached ? (await import('@varve/plugins/webpack')).VarveWebpackPlugin : undefined
    const { default: webpack } = await import('webpack')
    const plugin =
      Plugin && new Plugin({ buildDependencies: { config: [join(folder, `build.config.${settings.format}`)] } })
    const compiler = webpack({
      mode: 'none',
      context: folder,
      entry: './src/main.js',
      output: { path: join(folder, 'dist') },
      module: { rules: [await loaderRule(folder, settings, 'webpack')] },
      cache: plugin === undefined ? false : { type: 'memory' },
      plugins: [...pluginsOf(folder, settings), plugin],
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
