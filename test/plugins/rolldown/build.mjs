// @ts-check
// One build by Rolldown.
import { cached } from '@varve/plugins/rolldown'
import { rolldown } from 'rolldown'
import { expensive } from '../expensive.mjs'
import { cacheOptions, noteWarning, order, report } from '../order.mjs'

await report(async () => {
  const plugin = /** @type {import('rolldown').Plugin} */ (expensive())
  const bundle = await rolldown({
    input: order.entry,
    plugins: [order.isCached ? cached(plugin, cacheOptions) : plugin],
    onwarn: ({ message }) => noteWarning(message),
  })
  await bundle.write({ dir: order.output, sourcemap: true })
  await bundle.close()
})
