// @ts-check
// One build by esbuild, with a plugin that does all that can be replayed.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cached } from '@varve/plugins/esbuild'
import { build, context } from 'esbuild'
import { cacheOptions, folder, noteEnd, noteRun, noteWarning, order, report } from '../order.mjs'

/** @type {import('esbuild').Plugin} */
const expensive = {
  name: 'expensive',
  setup({ onLoad, resolve }) {
    onLoad({ filter: /\.text$/ }, ({ path }) => {
      noteRun(path)
      return { contents: readFileSync(path), loader: 'text' }
    })
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      noteRun(path)
      const code = readFileSync(path, 'utf8')
      const number = Number(/module-(\d+)/.exec(path)?.[1] ?? -1)
      if (code.includes('BROKEN')) throw new Error(`module ${number} is broken`)
      if (order.asks && number === 3) await resolve('./module-4.js', { resolveDir: folder, kind: 'import-statement' })
      const shared = join(folder, 'shared.txt')
      const line = `console.log(${JSON.stringify(`${order.banner} ${readFileSync(shared, 'utf8').trim()} ${number}`)})`
      const warnings = number % 10 === 1 ? [{ text: `module ${number} is old`, location: { file: path } }] : []
      return {
        contents: `${code}${line}\n`,
        resolveDir: dirname(path),
        warnings,
        watchFiles: [shared],
        watchDirs: [join(folder, 'watched')],
      }
    })
  },
}

await report(async () => {
  const plugin = order.isCached ? cached(expensive, { version: order.version, ...cacheOptions }) : expensive
  /** @type {import('esbuild').Plugin} */
  const end = { name: 'end', setup: ({ onEnd }) => onEnd(() => noteEnd()) }
  /** @type {import('esbuild').BuildOptions} */
  const settings = {
    entryPoints: [order.entry],
    bundle: true,
    sourcemap: true,
    outdir: order.output,
    absWorkingDir: folder,
    logLevel: 'silent',
    plugins: order.watches ? [plugin, end] : [plugin],
    ...order.config,
  }
  if (order.watches) {
    await (await context(settings)).watch()
    await new Promise(() => undefined)
  }
  const { warnings } = await build(settings)
  for (const { text, location } of warnings) noteWarning(`${text} ${location?.file ?? ''}`.trim())
})
