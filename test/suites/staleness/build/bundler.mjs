// @ts-check
// `bundler.mjs <tool> <none | varve>`: builds the project in the current folder once. Its `build.config.mjs` exports a
// function of whether Varve is on; that of Vite looks at VARVE_ON.
import { mkdirSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { digestsOf, messageOf, print } from './outcome.mjs'

const [, , tool = '', cache = 'none'] = process.argv
const isOn = cache === 'varve'
/** Where the configs put the counts of Varve. @type {{ hits: number }[]} */
const stats = []
Object.assign(globalThis, { varveStats: stats })
process.env.VARVE_ON = isOn ? '1' : ''

const config = async () => (await import(pathToFileURL(resolve('build.config.mjs')).href)).default(isOn)

/** @type {Readonly<Record<string, () => Promise<void>>>} */
const BUILD = {
  async vite() {
    const { build } = await import('vite')
    await build({ logLevel: 'error', ...(process.env.VMODE === undefined ? {} : { mode: process.env.VMODE }) })
  },
  async rollup() {
    const { rollup } = await import('rollup')
    const options = await config()
    const bundle = await rollup(options)
    await bundle.write({ dir: 'dist', ...options.output })
    await bundle.close()
  },
  async rolldown() {
    const { rolldown } = await import('rolldown')
    const options = await config()
    const bundle = await rolldown(options)
    await bundle.write({ dir: 'dist', ...options.output })
    await bundle.close()
  },
  async esbuild() {
    const { build } = await import('esbuild')
    await build({ logLevel: 'silent', ...(await config()) })
  },
  async rspack() {
    const { rspack } = await import('@rspack/core')
    const compiler = rspack(await config())
    await new Promise((done, fail) => {
      compiler.run((error, found) => {
        const failure = error ?? (found?.hasErrors() ? new Error(found.toString({ all: false, errors: true })) : null)
        compiler.close((closeError) => (failure || closeError ? fail(failure ?? closeError) : done(undefined)))
      })
    })
  },
}

rmSync('dist', { recursive: true, force: true })
mkdirSync('dist', { recursive: true })
/** @type {string[]} */
const errors = []
await BUILD[tool]?.().catch((/** @type {unknown} */ error) => errors.push(messageOf(error)))
print({ files: digestsOf('dist'), errors, warnings: [], hits: stats.reduce((sum, { hits }) => sum + hits, 0) })
