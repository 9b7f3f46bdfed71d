// @ts-check
// Opens a cache twice, as relaxed and as durable, commits through the handle that its order names, and kills itself.
import { openCache } from 'varve'

const [dir, wanted] = process.argv.slice(2)
const open = (/** @type {'relaxed' | 'durable'} */ durability) =>
  openCache({ name: 'shared', dir, engine: 'native', durability })
const caches = { relaxed: await open('relaxed'), durable: await open('durable') }
const cache = caches[/** @type {'relaxed' | 'durable'} */ (wanted)]
cache.namespace('n').put('key', new Uint8Array(9))
await cache.commit()
process.kill(process.pid, 'SIGKILL')
