// @ts-check
// Stands in for `lib/webpack.js` of the clone: every compiler that asks for webpack's filesystem cache gets Varve on the
// same folder and the memory cache in front of it, as docs/webpack.md says. With VARVE_SUITES_MEMORY, compilers that have
// the memory cache alone get Varve behind it, in a new folder.
const { appendFileSync, mkdtempSync } = require('node:fs')
const { join } = require('node:path')

const {
  VARVE_SUITES_CHECKOUT: checkout = '',
  VARVE_SUITES_FOLDER: folder = '',
  VARVE_SUITES_MEMORY: isMemoryToo,
} = process.env
const webpack = require(join(checkout, 'lib/webpack.js'))

/** Options that both caches have under one name. */
const SHARED = ['name', 'version', 'buildDependencies', 'readonly', 'idleTimeout', 'idleTimeoutForInitialStore']

/** @param {any} config */
function withVarve(config) {
  const cache = config?.cache
  const isOnDisk = cache?.type === 'filesystem'
  if (!isOnDisk && !(isMemoryToo && isMemory(config))) return config
  const { VarveWebpackPlugin } = require(join(folder, 'varve/node_modules/@varve/plugins/dist/webpack.js'))
  const shared = Object.fromEntries(
    SHARED.flatMap((name) => (cache?.[name] === undefined ? [] : [[name, cache[name]]])),
  )
  const dir = isOnDisk ? (cache.cacheLocation ?? cache.cacheDirectory) : mkdtempSync(join(folder, 'caches/'))
  const plugin = new VarveWebpackPlugin({ dir, ...shared })
  const memory = isOnDisk ? { cache: memoryOf(cache) } : {}
  return { ...config, ...memory, plugins: [...(config.plugins ?? []), plugin, noteUse(plugin)] }
}

/** @param {any} config whether webpack gives it a memory cache */
function isMemory({ cache, mode, watch }) {
  return (
    cache === true || cache?.type === 'memory' || (cache === undefined && (mode === 'development' || watch === true))
  )
}

/**
 * Notes for `main.mjs` how often the cache was asked and answered: a suite that does not use Varve proves nothing.
 * @param {{ stats: { hits: number, misses: number } }} plugin
 */
function noteUse({ stats }) {
  let [hits, misses] = [0, 0]
  /** @param {any} compiler */
  const apply = ({ hooks }) =>
    hooks.shutdown.tap('VarveSuites', () => {
      appendFileSync(join(folder, 'uses'), `${stats.hits - hits} ${stats.misses - misses}\n`)
      ;({ hits, misses } = stats)
    })
  return { apply }
}

/** @param {any} cache what webpack's filesystem cache was told of its memory */
function memoryOf({ memoryCacheUnaffected, maxMemoryGenerations }) {
  return {
    type: 'memory',
    ...(memoryCacheUnaffected === undefined ? {} : { cacheUnaffected: memoryCacheUnaffected }),
    ...(maxMemoryGenerations > 0 && Number.isFinite(maxMemoryGenerations)
      ? { maxGenerations: maxMemoryGenerations }
      : {}),
  }
}

/** @param {any} config @param {...unknown} rest */
module.exports = (config, ...rest) =>
  webpack(Array.isArray(config) ? Object.assign(config.map(withVarve), config) : withVarve(config), ...rest)
