// @ts-check
// A plugin of webpack for modules that only exist in its memory, as webpack-virtual-modules makes them. This file is copied into each
// project.
// @ts-expect-error Each program has its own.
const { loadGenerated } = require('./load.cjs')

const STATS = { isFile: () => true, isDirectory: () => false, isSymbolicLink: () => false, mtimeMs: 1, size: 1 }

module.exports = class {
  /** @param {any} compiler */
  apply(compiler) {
    const files = compiler.inputFileSystem
    const wrap = (/** @type {string} */ method, /** @type {(name: string) => Promise<unknown>} */ answer) => {
      const inner = files[method].bind(files)
      files[method] = (/** @type {string} */ file, /** @type {any[]} */ ...rest) => {
        const [, name] = /virtual:(\w+)$/.exec(file) ?? []
        if (name === undefined) return inner(file, ...rest)
        const done = rest.at(-1)
        answer(name).then((value) => process.nextTick(done, null, value), done)
      }
    }
    wrap('stat', async () => STATS)
    wrap('lstat', async () => STATS)
    wrap('readFile', async (name) => Buffer.from((await loadGenerated()).virtual(name)))
  }
}
