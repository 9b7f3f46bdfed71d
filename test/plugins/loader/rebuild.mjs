// @ts-check
// One compiler that builds again and again, by webpack with the caching loader alone or by Rspack with the plugin, while the word that a
// loader reads changes. Prints the module of each build. If `isInterrupted`, the compiler watches and detects a change in its first build.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { VarveRspackPlugin } from '@varve/plugins/rspack'
import { rspack } from '@rspack/core'
import webpack from 'webpack'

/** Longer than files stay young, and until the loader alone has committed. */
const SETTLE_MS = 300

/** @type {{ tool: 'webpack' | 'rspack', isInterrupted: boolean, words: readonly string[] }} */
const { tool, isInterrupted, words } = JSON.parse(process.argv[2] ?? '')
const folder = process.cwd()
let statistics = 0
const options = { dir: 'cache', onStats: () => void (statistics += 1) }
const caching = {
  loader: fileURLToPath(import.meta.resolve('@varve/plugins/loader')),
  ...(tool === 'webpack' && { options }),
}
const config = {
  mode: /** @type {const} */ ('development'),
  devtool: /** @type {const} */ (false),
  context: folder,
  entry: './main.js',
  output: { path: join(folder, 'dist') },
  cache: false,
  module: { rules: [{ test: /main/, use: [caching, join(folder, 'loader.cjs')] }] },
}

/** @typedef {{ toJson(options: object): { modules?: { source?: string | Buffer }[], errors?: unknown[] } }} Stats */
/** @type {any} */
const compiler = tool === 'webpack' ? webpack(config) : rspack({ ...config, plugins: [new VarveRspackPlugin(options)] })

/** @param {Stats} stats */
function moduleOf(stats) {
  const { modules = [], errors = [] } = stats.toJson({
    all: false,
    modules: true,
    cachedModules: true,
    source: true,
    errors: true,
  })
  return errors.length > 0 ? JSON.stringify(errors) : modules.map(({ source = '' }) => String(source)).join('')
}

/** Neither tool sees that the word changes, so the module is written again. @param {string} word */
async function write(word) {
  writeFileSync('word.txt', word)
  await after(SETTLE_MS)
  writeFileSync('main.js', '"WORD"')
}

/** @type {string[]} */
const modules = []
if (isInterrupted) {
  /** @type {(value?: unknown) => void} */
  let isReported = () => undefined
  let isFirst = true
  let reported = new Promise((resolve) => (isReported = resolve))
  compiler.hooks.thisCompilation.tap('test', () => {
    if (isFirst) compiler.watching.invalidate()
    isFirst = false
  })
  await write(words[0] ?? '')
  await after(SETTLE_MS)
  compiler.watch({ aggregateTimeout: 20 }, (/** @type {unknown} */ _, /** @type {Stats} */ stats) => {
    modules.push(moduleOf(stats))
    isReported()
  })
  await reported
  for (const word of words.slice(1)) {
    reported = new Promise((resolve) => (isReported = resolve))
    await after(SETTLE_MS)
    await write(word)
    await reported
  }
} else {
  for (const word of words) {
    await write(word)
    await after(SETTLE_MS)
    modules.push(
      await new Promise((resolve) =>
        compiler.run((/** @type {unknown} */ _, /** @type {Stats} */ stats) => resolve(moduleOf(stats))),
      ),
    )
  }
}
await new Promise((resolve) => compiler.close(resolve))
console.log(JSON.stringify({ modules, statistics }))
