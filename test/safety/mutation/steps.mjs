// @ts-check
// The steps of a victim until the planted panic occurs: every call of the API once. The data takes every path through the
// engine: values in a log, in a table, longer than the scratch memory, in files.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { PassThrough } from 'node:stream'
import { noise } from '../random.mjs'

/** @typedef {import('varve').Cache} Cache */

/** @param {string} letter @param {number} length */
const text = (letter, length) => letter.repeat(length)

/** The first contents of every cache: values by key. `file` is stored as a file, `long` is longer than the scratch memory. */
export const CONTENT = {
  table: text('t', 300),
  long: text('l', 200 << 10),
  file: text('f', 1_200_000),
  log: text('g', 40),
  padding: text('p', 80 << 10), // more bytes than the calling thread opens
}

/** The key of a commit after the panic. */
export const LATER = 'later'

/** Fills a cache: tables first, then a log that is not checkpointed. @param {Cache} cache */
export async function fill(cache) {
  const namespace = cache.namespace('n', { codec: 'text' })
  for (const key of /** @type {const} */ (['table', 'long', 'file'])) namespace.put(key, CONTENT[key])
  for (let index = 0; index < 300; index++) namespace.put(`${index}`, text('v', 200))
  await cache.commit()
  await cache.compact({ full: true })
  for (const key of /** @type {const} */ (['log', 'padding'])) namespace.put(key, CONTENT[key])
  await cache.commit()
  await cache.close()
}

/** Adds more than a compaction handles on the calling thread. @param {Cache} cache */
export async function fillMore(cache) {
  const namespace = cache.namespace('more', { codec: 'bytes' })
  for (let index = 0; index < 40; index++) {
    namespace.put(`${index}`, noise(index, 256 << 10))
    if (index % 8 === 7) await cache.commit()
  }
  await cache.close()
}

/** @param {Cache} cache */
const texts = (cache) => cache.namespace('n', { codec: 'text' })

/** Steps by name, in order. @type {Record<string, (cache: Cache, folder: string) => unknown>} */
export const steps = {
  status: (cache) => cache.status(),
  has: (cache) => texts(cache).has('log'),
  get: (cache) => Object.keys(CONTENT).map((key) => texts(cache).get(key)),
  getMany: (cache) => texts(cache).getMany(['table', 'log']),
  getManyAsync: (cache) => texts(cache).getManyAsync(['table', 'long', 'log']),
  entries: (cache) => [...texts(cache).keys()].length,
  put: (cache) => texts(cache).put('small', 'small'),
  delete: (cache) => texts(cache).delete('nothing'),
  commit: (cache) => cache.commit(),
  commitDurable(cache) {
    texts(cache).put('durable', 'durable')
    return cache.commit({ durability: 'durable' })
  },
  commitTask(cache) {
    texts(cache).put('larger', text('x', 400 << 10))
    return cache.commit()
  },
  commitTables(cache) {
    for (let index = 0; index < 40; index++) texts(cache).put(`large ${index}`, text('y', 40_000))
    return cache.commit()
  },
  commitFiles(cache) {
    for (let index = 0; index < 4; index++) texts(cache).put(`file ${index}`, text(`${index}`, 1_100_000))
    return cache.commit()
  },
  getFile: (cache) => texts(cache).get('file 1'),
  flush: (cache) => cache.flush(),
  refresh: (cache) => cache.refresh(),
  async trees(cache, folder) {
    const tree = join(folder, 'tree')
    mkdirSync(tree, { recursive: true })
    for (let index = 0; index < 64; index++) writeFileSync(join(tree, `${index}.txt`), `content ${index}`)
    const manifest = await cache.files.store(tree)
    cache.namespace('trees', { codec: 'json' }).put('tree', manifest)
    await cache.commit()
    await cache.files.restore(manifest, join(folder, 'restored'))
    await cache.files.exportTar(manifest, join(folder, 'tree.tar'))
    await cache.files.importTar(join(folder, 'tree.tar'))
    await cache.files.verify()
    await cache.commit()
  },
  async json(cache) {
    const out = new PassThrough()
    const written = buffer(out)
    await cache.exportJson(out)
    out.end()
    await cache.importJson(Readable.from([await written]))
  },
  stats: (cache) => cache.stats(),
  verify: (cache) => cache.verify({ onProgress: () => undefined }),
  compact: (cache) => cache.compact({ full: true, onProgress: () => undefined }),
  close: (cache) => cache.close(),
}
