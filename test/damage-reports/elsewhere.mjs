// @ts-check
// Writes a cache that is large enough to be compacted in a thread of its own, damages it, compacts it unread, and prints
// what was told of the damage.
import { randomFillSync } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'

const [dir = ''] = process.argv.slice(2)
/** @type {import('varve').Damage[]} */
const told = []
const open = () => openCache({ name: 'damage', dir, engine: 'wasm', onDamage: (place) => void told.push(place) })

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
process.stdout.write(JSON.stringify({ table, told, damage, left: readdirSync(join(dir, 'v1')) }))
