/** A user's module, compiled against the packed package. */
import { type Cache, openCache, VarveError } from 'varve'

const cache: Cache = await openCache({ name: 'consumer', dir: 'cache', maxBytes: '500MB' })
const texts = cache.namespace('texts', { version: '1', codec: 'text' })
texts.put('key', 'value')
const text: string | undefined = texts.get('key')
const found: (string | undefined)[] = texts.getMany(['key', 'other'])

// @ts-expect-error a number is no text
texts.put('key', 1)
// @ts-expect-error there is no such option
await openCache({ name: 'consumer', directory: 'cache' })

try {
  await cache.commit({ durability: 'durable' })
} catch (error) {
  if (error instanceof VarveError) console.log(error.code satisfies string, text, found)
}
await cache.close()
