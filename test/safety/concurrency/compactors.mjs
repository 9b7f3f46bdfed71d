// @ts-check
// 16 processes of 4 threads each read, and half of them are killed, while writers commit and other processes compact all
// the time. No read may fail because a compaction removed a file, and one compaction frees what the killed processes pinned.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { sleep } from './child.mjs'
import { Crowd, readsOf } from './crowd.mjs'
import { engineOf } from './group.mjs'
import { randomOf } from '../random.mjs'

const PROCESSES = 16
const THREADS = 4
const WRITERS = 2
const READS = 1_000_000
const SECONDS_SHORT = 10
const SECONDS_LONG = 3600
/** Beyond live data the folder has a manifest, the end of a log and folders. */
const FIXED_BYTES = 64 << 10

/** @type {import('../suite.mjs').Part} */
export const compactors = {
  name: 'compactors',
  async run({ seed, isLong, say }) {
    const random = randomOf(seed)
    const crowd = new Crowd(WRITERS, seed, 'all')
    for (let slot = 0; slot < WRITERS; slot++) crowd.start('write', engineOf(slot), slot)
    const readers = Array.from({ length: PROCESSES }, (_, index) =>
      crowd.start('threads', engineOf(index), 0, { threads: THREADS }),
    )
    crowd.start('compact', 'native')
    crowd.start('compact', 'wasm')
    await crowd.ready()
    say('all are there')
    const end = Date.now() + (isLong ? SECONDS_LONG : SECONDS_SHORT) * 1000
    const doomed = readers.slice(0, PROCESSES / 2)
    while (Date.now() < end) {
      await sleep(500 + random(500))
      await doomed.shift()?.kill()
    }
    for (const reader of doomed) await reader.kill()
    crowd.count('killed', PROCESSES / 2)
    await crowd.end()
    // The killed processes could not report how much they read.
    crowd.count('reads', readsOf(readers.slice(0, PROCESSES / 2)))
    await crowd.check()
    await measure(crowd)
    crowd.remove()
    const goals = { reads: { min: READS }, compactions: { min: 20 }, permilleOfLive: { max: 1100 } }
    return { figures: crowd.figures, goals, violations: crowd.violations }
  },
}

/** One full compaction, and then no more bytes than a folder that never had anything else. @param {Crowd} crowd */
async function measure(crowd) {
  const cache = await openCache({ name: 'soak', dir: crowd.dir, engine: 'native' })
  await cache.compact({ full: true })
  const bytes = bytesIn(crowd.dir)
  const fresh = await copyOf(cache, join(crowd.root, 'fresh'))
  await cache.close()
  crowd.figures['bytes'] = bytes
  crowd.figures['liveBytes'] = fresh
  crowd.figures['permilleOfLive'] = Math.round((Math.max(0, bytes - FIXED_BYTES) * 1000) / fresh)
}

/** Bytes of the same entries in a folder of their own. @param {import('varve').Cache} cache @param {string} dir */
async function copyOf(cache, dir) {
  const target = await openCache({ name: 'soak', dir, engine: 'native' })
  const [from, to] = [cache.namespace('n', { codec: 'text' }), target.namespace('n', { codec: 'text' })]
  for (const [key, value] of from.entries()) to.put(key, value)
  await target.commit()
  await target.compact({ full: true })
  await target.close()
  return bytesIn(dir)
}

/** Bytes of all files in a folder. @param {string} dir */
function bytesIn(dir) {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}
