// @ts-check
// One build by Rollup, which is an addon, or by its WebAssembly where addons are forbidden.
import { cached } from '@varve/plugins/rollup'
import { expensive } from '../expensive.mjs'
import { cacheOptions, noteWarning, order, report } from '../order.mjs'

const { rollup } = await import(process.execArgv.includes('--no-addons') ? '@rollup/wasm-node' : 'rollup')

await report(async () => {
  const plugin = expensive()
  const bundle = await rollup({
    input: order.entry,
    plugins: [order.isCached ? cached(plugin, cacheOptions) : plugin],
    onwarn: (/** @type {{ message: string }} */ { message }) => noteWarning(message),
  })
  await bundle.write({ dir: order.output, sourcemap: true })
  await bundle.close()
})
