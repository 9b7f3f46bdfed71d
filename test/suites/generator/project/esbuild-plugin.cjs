// @ts-check
// The generated plugin as a plugin of esbuild. This file is copied into each project.
const fs = require('node:fs')
const path = require('node:path')

/** @param {any} generated @param {{ collects: string, words: readonly string[] }} options @returns {import('esbuild').Plugin} */
module.exports = (generated, { collects, words }) => ({
  name: 'generated',
  setup(build) {
    if (generated.start !== undefined) build.onStart(() => generated.start())
    build.onLoad({ filter: /src.m\d\.js$/, namespace: 'file' }, async ({ path: file }) => {
      /** @type {{ text: string }[]} */
      const warnings = []
      /** @type {string[]} */
      const watchFiles = []
      /** @type {string[]} */
      const watchDirs = []
      const self = {
        name: path.basename(file, '.js'),
        words,
        emit: (/** @type {string} */ name, /** @type {string} */ text) => {
          fs.mkdirSync(path.join(__dirname, 'dist'), { recursive: true })
          fs.writeFileSync(path.join(__dirname, 'dist', name), text)
        },
        readFile: (/** @type {string} */ name) => fs.promises.readFile(name, 'utf8'),
        warn: (/** @type {string} */ text) => void warnings.push({ text }),
        declareFile: (/** @type {string} */ name) => void watchFiles.push(name),
        declareFolder: (/** @type {string} */ name) => void watchDirs.push(name),
      }
      const contents = await generated.transform(await fs.promises.readFile(file, 'utf8'), self)
      return { contents, warnings, watchFiles, watchDirs }
    })
    if (generated.virtual !== undefined) {
      build.onResolve({ filter: /^virtual:/ }, ({ path: id }) => ({ path: id.slice(8), namespace: 'virtual' }))
      build.onLoad({ filter: /.*/, namespace: 'virtual' }, ({ path: id }) => ({ contents: generated.virtual(id) }))
    }
    if (collects !== 'none')
      build.onEnd(() => {
        if (collects === 'warning') return { warnings: [{ text: generated.collected() }] }
        fs.mkdirSync(path.join(__dirname, 'dist'), { recursive: true })
        fs.writeFileSync(path.join(__dirname, 'dist', 'collected.txt'), generated.collected())
        return {}
      })
  },
})
