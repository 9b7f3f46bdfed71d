// @ts-check
// Runs builds in a separate process, one order after the other, and prints the result of each as JSON.
// A project's `webpack.config.mjs` has a function of `{ folder, webpack }` as default export, which gives a configuration or several.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'

/** @typedef {'none' | 'webpack' | 'varve'} CacheName */
/** @typedef {{ folder: string, cache: CacheName, changes?: readonly (readonly [file: string, text: string])[], options?: object }} Order */
/** @typedef {import('webpack').Configuration} Configuration */
/** @typedef {import('webpack').Compiler} Compiler */

/** @param {Order} order */
async function build(order) {
  const { default: configure } = await import(pathToFileURL(join(order.folder, 'webpack.config.mjs')).href)
  const found = configure({ folder: order.folder, webpack })
  const plugins = /** @type {VarveWebpackPlugin[]} */ ([])
  /** @type {string[]} */
  const complaints = []
  const configs = [found].flat().map((config, index) => complete(config, order, index, plugins, complaints))
  const compiler = Array.isArray(found) ? webpack(configs) : webpack(configs[0] ?? {})
  if (compiler === null) throw new Error('webpack made no compiler')
  const counts = { taken: 0, built: 0 }
  for (const one of 'compilers' in compiler ? compiler.compilers : [compiler]) count(one, counts)
  const stats = await (order.changes === undefined ? run(compiler) : watch(compiler, order.folder, order.changes))
  await new Promise((resolve, reject) => void compiler.close((error) => (error ? reject(error) : resolve(undefined))))
  const { errors = [], warnings = [] } =
    stats?.toJson({ all: false, errors: true, warnings: true, moduleTrace: false }) ?? {}
  const total = (/** @type {'hits' | 'misses' | 'skipped' | 'stored'} */ name) =>
    plugins.reduce((sum, { stats: own }) => sum + (name === 'skipped' ? own.skipped.length : own[name]), 0)
  return {
    ...counts,
    ...Object.fromEntries(
      /** @type {const} */ (['hits', 'misses', 'skipped', 'stored']).map((name) => [name, total(name)]),
    ),
    complaints,
    errors: errors.map(({ message }) => message),
    warnings: warnings.map(({ message }) => message.replaceAll(order.folder, '')).sort(),
    files: digests(join(order.folder, 'dist')),
  }
}

/**
 * @param {Configuration} config
 * @param {Order} order
 * @param {number} index
 * @param {VarveWebpackPlugin[]} plugins
 * @param {string[]} complaints messages of the plugin
 * @returns {Configuration}
 */
function complete(config, { folder, cache, options }, index, plugins, complaints) {
  const plugin = new VarveWebpackPlugin({
    dir: join(folder, 'varve-cache'),
    buildDependencies: { config: [join(folder, 'webpack.config.mjs')] },
    ...options,
  })
  if (cache === 'varve') plugins.push(plugin)
  const log = { warn: (/** @type {unknown} */ text) => complaints.push(String(text)) }
  return {
    mode: 'production',
    context: folder,
    ...config,
    output: { path: join(folder, 'dist'), ...config.output },
    cache: cacheOption(cache, folder, config, index),
    infrastructureLogging: { level: 'warn', console: Object.assign(Object.create(console), log) },
    plugins: [...(config.plugins ?? []), ...(cache === 'varve' ? [plugin] : [])],
  }
}

/**
 * @param {CacheName} cache
 * @param {string} folder
 * @param {Configuration} config
 * @param {number} index
 * @returns {NonNullable<Configuration['cache']>}
 */
function cacheOption(cache, folder, { name = 'default' }, index) {
  if (cache === 'none') return false
  if (cache === 'varve') return { type: 'memory' }
  return { type: 'filesystem', name: `${name}-${index}`, cacheDirectory: join(folder, 'webpack-cache') }
}

/** @param {Compiler} compiler @param {{ taken: number, built: number }} counts */
function count(compiler, counts) {
  compiler.hooks.compilation.tap('test', (compilation) => {
    compilation.hooks.stillValidModule.tap('test', () => void counts.taken++)
    compilation.hooks.buildModule.tap('test', () => void counts.built++)
  })
}

/**
 * @param {Compiler | import('webpack').MultiCompiler} compiler
 * @returns {Promise<import('webpack').Stats | import('webpack').MultiStats | undefined>}
 */
function run(compiler) {
  return new Promise((resolve, reject) => {
    compiler.run((/** @type {unknown} */ error, /** @type {any} */ stats) => (error ? reject(error) : resolve(stats)))
  })
}

/**
 * Builds, changes a file, waits for the rebuild, changes the next one ...
 * @param {Compiler | import('webpack').MultiCompiler} compiler
 * @param {string} folder
 * @param {readonly (readonly [file: string, text: string])[]} changes
 * @returns {Promise<import('webpack').Stats | import('webpack').MultiStats | undefined>}
 */
async function watch(compiler, folder, changes) {
  const { writeFileSync } = await import('node:fs')
  const rest = [...changes]
  return new Promise((resolve, reject) => {
    compiler.watch({ aggregateTimeout: 20 }, (/** @type {unknown} */ error, /** @type {any} */ stats) => {
      const next = rest.shift()
      if (error) reject(error)
      else if (next === undefined) resolve(stats)
      // Late enough that the watcher does not add the change to the previous build.
      else setTimeout(() => writeFileSync(join(folder, next[0]), next[1]), 1200)
    })
  })
}

/** @param {string} folder @returns {Record<string, string>} */
function digests(folder) {
  if (!existsSync(folder)) return {}
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  )
  const digest = (/** @type {string} */ name) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
      .slice(0, 16)
  return Object.fromEntries(names.map((name) => [name.split(sep).join('/'), digest(name)]).sort())
}

/** @type {readonly Order[]} */
const orders = JSON.parse(process.argv[2] ?? '[]')
const results = []
for (const order of orders) results.push(await build(order))
process.stdout.write(JSON.stringify(results))
