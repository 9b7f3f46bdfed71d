// @ts-check
// One build of the small application by Vite.
import { cached } from '@varve/plugins/vite'
import { createLogger, build as viteBuild } from 'vite'
import { counted, sorted } from './build-plugin.mjs'

/** @type {import('./build-child.mjs').Build} */
export async function build({ app, output, cache }) {
  const plugin = counted()
  /** @type {string[]} */
  const logged = []
  const tell = (/** @type {string} */ text) => void logged.push(text)
  await viteBuild({
    root: app,
    configFile: false,
    logLevel: 'warn',
    customLogger: { ...createLogger('warn'), warn: tell, warnOnce: tell, error: tell },
    plugins: [
      /** @type {import('vite').Plugin} */ (
        cache === undefined ? plugin : cached(plugin, { ...cache, cacheKey: 'same' })
      ),
    ],
    build: { outDir: output, emptyOutDir: true, minify: false, rollupOptions: { input: `${app}/main.js` } },
  })
  return { worked: plugin.runs(), ...sorted(logged) }
}
