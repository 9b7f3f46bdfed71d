// @ts-check
// Makes a config from the modules that its order names, as webpack-cli or a script of a project does, builds and closes.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'
import { makeCompiler } from './compiler.mjs'

class CLIPlugin {
  /** @param {object} options what webpack-cli gives to its own plugin */
  constructor(options) {
    this.options = options
  }
  apply() {}
}

const { folder, imports = [], requires = [], cli, options = {} } = JSON.parse(process.argv[2] ?? '')
const require = createRequire(join(folder, 'script.cjs'))
let word = ''
for (const name of requires) word += require(join(folder, name)).word ?? ''
for (const name of imports)
  word += (await import(pathToFileURL(join(folder, name)).href)).default({ VarveWebpackPlugin, webpack }) ?? ''
const change = (/** @type {string} */ text) => text.replace('WORD', word)
const plugin = globalThis.made ?? new VarveWebpackPlugin({ dir: join(folder, 'cache'), ...options })
const { compiler, counts } = makeCompiler(folder, {
  plugins: [...(cli === undefined ? [] : [new CLIPlugin({ configPath: cli })]), plugin],
  // A function, which is not a part of what webpack identifies a module by.
  module: { rules: [{ test: /main\.js$/, use: [{ loader: join(folder, 'loader.cjs'), options: { change } }] }] },
})
compiler.run((error) => compiler.close(() => console.log(JSON.stringify({ ...counts, error: error?.message ?? null }))))
