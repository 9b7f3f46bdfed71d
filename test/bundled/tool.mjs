// @ts-check
// A small tool that contains Varve: it opens a cache, puts, commits, compacts, reads, stores files, writes and reads an archive, runs
// a task, and prints what it found: node <bundle> <directory>.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'

/** Together more than a worker thread needs to be worth its start under WebAssembly. */
const [VALUES, VALUE_BYTES] = [160, 1 << 16]

/**
 * @typedef {object} Found
 * @property {string} engine
 * @property {readonly string[]} warnings
 * @property {number} workers how many worker threads began
 * @property {number} values how many are right after compaction
 * @property {boolean} isCompacted
 * @property {number} files in the archive
 * @property {string} result of the task
 */

/** Bytes that do not compress: a linear congruential generator. */
function noise() {
  let state = 1
  return Uint8Array.from({ length: VALUE_BYTES }, () => (state = (state * 1103515245 + 12345) % 2147483648) >> 16)
}

/** @param {string} folder @returns {Promise<Found>} */
async function use(folder) {
  /** @type {string[]} */
  const warnings = []
  let workers = 0
  process.on('worker', () => void workers++)
  const cache = await openCache({
    name: 'tool',
    dir: join(folder, 'cache'),
    onWarning: ({ message }) => void warnings.push(message),
  })
  const space = cache.namespace('values')
  const bytes = noise()
  for (let index = 0; index < VALUES; index++)
    space.put(
      `key ${index}`,
      bytes.map((byte) => byte ^ index),
    )
  await cache.commit()
  const { changed: isCompacted } = await cache.compact({ full: true })
  let values = 0
  for (let index = 0; index < VALUES; index++) {
    const value = space.get(`key ${index}`)
    if (value?.every((byte, at) => byte === ((bytes[at] ?? 0) ^ index)) === true) values++
  }
  const [sources, archive] = [join(folder, 'files'), join(folder, 'files.tar.gz')]
  mkdirSync(sources)
  writeFileSync(join(sources, 'a.txt'), 'a')
  await cache.files.exportTar(await cache.files.store(sources), archive, { gzip: true })
  const { manifest } = await cache.files.importTar(archive)
  const result = await cache.task('task', { codec: 'text' }).run({ id: 'id', files: [archive] }, () => 'made')
  const { engine } = cache.status()
  await cache.close()
  return { engine, warnings, workers, values, isCompacted, files: manifest.files.length, result }
}

use(process.argv[2] ?? '').then(
  (found) => console.log(JSON.stringify(found)),
  (error) => {
    console.error(error)
    process.exitCode = 1
  },
)
