// @ts-check
// Writes a cache that is large enough for a compaction in another thread, damages it, compacts it without reading it, and
// prints the reported damage.
import { randomFillSync } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'

const [dir = ''] = process.argv.slice(2)
/** @type {import('varve').Damage[]} */
const reported = []
const open = () => openCache({ name: 'damage', dir, engine: 'wasm', onDamage: (place) => void reported.push(place) })

let cache = await open()
for (let key = 0; key < 300; key++) cache.namespace('n').put(`key ${key}`, randomFillSync(new Uint8Array(40_000)))
await cache.commit()
await cache.compact({ full: true })
await cache.close()
const table = readdirSync(join(dir, 'v1')).find((name) => name.endsWith('.table')) ?? ''
const bytes = readFileSync(join(dir, 'v1', table))
bytes[100] = (bytes[100] ?? 0) ^ 1
writeFileSync(join(dir, 'v1', table), bytes)

cache = await open()
cache.namespace('n').put('key 0', new Uint8Array(1))
cache.namespace('n').put('new', new Uint8Array(1))
await cache.commit()
await cache.compact({ full: true })
await new Promise((resolve) => setImmediate(resolve))
const { damage } = cache.status()
await cache.close()
process.stdout.write(JSON.stringify({ table, reported, damage, left: readdirSync(join(dir, 'v1')) }))
