// @ts-check
/**
 * Builds a project twice in its folder: with the cache and without, or the other way round. Prints what both emitted, and the results of
 * the calls.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const { tool } = JSON.parse(process.argv[2] ?? '{}')
const require = createRequire(join(process.cwd(), 'package.json'))
const load = (/** @type {string} */ name) => import(pathToFileURL(require.resolve(name)).href)

/** Files that change before the same process builds again, by a variable that does not count. @type {[path: string, text: string][]} */
const edits = JSON.parse(process.env['VARVE_EDITS'] ?? '[]')

/** The config of another build in the same process. */
const OTHER = 'other.config.mjs'
let configName = 'build.config.mjs'

/** @type {Record<string, unknown>[]} */
const stats = []
Reflect.set(globalThis, 'stats', stats)

/** @type {Record<string, (isCached: boolean) => Promise<unknown>>} */
const builds = {
  async vite(isCached) {
    process.env['STALE_CACHED'] = isCached ? '1' : ''
    const { build } = await import('vite')
    await build({ logLevel: 'silent', root: process.cwd(), ...(configName === OTHER ? { configFile: OTHER } : {}) })
  },
  async rollup(isCached) {
    const { rollup } = await load('@rollup/wasm-node')
    const bundle = await rollup({ ...(await config(isCached)), onLog() {} })
    await bundle.write({ dir: 'dist' })
    await bundle.close()
  },
  async rolldown(isCached) {
    const { rolldown } = await import('rolldown')
    const bundle = await rolldown({ ...(await config(isCached)), logLevel: 'silent' })
    await bundle.write({ dir: 'dist' })
    await bundle.close()
  },
  async esbuild(isCached) {
    const esbuild = await load('esbuild')
    const context = await esbuild.context({ ...(await config(isCached)), logLevel: 'silent' })
    await context.rebuild()
    if (isCached && edits.length > 0) {
      for (const [path, text] of edits) writeFileSync(path, text)
      await context.rebuild()
    }
    await context.dispose()
  },
  async rspack(isCached) {
    const { rspack } = await import('@rspack/core')
    const compiler = rspack(await config(isCached))
    await new Promise((resolve, reject) => {
      compiler.run((error, result) => {
        const [failure] = result?.toJson({ all: false, errors: true }).errors ?? []
        compiler.close(() => (error || failure ? reject(error ?? new Error(failure?.message)) : resolve(undefined)))
      })
    })
  },
}

/** @param {boolean} isCached */
async function config(isCached) {
  const module = await import(pathToFileURL(join(process.cwd(), configName)).href)
  return module.default(isCached)
}

/** @param {boolean} isCached */
async function built(isCached) {
  rmSync('dist', { recursive: true, force: true })
  let failure = ''
  try {
    await builds[tool]?.(isCached)
  } catch (error) {
    failure = String(error instanceof Error ? error.message : error)
  }
  const names = existsSync('dist') ? readdirSync('dist', { recursive: true, encoding: 'utf8' }).sort() : []
  const files = names
    .filter((name) => /\.\w+$/.test(name))
    .map((name) => [name, readFileSync(join('dist', name), 'utf8')])
  return { failure, files }
}

if (process.env['STALE_OTHER_FIRST'] !== undefined) {
  configName = OTHER
  await built(true)
  configName = 'build.config.mjs'
  stats.length = 0
}
const ahead = process.env['STALE_PLAIN_FIRST'] === undefined ? undefined : await built(false)
const cached = await built(true)
await new Promise((resolve) => setTimeout(resolve, 20)) // esbuild closes its cache after it disposed of a build
const plain = ahead ?? (await built(false))
console.log(JSON.stringify({ cached, plain, stats }))
