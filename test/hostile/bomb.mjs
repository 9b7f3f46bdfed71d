// @ts-check
// Reads a JSON value that a few stored bytes unpack to; prints the result and the peak memory in MiB.
import { openCache } from 'varve'

const [dir = '', engine] = process.argv.slice(2)
/** @type {string[]} */
const warnings = []
const options = { name: 'bomb', dir, engine: /** @type {'native' | 'wasm'} */ (engine) }
const cache = await openCache({ ...options, onWarning: (warning) => void warnings.push(warning.code) })
const value = cache.namespace('n', { version: '1', codec: 'json' }).get('key')
process.stdout.write(
  JSON.stringify({ found: value !== undefined, warnings, peakMiB: Math.round(process.resourceUsage().maxRSS / 1024) }),
)
await cache.close()
