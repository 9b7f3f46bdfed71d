// @ts-check
// Runs one build in its own process, and prints times and results as JSON. The time runs from before webpack is loaded until the
// compiler is closed and its cache stored.
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { digestOf } from '../../scripts/common/digest.mjs'
import { ENTRY } from './application.mjs'

/** @typedef {'no cache' | 'webpack filesystem' | 'varve' | 'varve, reads not tracked'} SubjectName */
/** @typedef {{ subject: SubjectName, folder: string, output: string, cacheDir: string }} Order */
/** @typedef {{ wallMs: number, cpuMs: number, hits: number, misses: number, digest: string }} Built */

/** @type {Order} */
const order = JSON.parse(process.argv[2] ?? '')
const configFile = fileURLToPath(import.meta.url)

/** @returns {Promise<import('webpack').Configuration>} */
async function cacheConfig() {
  const buildDependencies = { config: [configFile] }
  if (order.subject === 'no cache') return { cache: false }
  if (order.subject === 'webpack filesystem')
    return { cache: { type: 'filesystem', cacheDirectory: order.cacheDir, buildDependencies } }
  const { VarveWebpackPlugin } = await import('@varve/plugins/webpack')
  const trackReads = order.subject === 'varve'
  return {
    cache: { type: 'memory' },
    plugins: [new VarveWebpackPlugin({ dir: order.cacheDir, buildDependencies, trackReads })],
  }
}

/** @returns {Promise<import('webpack').Configuration>} */
async function config() {
  const presets = [[fileURLToPath(import.meta.resolve('@babel/preset-env')), { targets: 'chrome 80', modules: false }]]
  const options = { babelrc: false, configFile: false, compact: false, presets }
  return {
    mode: 'production',
    context: order.folder,
    entry: ENTRY,
    output: { path: order.output, clean: true },
    // Terser would take longer than everything else together, with every cache.
    optimization: { minimize: false },
    performance: false,
    module: {
      rules: [{ test: /\.js$/, use: { loader: fileURLToPath(import.meta.resolve('babel-loader')), options } }],
    },
    ...(await cacheConfig()),
  }
}

/** Hits are modules that webpack read from a cache, misses those it built. */
async function build() {
  const { default: webpack } = await import('webpack')
  const compiler = webpack(await config())
  if (compiler === null) throw new Error('webpack created no compiler')
  const counts = { hits: 0, misses: 0 }
  compiler.hooks.thisCompilation.tap('bench', (compilation) => {
    compilation.hooks.stillValidModule.tap('bench', () => void counts.hits++)
    compilation.hooks.buildModule.tap('bench', () => void counts.misses++)
  })
  await new Promise((resolve, reject) => {
    compiler.run((error, stats) => {
      const failure = error ?? (stats?.hasErrors() ? new Error(stats.toString({ all: false, errors: true })) : null)
      compiler.close((closeError) => (failure || closeError ? reject(failure ?? closeError) : resolve(undefined)))
    })
  })
  return counts
}

const cpuStart = process.cpuUsage()
const startMs = performance.now()
const counts = await build()
const wallMs = performance.now() - startMs
const { user, system } = process.cpuUsage(cpuStart)
/** @type {Built} */
const built = { wallMs, cpuMs: (user + system) / 1000, ...counts, digest: digestOf(order.output) }
process.stdout.write(JSON.stringify(built))
