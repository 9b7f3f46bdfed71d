// @ts-check
// Serves the application with Vite in its own process: with the plugins of Vue, MDX and Babel, which compiles React components. The
// parent gets the address once the server listens, and what the cache did when it disconnects.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { babel } from '@rollup/plugin-babel'
import mdx from '@mdx-js/rollup'
import vue from '@vitejs/plugin-vue'
import { createServer } from 'vite'

/** @typedef {{ isCached: boolean, folder: string, cacheDir: string }} Order */
/** @typedef {{ hits: number, misses: number, cpuMs: number }} Served */

/** @type {Order} */
const order = JSON.parse(process.argv[2] ?? '')
const counts = { hits: 0, misses: 0 }

/** @param {import('@varve/plugins/vite').CachedStats} stats */
function count(stats) {
  counts.hits += stats.hits
  counts.misses += stats.misses
}

/** The plugin is loaded only if it is used, so that a server without a cache does not pay for it. */
async function caches() {
  if (!order.isCached) return []
  const { varve } = await import('@varve/plugins/vite')
  return [varve({ ...cacheOptions, plugins: ['vue', 'babel', '@mdx-js/rollup'] })]
}

/** @type {import('@rollup/plugin-babel').RollupBabelInputPluginOptions} */
const babelOptions = {
  babelrc: false,
  configFile: false,
  babelHelpers: 'bundled',
  compact: false,
  extensions: ['.jsx'],
  include: /\/src\/.*\.jsx$/,
  presets: [[fileURLToPath(import.meta.resolve('@babel/preset-env')), { targets: 'chrome 80', modules: false }]],
  plugins: [fileURLToPath(import.meta.resolve('@babel/plugin-syntax-jsx'))],
}
const cacheOptions = {
  dir: order.cacheDir,
  cacheKey: readFileSync(fileURLToPath(import.meta.url), 'utf8'),
  onStats: count,
}
const cache = await caches()
// Before Vite's own plugins, which would reject the syntax of MDX, and compile JSX before Babel gets it.
const early = [mdx(), babel(babelOptions)].map((plugin) => ({ ...plugin, enforce: /** @type {const} */ ('pre') }))

const server = await createServer({
  root: order.folder,
  // Vite bundles packages again if the list of plugins has changed, so each list has its own directory.
  cacheDir: order.isCached ? 'node_modules/.vite-cached' : 'node_modules/.vite',
  configFile: false,
  logLevel: 'error',
  plugins: /** @type {import('vite').PluginOption[]} */ ([vue(), ...early, ...cache]),
  server: { port: 0, host: '127.0.0.1', watch: null },
  optimizeDeps: { include: ['vue', 'react', 'react/jsx-runtime', 'react/jsx-dev-runtime'] },
})
await server.listen()
process.on('disconnect', () => process.exit(1))
process.once('message', async () => {
  const { user, system } = process.cpuUsage()
  await server.close()
  process.send?.({ ...counts, cpuMs: (user + system) / 1000 })
  process.exit()
})
const address = server.httpServer?.address()
process.send?.(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`)
