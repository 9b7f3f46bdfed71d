// @ts-check
// Counts the requests and bytes of a shared cache of 20,000 values of 4 KiB: the first publication, a fresh machine, 20 publications
// of 100 changed values each, and who reads them. The store is a directory; every store gets the same requests.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { directory, generateKeys, openRemote } from '@varve/remote'
import { openCache } from 'varve'
import { randomOf } from '../../test/safety/random.mjs'

const VALUES = 20_000
const BYTES = 4096
const PUBLICATIONS = 20
const CHANGED = 100

/** @typedef {import('@varve/remote').BlobStore} BlobStore */

/** Counts what a store is asked. */
class Counter {
  gets = 0
  puts = 0
  bytesIn = 0
  bytesOut = 0

  /** @param {BlobStore} store @returns {BlobStore} */
  over(store) {
    return {
      label: store.label,
      capabilities: store.capabilities,
      get: async (name, options) => {
        const found = await store.get(name, options)
        this.gets += 1
        this.bytesOut += found?.bytes.length ?? 0
        return found
      },
      head: (name, options) => {
        this.gets += 1
        return store.head(name, options)
      },
      put: (name, bytes, options) => {
        this.puts += 1
        this.bytesIn += bytes.length
        return store.put(name, bytes, options)
      },
    }
  }

  /** Prints the counts and begins again. @param {string} what */
  print(what) {
    const mb = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(1)} MB`
    console.log(
      `${what.padEnd(48)} ${this.gets} GET, ${this.puts} PUT, ${mb(this.bytesOut)} read, ${mb(this.bytesIn)} written`,
    )
    this.gets = this.puts = this.bytesIn = this.bytesOut = 0
  }
}

const top = await mkdtemp(join(tmpdir(), 'varve-requests-'))
const random = randomOf(1)
const { publicKey, signingKey } = generateKeys()
const counter = new Counter()
const store = counter.over(directory(join(top, 'store')))

/** Text that compresses like code, not at all like zeros. */
const text = () =>
  Array.from({ length: BYTES / 8 }, () =>
    random(2 ** 32)
      .toString(36)
      .padStart(8, ' ')
      .slice(-8),
  ).join('')

/**
 * A build that changes `count` values from number `first` on; without values, one that only opens the cache.
 * @param {string} machine
 * @param {number} first
 * @param {number} count
 */
async function build(machine, first = 0, count = 0) {
  const dir = join(top, machine, '.remote')
  const trustedKeys = [publicKey]
  const remote = openRemote(
    count > 0 ? { store, dir, trustedKeys, mode: 'read-write', signingKey } : { store, dir, trustedKeys },
  )
  const cache = await openCache({ name: 'tool', dir: join(top, machine, 'tool'), remote })
  const values = cache.namespace('transform', { codec: 'text' })
  for (let index = first; index < first + count; index++) values.put(`module-${index}`, text())
  await cache.close()
}

try {
  await build('ci', 0, VALUES)
  counter.print(`publication of ${VALUES} values`)
  await build('developer')
  counter.print('a fresh machine')
  await build('developer')
  counter.print('the same machine again, nothing changed')
  for (let index = 0; index < PUBLICATIONS; index++) await build('ci', index * CHANGED, CHANGED)
  counter.print(`${PUBLICATIONS} publications of ${CHANGED} changed values`)
  await build('developer')
  counter.print('the same machine after them')
  await build('runner')
  counter.print('a fresh machine after them')
} finally {
  await rm(top, { recursive: true, force: true })
}
