// @ts-check
// Runs one build of the demo's application in its own process, and prints the result as JSON. For every cache, modules that
// webpack read from a cache are hits, and modules that it built are misses.
import { fileURLToPath } from 'node:url'
import webpack from 'webpack'
import { digestOf } from '../common/digest.mjs'

/** @typedef {'none' | 'memory' | 'webpack' | 'varve'} CacheKind 'memory': no cache outside of the process */
/** @typedef {{ cache: CacheKind, engine: 'native' | 'wasm' | null, app: string, output: string, cacheDir: string, maps?: boolean }} Order
 * `maps`: minimised, with the packages in a chunk of their own, and with source maps */

/** @type {Order} */
const order = JSON.parse(process.argv[2] ?? '')
const configFile = fileURLToPath(import.meta.url)

/** @returns {NonNullable<import('webpack').Configuration['cache']>} */
function cacheOption() {
  if (order.cache === 'none') return false
  if (order.cache === 'varve' || order.cache === 'memory') return { type: 'memory' }
  return { type: 'filesystem', cacheDirectory: order.cacheDir, buildDependencies: { config: [configFile] } }
}

/** The plugin is loaded only if it is used, so that builds with other caches do not pay for it. */
async function plugins() {
  if (order.cache !== 'varve') return []
  const { VarveWebpackPlugin } = await import('@varve/plugins/webpack')
  return [
    new VarveWebpackPlugin({
      dir: order.cacheDir,
      engine: order.engine ?? 'auto',
      buildDependencies: { config: [configFile] },
    }),
  ]
}

/** @type {import('webpack').Configuration} */
const config = {
  mode: 'production',
  context: order.app,
  entry: './src/main.js',
  output: { path: order.output, clean: true, filename: order.maps === true ? '[name].[contenthash].js' : '[name].js' },
  cache: cacheOption(),
  devtool: order.maps === true ? 'source-map' : false,
  // Terser takes longer than everything else together, with every cache.
  optimization: order.maps === true ? { splitChunks: { chunks: 'all' } } : { minimize: false },
  performance: false,
  module: {
    rules: [
      {
        test: /\.m?js$/,
        resolve: { fullySpecified: false },
        use: {
          loader: fileURLToPath(import.meta.resolve('babel-loader')),
          options: {
            babelrc: false,
            configFile: false,
            compact: false,
            presets: [
              [fileURLToPath(import.meta.resolve('@babel/preset-env')), { targets: 'chrome 80', modules: false }],
            ],
          },
        },
      },
    ],
  },
  plugins: await plugins(),
}
const compiler = webpack(config)

const counts = { hits: 0, misses: 0 }
compiler?.hooks.thisCompilation.tap('demo', (compilation) => {
  compilation.hooks.stillValidModule.tap('demo', () => void counts.hits++)
  compilation.hooks.buildModule.tap('demo', () => void counts.misses++)
})

compiler?.run((error, stats) => {
  if (error || stats?.hasErrors()) {
    process.stderr.write(`${error?.stack ?? stats?.toString({ all: false, errors: true })}\n`)
    process.exitCode = 1
  }
  compiler.close(() => {
    process.stdout.write(JSON.stringify({ ...counts, digest: digestOf(order.output) }))
  })
})
