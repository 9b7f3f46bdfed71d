// @ts-check
// The generated plugin as a loader of webpack and Rspack. This file is copied into each project.
const path = require('node:path')
// @ts-expect-error Each program has its own.
const { loadGenerated } = require('./load.cjs')

/** @this {any} @param {string} source */
module.exports = async function (source) {
  const { words } = this.getOptions()
  const { transform } = await loadGenerated()
  return transform(source, {
    name: path.basename(this.resourcePath, '.js'),
    words,
    emit: (/** @type {string} */ file, /** @type {string} */ text) => this.emitFile(file, text),
    readFile: (/** @type {string} */ file) =>
      new Promise((resolve, reject) => {
        this.fs.readFile(file, (/** @type {unknown} */ error, /** @type {unknown} */ text) =>
          error ? reject(error) : resolve(String(text)),
        )
      }),
    importModule: (/** @type {string} */ file) => this.importModule(file),
    warn: (/** @type {string} */ text) => this.emitWarning(new Error(text)),
    declareFile: (/** @type {string} */ file) => this.addDependency(file),
    declareFolder: (/** @type {string} */ folder) => this.addContextDependency(folder),
  })
}
