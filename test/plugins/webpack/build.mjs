// @ts-check
// One build of a test in a separate process; prints the result as JSON. The loader notes each module it builds.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'

const {
  folder,
  cache,
  options = {},
  config = {},
  entry = './main.js',
  output = 'dist',
  loader = 'loader.cjs',
} = JSON.parse(process.argv[2] ?? '')
const plugin = new VarveWebpackPlugin({ dir: join(folder, 'cache'), ...options })
/** @type {string[]} */
const warnings = []

/** @returns {NonNullable<import('webpack').Configuration['cache']>} */
function cacheOption() {
  if (cache === 'varve') return { type: 'memory' }
  return cache === 'webpack' ? { type: 'filesystem', cacheDirectory: join(folder, 'webpack-cache') } : false
}

const log = { warn: (/** @type {unknown} */ text) => warnings.push(String(text)) }
const compiler = webpack({
  mode: 'production',
  context: folder,
  entry,
  output: { path: join(folder, output), clean: true },
  cache: cacheOption(),
  module: { rules: [{ test: /\.js$/, use: [join(folder, loader)] }] },
  infrastructureLogging: { level: 'warn', console: Object.assign(Object.create(console), log) },
  plugins: cache === 'varve' ? [plugin] : [],
  ...config,
})

compiler?.run((error, stats) => {
  const failure = error?.message ?? (stats?.hasErrors() ? stats.toString({ all: false, errors: true }) : null)
  compiler.close(() => {
    const hash = createHash('sha256')
    const dist = join(folder, output)
    if (failure === null)
      for (const name of readdirSync(dist).sort()) hash.update(name).update(readFileSync(join(dist, name)))
    process.stdout.write(JSON.stringify({ failure, warnings, digest: hash.digest('hex'), ...plugin.stats }))
  })
})
