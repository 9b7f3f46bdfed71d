// @ts-check
// A build and a store with `@varve/plugins`, for a process without an engine: prints their results and every warning.
import { join } from 'node:path'
import { cached } from '@varve/plugins/rollup'
import { VarveKeyv } from '@varve/plugins/keyv'
import { rollup } from 'rollup'

const [folder = ''] = process.argv.slice(2)
/** @type {string[]} */
const warnings = []
process.on('warning', ({ message }) => warnings.push(message))

const plugin = { name: 'times', transform: (/** @type {string} */ code) => code.replace('six', '6 * 7') }
const bundle = await rollup({
  input: join(folder, 'main.js'),
  plugins: [cached(plugin, { cacheKey: 1, dir: join(folder, 'build') })],
  onwarn: ({ message }) => warnings.push(message),
})
const { output } = await bundle.generate({ format: 'es' })
await bundle.close()

const store = new VarveKeyv({ dir: join(folder, 'store') })
await store.set('key', 'value')
const found = await store.get('key')
await store.disconnect()
await new Promise(setImmediate)
console.log(JSON.stringify({ code: output[0].code, found, warnings }))
