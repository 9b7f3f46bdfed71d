// @ts-check
// A tool in a sandbox of its host, which uses all functions of a cache; prints the result as JSON.
import { openCache, VarveError } from 'varve'

const [dir = '', engine = 'auto'] = process.argv.slice(2)
/** @type {string[]} */
const warnings = []
const options = {
  name: 'degrade',
  engine: /** @type {'auto' | 'native' | 'wasm'} */ (engine),
  ...(dir === '' ? {} : { dir }),
}
const cache = await openCache({ ...options, onWarning: (warning) => void warnings.push(warning.code) })
const space = cache.namespace('n', { codec: 'text' })
const before = space.get('before') ?? null
space.put('key', 'value')
const report = await cache.commit()
const again = space.get('key')
space.put('durable', 'value')
/** @param {Promise<unknown>} call */
const codeOf = (call) =>
  call.then(
    () => 'resolved',
    (error) => (error instanceof VarveError ? error.code : String(error)),
  )
const codes = [
  await codeOf(cache.commit({ durability: 'durable' })),
  await codeOf(cache.flush()),
  await codeOf(cache.compact({ full: true })),
]
const result = await cache.task('task', { codec: 'text' }).run({ id: 'id', env: ['HOME'] }, () => 'made')
const { degraded, engine: used } = cache.status()
await cache.close()
const { mode, why, fix } = degraded ?? {}
process.stdout.write(
  JSON.stringify({ used, mode, why, fix, inMemory: report.inMemory, values: [before, again, result], codes, warnings }),
)
