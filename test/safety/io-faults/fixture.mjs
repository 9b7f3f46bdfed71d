// @ts-check
// A cache with a log, tables, a large value and stored files, and a reader that knows every byte of it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { noise, seedOf } from '../random.mjs'

/** @import { Cache } from 'varve' */
/** @import { FileManifest } from 'varve/files' */

const KEYS = Array.from({ length: 120 }, (_, i) => `k${i}`)

/** @param {string} key */
const valueOf = (key) =>
  noise(seedOf(key), key === 'k7' ? 1_200_000 : key.endsWith('0') ? 40_000 : 200 + (seedOf(key) % 3000))

/** @param {string} dir @param {'native' | 'wasm'} engine */
export async function build(dir, engine) {
  const sources = `${dir}-sources`
  mkdirSync(sources)
  for (const name of ['a', 'b']) writeFileSync(join(sources, name), noise(seedOf(name), 50_000))
  const cache = await openCache({ name: 'fixture', dir, engine })
  const values = cache.namespace('n')
  for (const [index, key] of KEYS.entries()) {
    values.put(key, valueOf(key))
    if (index % 30 === 29) await cache.commit()
    if (index === 59) await cache.compact({ full: true })
  }
  cache.namespace('outputs', { codec: 'json' }).put('tree', await cache.files.store(sources))
  await cache.commit({ durability: 'durable' })
  return cache
}

/** Keys whose values are right; the others are misses. Wrong bytes throw. @param {Cache} cache */
export async function readAll(cache) {
  const values = cache.namespace('n')
  let right = 0
  const check = (/** @type {string} */ key, /** @type {Uint8Array | undefined} */ value) => {
    if (value === undefined) return
    if (!valueOf(key).equals(value)) throw new Error(`${key} has wrong bytes`)
    right++
  }
  for (const key of KEYS) check(key, values.get(key))
  for (const [index, value] of (await values.getManyAsync(KEYS)).entries()) check(KEYS[index] ?? '', value)
  for (const [key, value] of values.entries()) check(String(key), value)
  return right
}

/** What `readAll` finds if nothing is missing. */
export const ALL_RIGHT = KEYS.length * 3

/** @param {Cache} cache */
export async function readFiles(cache) {
  /** @type {import('varve').Namespace<FileManifest>} */
  const outputs = cache.namespace('outputs', { codec: 'json' })
  const manifest = outputs.get('tree')
  return manifest !== undefined && (await cache.files.verify(manifest)).sound
}
