// @ts-check
// `webpack.mjs <config> <none | own | varve>`: builds the project in the current folder once. Its config does not know
// of caches; what it has under `cache` are options that both caches share.
import { mkdirSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'
import { digestsOf, messageOf, print } from './outcome.mjs'

const [, , name = '', cache = 'none'] = process.argv
const file = resolve(name)
/** @type {VarveWebpackPlugin[]} */
const plugins = []
let restored = 0

/** @param {any} config @returns {import('webpack').Configuration} */
function withCache({ cache: shared, ...config }) {
  const quiet = { ...config, infrastructureLogging: { level: 'warn', ...config.infrastructureLogging } }
  const options = { buildDependencies: { config: [file] }, ...shared }
  if (cache === 'none') return { ...quiet, cache: false }
  if (cache === 'own')
    return { ...quiet, cache: { type: 'filesystem', cacheDirectory: resolve('cache-of-webpack'), ...options } }
  const plugin = new VarveWebpackPlugin({ dir: resolve('cache-of-varve'), ...options })
  plugins.push(plugin)
  return { ...quiet, cache: { type: 'memory' }, plugins: [...(config.plugins ?? []), plugin] }
}

const exported = (await import(pathToFileURL(file).href)).default
const found = typeof exported === 'function' ? await exported(process.env, {}) : exported
/** @type {import('webpack').Configuration[]} */
const configs = [found].flat().map(withCache)
const compiler = Array.isArray(found) ? webpack(configs) : webpack(configs[0] ?? {})
if (compiler === null) throw new Error('webpack made no compiler')
const compilers = 'compilers' in compiler ? compiler.compilers : [compiler]
for (const { hooks } of compilers) {
  hooks.compilation.tap('suite', (compilation) =>
    compilation.hooks.stillValidModule.tap('suite', () => void restored++),
  )
}
for (const { outputPath } of compilers) rmSync(outputPath, { recursive: true, force: true })

compiler.run((/** @type {unknown} */ error, /** @type {any} */ stats) => {
  compiler.close((closeError) => {
    const {
      errors = [],
      warnings = [],
      children = [],
    } = stats?.toJson({ all: false, errors: true, warnings: true, children: true }) ?? {}
    const all = [{ errors, warnings }, ...children]
    const messages = (/** @type {'errors' | 'warnings'} */ kind) =>
      all
        .flatMap((one) => one[kind] ?? [])
        .map(messageOfStats)
        .sort()
    mkdirSync('dist', { recursive: true })
    print({
      files: digestsOf('dist'),
      errors: [...messages('errors'), ...[error, closeError].filter(Boolean).map(messageOf)],
      warnings: messages('warnings'),
      hits: cache === 'varve' ? plugins.reduce((sum, { stats: { hits } }) => sum + hits, 0) : restored,
    })
  })
})

/** @param {{ message: string }} one */
function messageOfStats({ message }) {
  return message.split('\n', 1)[0] ?? ''
}
