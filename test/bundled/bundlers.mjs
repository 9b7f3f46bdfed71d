// @ts-check
// How users bundle a tool that contains Varve. Each function bundles an entry into a directory, and returns the file to run.
import { dirname, join } from 'node:path'

/** @typedef {(entry: string, folder: string) => Promise<string>} Bundler */
/** @typedef {'esm' | 'cjs'} Format */

/** @param {Format} format */
const nameOf = (format) => (format === 'esm' ? 'tool.mjs' : 'tool.cjs')

/** The output of Rollup and Rolldown. @param {string} folder @param {Format} format */
const chunks = (folder, format) => {
  const name = nameOf(format).replace('tool', '[name]')
  return { dir: folder, format, entryFileNames: name, chunkFileNames: name }
}

/** @param {Format} format @returns {Bundler} */
const esbuild = (format) => async (entry, folder) => {
  const { build } = await import('esbuild')
  const outfile = join(folder, nameOf(format))
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format,
    minify: format === 'cjs',
    logLevel: 'error',
  })
  return outfile
}

/** @param {Format} format @param {boolean} [inlineDynamicImports] @returns {Bundler} */
const rollup =
  (format, inlineDynamicImports = false) =>
  async (entry, folder) => {
    const { rollup: bundle } = await import('rollup')
    const varve = join(dirname(entry), 'node_modules/varve/dist/bundle/index.js') // as the plugin that resolves packages finds it
    const resolve = { name: 'resolve', resolveId: (/** @type {string} */ id) => (id === 'varve' ? varve : undefined) }
    const build = await bundle({ input: entry, external: /^node:/, plugins: [resolve], onwarn: () => {} })
    await build.write({ ...chunks(folder, format), inlineDynamicImports })
    await build.close()
    return join(folder, nameOf(format))
  }

/** @param {Format} format @returns {Bundler} */
const rolldown = (format) => async (entry, folder) => {
  const { rolldown: bundle } = await import('rolldown')
  const build = await bundle({ input: entry, platform: 'node', logLevel: 'silent' })
  await build.write(chunks(folder, format))
  await build.close()
  return join(folder, nameOf(format))
}

/** @param {'development' | 'production'} mode @param {Format} [format] @returns {Bundler} */
const webpack =
  (mode, format = 'cjs') =>
  async (entry, folder) => {
    const { default: bundle } = await import('webpack')
    const output = {
      path: folder,
      filename: nameOf(format),
      chunkFilename: nameOf(format).replace('tool', '[name].[id]'),
      module: format === 'esm',
    }
    // The line of docs/platforms.md: without it, webpack writes the path of the source into an ES module.
    const module = format === 'esm' ? { parser: { javascript: { importMeta: false } } } : {}
    const compiler = bundle({ mode, entry, target: 'node20', output, module, context: dirname(entry) })
    await new Promise((resolve, reject) => {
      compiler.run((error, stats) => {
        if (error !== null || stats?.hasErrors() === true) reject(error ?? new Error(stats?.toString()))
        else compiler.close(resolve)
      })
    })
    return join(folder, nameOf(format))
  }

/** @type {Bundler} */
const vite = async (entry, folder) => {
  const { build } = await import('vite')
  const rolldownOptions = { output: { entryFileNames: nameOf('esm') } }
  await build({
    root: dirname(entry),
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: { ssr: entry, outDir: folder, emptyOutDir: false, rolldownOptions },
  })
  return join(folder, nameOf('esm'))
}

/** The bundlers that this repository installs, by the name of their test. @type {Readonly<Record<string, Bundler>>} */
export const BUNDLERS = {
  esbuild: esbuild('esm'),
  'esbuild, minified CommonJS': esbuild('cjs'),
  Rollup: rollup('esm'),
  'Rollup, CommonJS': rollup('cjs'),
  'Rollup, inlineDynamicImports': rollup('esm', true),
  Rolldown: rolldown('esm'),
  'Rolldown, CommonJS': rolldown('cjs'),
  'webpack, development': webpack('development'),
  'webpack, production': webpack('production'),
  'webpack, production, ES module': webpack('production', 'esm'),
  'Vite SSR': vite,
}
