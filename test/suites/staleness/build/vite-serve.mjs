// @ts-check
// `vite-serve.mjs <none | varve>`: starts a development server for the project in the current folder, requests all modules that
// src/main.js imports, for the browser and for the server, and closes it.
import { createServer } from 'vite'
import { messageOf, print } from './outcome.mjs'
import { digestsOfModules } from './served.mjs'

const [, , cache = 'none'] = process.argv
/** Where the configs put the counts of Varve. @type {{ hits: number }[]} */
const stats = []
Object.assign(globalThis, { varveStats: stats })
process.env.VARVE_ON = cache === 'varve' ? '1' : ''

/** @type {string[]} */
const errors = []

/** Of several imports that do not resolve, Vite names the one that it looked for first. @param {unknown} error */
const anyImport = (error) => messageOf(error).replace(/(Failed to resolve import|Failed to load url) \S+/, '$1')

/** @param {import('vite').DevEnvironment} environment */
async function crawl(environment) {
  const waiting = ['/src/main.js']
  for (const url of waiting) {
    await environment.transformRequest(url).catch((error) => errors.push(anyImport(error)))
    const module = await environment.moduleGraph.getModuleByUrl(url)
    for (const { url: next } of module?.importedModules ?? []) if (!waiting.includes(next)) waiting.push(next)
  }
}

const server = await createServer({
  logLevel: 'silent',
  ...(process.env.VMODE === undefined ? {} : { mode: process.env.VMODE }),
  cacheDir: `node_modules/.vite-${cache}`,
  server: { middlewareMode: true, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
}).catch((/** @type {unknown} */ error) => {
  errors.push(messageOf(error))
})
const environments = Object.entries(server?.environments ?? {})
for (const [, environment] of environments) await crawl(environment)
const files = digestsOfModules(
  environments.map(([name, { moduleGraph }]) => [name, moduleGraph.idToModuleMap.values()]),
)
await server?.close()
print({ files, errors, warnings: [], hits: stats.reduce((sum, { hits }) => sum + hits, 0) })
