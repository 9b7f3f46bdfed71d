// @ts-check
// One build by Rollup, which is an addon, or by its WebAssembly where addons are forbidden.
import { cached } from '@varve/plugins/rollup'
import { expensive } from '../expensive.mjs'
import { cacheOptions, noteEnd, noteWarning, order, report } from '../order.mjs'

const { rollup, watch } = await import(process.execArgv.includes('--no-addons') ? '@rollup/wasm-node' : 'rollup')

await report(async () => {
  const plugin = expensive()
  const output = { dir: order.output, sourcemap: true }
  const config = {
    input: order.entry,
    plugins: [order.isCached ? cached(plugin, { ...cacheOptions, stateless: true }) : plugin],
    onwarn: (/** @type {{ message: string }} */ { message }) => noteWarning(message),
  }
  if (order.watches) {
    watch({ ...config, output }).on(
      'event',
      (/** @type {{ code: string }} */ { code }) => void (code === 'END' && noteEnd()),
    )
    await new Promise(() => undefined)
  }
  const bundle = await rollup(config)
  await bundle.write(output)
  await bundle.close()
})
