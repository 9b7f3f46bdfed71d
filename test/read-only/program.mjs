// @ts-check
// All calls of a reader, for strace to record.
import { openCache } from 'varve'

const [dir = '', engine = 'auto', mode] = process.argv.slice(2)
// Any other mode is for the test to see that it would notice a write.
const readOnly = mode === 'readOnly'
const options = { name: 'readonly', dir, readOnly, engine: /** @type {'native' | 'wasm'} */ (engine) }
const cache = await openCache({ ...options, onWarning() {} })
const space = cache.namespace('n')
const keys = Array.from({ length: 50 }, (_, number) => `key ${number}`)
const found = [
  space.get('key 1'),
  space.has('key 2'),
  ...space.getMany(keys),
  ...(await space.getManyAsync(keys)),
  space.get('large'),
]
space.put('mine', new Uint8Array(3))
await cache.commit().catch(() => undefined)
await cache.compact({ full: true }).catch(() => undefined)
await cache.repair().catch(() => undefined)
await cache.repair({ dryRun: true })
await cache.files.list()
await cache.files.store(import.meta.filename).catch(() => undefined)
const entries = [...space.entries()].length
cache.refresh()
await cache.verify()
await cache.stats()
await cache.flush()
cache.status()
await cache.close()
process.stdout.write(JSON.stringify({ found: found.filter(Boolean).length, entries }))
