// @ts-check
// One build by Rolldown.
import { cached } from '@varve/plugins/rolldown'
import { rolldown, watch } from 'rolldown'
import { expensive } from '../expensive.mjs'
import { cacheOptions, noteEnd, noteWarning, order, report } from '../order.mjs'

await report(async () => {
  const plugin = /** @type {import('rolldown').Plugin} */ (expensive())
  const output = { dir: order.output, sourcemap: true }
  /** @type {import('rolldown').InputOptions} */
  const config = {
    input: order.entry,
    plugins: [order.isCached ? cached(plugin, { ...cacheOptions, stateless: true }) : plugin],
    onwarn: ({ message }) => noteWarning(message),
  }
  if (order.watches) {
    watch({ ...config, output }).on('event', ({ code }) => void (code === 'END' && noteEnd()))
    await new Promise(() => undefined)
  }
  const bundle = await rolldown(config)
  await bundle.write(output)
  await bundle.close()
})
