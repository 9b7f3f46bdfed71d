// @ts-check
// babel-jest, with a note of each file that it is asked to transform.
const { appendFileSync } = require('node:fs')
const { basename, join } = require('node:path')
const babelJest = require('babel-jest').default

/** @param {{ plugins?: string[] }} [config] */
exports.createTransformer = (config = {}) => {
  const inner = babelJest.createTransformer({ babelrc: false, configFile: false, ...config })
  /** @param {string} path @param {{ config: { rootDir: string } }} options */
  const note = (path, { config: { rootDir } }) => appendFileSync(join(rootDir, '.runs-cache'), `${basename(path)}\n`)
  return {
    canInstrument: true,
    getCacheKey: /** @type {typeof inner.getCacheKey} */ ((...args) => inner.getCacheKey(...args)),
    process: /** @type {typeof inner.process} */ (
      (text, path, options) => {
        note(path, options)
        return inner.process(text, path, options)
      }
    ),
    processAsync: /** @type {typeof inner.processAsync} */ (
      (text, path, options) => {
        note(path, options)
        return inner.processAsync(text, path, options)
      }
    ),
  }
}
