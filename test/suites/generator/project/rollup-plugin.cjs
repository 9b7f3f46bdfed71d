// @ts-check
// The generated plugin as a plugin of Rollup, Rolldown and Vite. This file is copied into each project.
const fs = require('node:fs')
const path = require('node:path')

/** @param {any} generated @param {{ hook: string, collects: string, words: readonly string[] }} options */
module.exports = (generated, { hook, collects, words }) => {
  const isSource = (/** @type {string} */ id) => path.dirname(id) === path.join(__dirname, 'src')
  const selfOf = (/** @type {any} */ context, /** @type {string} */ id) => ({
    name: path.basename(id, '.js'),
    words,
    emit: (/** @type {string} */ file, /** @type {string} */ source) =>
      context.emitFile({ type: 'asset', fileName: file, source }),
    readFile: (/** @type {string} */ file) => (context.fs ?? fs.promises).readFile(file, { encoding: 'utf8' }),
    warn: (/** @type {string} */ text) => context.warn(text),
    declareFile: (/** @type {string} */ file) => context.addWatchFile(file),
    declareFolder: (/** @type {string} */ folder) => context.addWatchFile(folder),
  })
  /** @type {Record<string, unknown>} */
  const plugin = { name: 'generated' }
  if (generated.start !== undefined) plugin.buildStart = () => generated.start()
  if (hook === 'transform')
    plugin.transform = /** @this {any} */ async function (/** @type {string} */ source, /** @type {string} */ id) {
      return isSource(id) ? { code: await generated.transform(source, selfOf(this, id)), map: null } : null
    }
  else
    plugin.load = /** @this {any} */ async function (/** @type {string} */ id) {
      if (generated.virtual !== undefined && id.startsWith('\0virtual:')) return generated.virtual(id.slice(9))
      return isSource(id) ? generated.transform(await fs.promises.readFile(id, 'utf8'), selfOf(this, id)) : null
    }
  if (generated.virtual !== undefined) {
    plugin.resolveId = (/** @type {string} */ id) => (id.startsWith('virtual:') ? `\0${id}` : null)
    if (hook === 'transform')
      plugin.load = (/** @type {string} */ id) =>
        id.startsWith('\0virtual:') ? generated.virtual(id.slice(9)) : undefined
  }
  if (collects !== 'none')
    plugin.generateBundle = /** @this {any} */ function () {
      if (collects === 'warning') this.warn(generated.collected())
      else this.emitFile({ type: 'asset', fileName: 'collected.txt', source: generated.collected() })
    }
  return plugin
}
