// @ts-check
// A build in steps: each line of its input starts one step, and each line of its output is the result.
import { createInterface } from 'node:readline'
import { openCache } from 'varve'

const [dir, engine] = process.argv.slice(2)
/** @type {string[]} */
const warnings = []
const options = { name: 'late', engine: /** @type {'native' | 'wasm'} */ (engine), dir, version: '' }
const cache = await openCache({ ...options, onWarning: (warning) => void warnings.push(warning.code) })
const space = cache.namespace('n', { codec: 'text' })

/** @type {Record<string, () => Promise<unknown>>} */
const STEPS = {
  async commit() {
    space.put('key', 'mine')
    return cache.commit()
  },
  refresh: async () => cache.refresh(),
  store: () =>
    cache.files.store(import.meta.filename).then(
      () => 'stored',
      (error) => error.code,
    ),
  get: async () => space.get('before') ?? null,
  status: async () => ({ mode: cache.status().degraded?.mode, why: cache.status().degraded?.why, warnings }),
}

/** @param {unknown} answer */
const say = (answer) => void process.stdout.write(`${JSON.stringify(answer)}\n`)
say('opened')
for await (const step of createInterface({ input: process.stdin })) say(await STEPS[step]?.())
await cache.close()
