// @ts-check
// A tool that uses a cache with the rights of its user; prints the result as JSON.
import { openCache } from 'varve'

const [dir, engine] = process.argv.slice(2)
/** @type {string[]} */
const warnings = []
const options = { name: 'degrade', engine: /** @type {'native' | 'wasm'} */ (engine), ...(dir === '' ? {} : { dir }) }
const cache = await openCache({ ...options, onWarning: (warning) => void warnings.push(warning.code) })
const space = cache.namespace('n', { codec: 'text' })
space.put('key', 'value')
const report = await cache.commit()
const { degraded } = cache.status()
const values = [space.get('before') ?? null, space.get('key')]
await cache.close()
process.stdout.write(
  JSON.stringify({ mode: degraded?.mode, why: degraded?.why, inMemory: report.inMemory, values, warnings }),
)
