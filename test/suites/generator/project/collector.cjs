// @ts-check
// A plugin of webpack and Rspack that emits what the calls of the loader have collected, or warns of it. This file is copied into each project.
// @ts-expect-error Each program has its own.
const { loadGenerated } = require('./load.cjs')

module.exports = class {
  /** @param {string} collects */
  constructor(collects) {
    this.collects = collects
  }

  /** @param {any} compiler */
  apply(compiler) {
    const { RawSource } = compiler.webpack.sources
    compiler.hooks.thisCompilation.tap('collector', (/** @type {any} */ compilation) => {
      compilation.hooks.processAssets.tapPromise('collector', async () => {
        const { collected } = await loadGenerated()
        if (this.collects === 'file') compilation.emitAsset('collected.txt', new RawSource(collected()))
        else compilation.warnings.push(new compiler.webpack.WebpackError(collected()))
      })
    })
  }
}
