// @ts-check
// Uses a cache and prints the modules of `varve` that are loaded: after `openCache` and a commit, after `cache.files`, after
// `cache.exportJson`.  node loaded.mjs <dir> <engine>
import { Session } from 'node:inspector'
import { PassThrough } from 'node:stream'

/** @type {Set<string>} */
const urls = new Set()
const inspector = new Session()
inspector.connect()
inspector.on('Debugger.scriptParsed', ({ params }) => urls.add(params.url))
inspector.post('Debugger.enable')
const loaded = () => [...urls].map((url) => url.split('/varve/dist/bundle/')[1]).filter((path) => path !== undefined)

const { openCache } = await import('varve')
const [dir = '', engine] = process.argv.slice(2)
const cache = await openCache({ name: 'loaded', dir, engine: engine === 'wasm' ? 'wasm' : 'native' })
const namespace = cache.namespace('n', { codec: 'text' })
namespace.put('key', 'value')
await cache.task('task').run({ id: 'id' }, () => namespace.get('key'))
await cache.commit()
const main = loaded()
await cache.files.store(import.meta.filename)
const files = loaded()
await cache.exportJson(new PassThrough().resume())
console.log(JSON.stringify({ main, files, json: loaded() }))
await cache.close()
