// @ts-check
// One build of the small application by Rollup.
import { cached } from '@varve/plugins/rollup'
import { rollup } from 'rollup'
import { counted, sorted } from './build-plugin.mjs'

/** @type {import('./build-child.mjs').Build} */
export async function build({ app, output, cache }) {
  const plugin = counted()
  /** @type {string[]} */
  const logged = []
  const bundle = await rollup({
    input: `${app}/main.js`,
    plugins: [cache === undefined ? plugin : cached(plugin, { ...cache, root: app, cacheKey: 'same' })],
    onwarn: ({ message }) => void logged.push(message),
  })
  await bundle.write({ dir: output })
  await bundle.close()
  return { worked: plugin.runs(), ...sorted(logged) }
}
