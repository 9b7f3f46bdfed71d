// @ts-check
// One build of the small application by esbuild.
import { readFileSync } from 'node:fs'
import { cached } from '@varve/plugins/esbuild'
import { build as esbuild } from 'esbuild'
import { made, sorted } from './build-plugin.mjs'

/** @type {import('./build-child.mjs').Build} */
export async function build({ app, output, cache }) {
  let worked = 0
  /** @type {import('esbuild').Plugin} */
  const plugin = {
    name: 'counted',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        worked++
        return { contents: made(readFileSync(path, 'utf8')) }
      })
    },
  }
  const { warnings } = await esbuild({
    entryPoints: [`${app}/main.js`],
    bundle: true,
    outdir: output,
    absWorkingDir: app,
    logLevel: 'silent',
    plugins: [cache === undefined ? plugin : cached(plugin, { ...cache, cacheKey: 'same' })],
  })
  return { worked, ...sorted(warnings.map(({ text }) => text)) }
}
