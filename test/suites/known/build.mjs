// @ts-check
// Builds the project in the working directory, with the cache or without, and prints what it emitted and how many calls hit.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const isCached = process.argv[3] === 'cached'
const hits = [0]
const misses = [0]
/** @type {string[]} */
const warnings = []
const onStats = (/** @type {import('@varve/plugins/vite').CachedStats} */ stats) => {
  hits.push(stats.hits)
  misses.push(stats.misses)
}
const warn = (/** @type {string} */ text) => void warnings.push(text)

rmSync('dist', { recursive: true, force: true })
const { default: make, plugin, external } = await import(pathToFileURL(join(process.cwd(), 'known.config.mjs')).href)
const plugins = [await make()].flat(Infinity)

/** @type {Readonly<Record<string, () => Promise<unknown>>>} */
const builds = {
  async vite() {
    const { build, createLogger } = await import('vite')
    const { varve } = await import('@varve/plugins/vite')
    const cache = isCached ? [varve({ plugins: [{ name: plugin, cacheKey: 'same' }], dir: 'cache', onStats })] : []
    await build({
      configFile: false,
      customLogger: { ...createLogger('silent'), warn },
      plugins: [...plugins, ...cache],
      build: { minify: false, rollupOptions: { input: 'src/main.js', external } },
    })
  },
  async rollup() {
    const { rollup } = await import('rollup')
    const { cached } = await import('@varve/plugins/rollup')
    const files = {
      name: 'files',
      resolveId: (/** @type {string} */ id, /** @type {string | undefined} */ from) => found(id, from),
    }
    const wrapped = isCached ? plugins.map((one) => cached(one, { cacheKey: 'same', dir: 'cache', onStats })) : plugins
    const bundle = await rollup({
      input: 'src/main.js',
      external,
      plugins: [...wrapped, files],
      onLog: (_, { message }) => warn(message),
    })
    await bundle.write({ dir: 'dist' })
    await bundle.close()
  },
}

/** @param {string} id @param {string | undefined} from */
function found(id, from) {
  return from !== undefined && id.startsWith('./') ? join(from, '..', id) : null
}

const sum = (/** @type {number[]} */ all) => all.reduce((total, one) => total + one)
await builds[process.argv[2] ?? '']?.()
const names = readdirSync('dist', { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
const files = names.map((one) => join(one.parentPath, one.name)).sort()
const emitted = files.map((path) => [path, readFileSync(path, 'utf8')])
console.log(
  JSON.stringify({
    emitted,
    hits: sum(hits),
    misses: sum(misses),
    warnings: warnings.filter((text) => text.includes('not cached')),
  }),
)
