// @ts-check
// Opens the fixture with `readOnly: true` and makes all calls of a reader.  node reader.mjs <dir> <engine>
import { openCache } from 'varve'
import { ALL_RIGHT, readAll, readFiles } from './fixture.mjs'

const [dir = '', engine] = process.argv.slice(2)
const cache = await openCache({ name: 'fixture', dir, engine: engine === 'wasm' ? 'wasm' : 'native', readOnly: true })
if ((await readAll(cache)) !== ALL_RIGHT || !(await readFiles(cache))) throw new Error('not everything is there')
await cache.stats()
await cache.verify()
cache.refresh()
cache.namespace('n').put('new', new Uint8Array(9))
await cache.commit().catch(() => {})
await cache.compact({ full: true }).catch(() => {})
await cache.flush().catch(() => {})
await cache.close()
