// @ts-check
// One build by Vite, with the plugin beside it or with a config file of the application.
import { cached, varve } from '@varve/plugins/vite'
import { build, createLogger } from 'vite'
import { expensive } from '../expensive.mjs'
import { cacheOptions, folder, noteEnd, noteWarning, order, report } from '../order.mjs'

const { byName = false, ...config } = order.config
const plugin = /** @type {import('vite').Plugin} */ (expensive())
const customLogger = { ...createLogger('warn'), warn: noteWarning, warnOnce: noteWarning }

/** @returns {import('vite').PluginOption[]} */
function plugins() {
  if (!order.isCached) return [plugin]
  const { cacheKey, ...options } = cacheOptions
  return byName
    ? [plugin, varve({ ...options, plugins: [{ name: 'expensive', cacheKey, stateless: true }] })]
    : [cached(plugin, { ...cacheOptions, stateless: true })]
}

await report(async () => {
  const built = await build({
    root: folder,
    configFile: false,
    logLevel: 'warn',
    customLogger,
    plugins: plugins(),
    build: {
      outDir: order.output,
      minify: false,
      sourcemap: true,
      rollupOptions: { input: order.entry },
      watch: order.watches ? {} : null,
    },
    ...config,
  })
  if (!('close' in built)) return
  built.on('event', ({ code }) => void (code === 'END' && noteEnd()))
  await new Promise(() => undefined)
})
