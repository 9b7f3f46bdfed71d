// @ts-check
// Runs one build in its own process, and prints times and results as JSON. The time runs from before the tool and its plugins are
// loaded until all files are written and the cache is closed.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { digestOf } from '../../scripts/common/digest.mjs'
import { ENTRY } from './application.mjs'

/** @typedef {'vite' | 'rollup'} ToolName */
/** @typedef {{ tool: ToolName, isCached: boolean, folder: string, output: string, cacheDir: string }} Order */
/** @typedef {{ wallMs: number, cpuMs: number, hits: number, misses: number, digest: string }} Built */

/** @type {Order} */
const order = JSON.parse(process.argv[2] ?? '')
const counts = { hits: 0, misses: 0 }
const EXTERNAL = ['vue', 'react/jsx-runtime']

/** @param {import('@varve/plugins/vite').CachedStats} stats */
function count(stats) {
  counts.hits += stats.hits
  counts.misses += stats.misses
}

/** New instances of the three plugins for each build. */
async function plugins() {
  const [{ default: vue }, { babel }, { default: mdx }] = await Promise.all([
    import('@vitejs/plugin-vue'),
    import('@rollup/plugin-babel'),
    import('@mdx-js/rollup'),
  ])
  const presets = [[fileURLToPath(import.meta.resolve('@babel/preset-env')), { targets: 'chrome 80', modules: false }]]
  /** @type {import('@rollup/plugin-babel').RollupBabelInputPluginOptions} */
  const babelOptions = { babelrc: false, configFile: false, babelHelpers: 'bundled', compact: false, presets }
  return [vue(), babel({ ...babelOptions, include: /\/src\/.*\.js$/ }), mdx()]
}

/** The cache key for the options above. */
const cacheKey = readFileSync(fileURLToPath(import.meta.url), 'utf8')
const cacheOptions = { dir: order.cacheDir, root: order.folder, cacheKey, onStats: count }

/** @type {Record<ToolName, () => Promise<unknown>>} */
const BUILD = {
  async vite() {
    const { build } = await import('vite')
    const { varve } = await import('@varve/plugins/vite')
    const cache = order.isCached ? [varve({ ...cacheOptions, plugins: ['vue', 'babel', '@mdx-js/rollup'] })] : []
    const all = /** @type {import('vite').PluginOption[]} */ ([...(await plugins()), ...cache])
    const rollupOptions = { input: join(order.folder, ENTRY), external: EXTERNAL }
    const out = { outDir: order.output, emptyOutDir: true, reportCompressedSize: false, rollupOptions }
    await build({ root: order.folder, configFile: false, logLevel: 'error', plugins: all, build: out })
  },

  async rollup() {
    const { rollup } = await import('rollup')
    const { cached } = await import('@varve/plugins/rollup')
    const all = /** @type {import('rollup').Plugin[]} */ (await plugins())
    const wrapped = order.isCached ? all.map((plugin) => cached(plugin, cacheOptions)) : all
    const bundle = await rollup({ input: join(order.folder, ENTRY), external: EXTERNAL, plugins: wrapped })
    await bundle.write({ dir: order.output })
    await bundle.close()
  },
}

const cpuStart = process.cpuUsage()
const startMs = performance.now()
await BUILD[order.tool]()
const wallMs = performance.now() - startMs
const { user, system } = process.cpuUsage(cpuStart)
/** @type {Built} */
const built = { wallMs, cpuMs: (user + system) / 1000, ...counts, digest: digestOf(order.output) }
process.stdout.write(JSON.stringify(built))
