// @ts-check
// Transforms files with Babel, with Varve in front or not, and prints the results, and how often Babel ran, as JSON.
import * as core from '@babel/core'
import { cachedBabel } from '@varve/plugins/babel'

/**
 * @typedef {object} Order
 * @property {readonly string[]} files
 * @property {object} [options] of Babel
 * @property {boolean} [isCached]
 * @property {object} [cache] options of cachedBabel
 * @property {boolean} [isLeftOpen] the program ends without closing the cache
 */

/** @type {Order} */
const { files, options = {}, isCached = true, cache = {}, isLeftOpen = false } = JSON.parse(process.argv[2] ?? '')
let runs = 0
/** @type {import('@varve/plugins/babel').CachedStats[]} */
const stats = []
const counting = {
  version: core.version,
  transformAsync: (/** @type {string} */ code, /** @type {core.TransformOptions} */ given = {}) => {
    runs++
    return core.transformAsync(code, given)
  },
}
const babel = await cachedBabel(counting, { ...cache, onStats: (one) => void stats.push(one) })

/** @param {string} file */
async function transform(file) {
  try {
    const { default: fs } = await import('node:fs')
    if (isCached) return plain(await babel.transformFileAsync(file, options))
    return plain(await core.transformAsync(fs.readFileSync(file, 'utf8'), { ...options, filename: file }))
  } catch (error) {
    return { failure: error instanceof Error ? error.message.replace(/^.*?: /, '') : String(error) }
  }
}

/** @param {any} result */
function plain(result) {
  if (result === null) return null
  const { code, map, metadata, sourceType, externalDependencies } = result
  return {
    code,
    map: map === null ? null : JSON.parse(JSON.stringify(map)),
    metadata,
    sourceType,
    externalDependencies: [...externalDependencies],
  }
}

const results = []
for (const file of files) results.push(await transform(file))
if (!isLeftOpen) await babel.close()
console.log(JSON.stringify({ runs, results, uncacheable: stats.at(-1)?.uncacheable ?? {} }))
