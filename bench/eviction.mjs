// @ts-check
// `node bench/eviction.mjs`: the benefit of eviction per entry. Sixty builds, one a day and each in its own process, read and
// write 2,000 modules of 4 KiB under a cap of 1.5 times one build. Each build changes 2 % of the modules. Every fifth build is of
// another branch, which differs in a tenth of them. Prints the share of lookups that hit in the last fifty builds, for the engine
// and for other eviction rules, which are simulated here:
//
//   no cap       all entries stay
//   by entry     evicts the least recently used entries (the engine's rule, with exact times)
//   by table     evicts everything that one build wrote at once, the oldest build first
//   all at once  clears the cache when it is full
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { randomOf } from '../test/safety/random.mjs'
import { runBench, sampleOf } from './turns.mjs'

const BUILDS = 60
const COUNTED_FROM = 10
const MODULES = 2000
const VALUE_BYTES = 4096
const CAP_BYTES = MODULES * VALUE_BYTES * 1.5
/** A compaction leaves an eighth of the cap free. */
const LEFT_BYTES = CAP_BYTES * (7 / 8)
const DAY_MS = 24 * 60 * 60 * 1000

/** The keys that each build looks up. @returns {string[][]} */
function workload() {
  const random = randomOf(1)
  const versions = Array.from({ length: MODULES }, () => 0)
  return Array.from({ length: BUILDS }, (_, build) => {
    for (let edit = 0; edit < MODULES * 0.02; edit++) versions[random(MODULES)] = build
    const isBranch = build % 5 === 4
    return versions.map((version, index) => `module-${index}@${isBranch && index % 10 === 0 ? 'branch' : version}`)
  })
}

/**
 * The hits of each build under an eviction rule.
 * @param {readonly (readonly string[])[]} builds
 * @param {(cache: Map<string, { written: number, used: number }>) => void} evict
 */
function simulated(builds, evict) {
  /** @type {Map<string, { written: number, used: number }>} */
  const cache = new Map()
  return builds.map((keys, build) => {
    let hits = 0
    for (const key of keys) {
      const found = cache.get(key)
      if (found === undefined) cache.set(key, { written: build, used: build })
      else {
        found.used = build
        hits += 1
      }
    }
    if (cache.size * VALUE_BYTES > CAP_BYTES) evict(cache)
    return hits
  })
}

/** @param {'used' | 'written'} field @param {boolean} isWhole @returns {(cache: Map<string, { written: number, used: number }>) => void} */
const oldestBy = (field, isWhole) => (cache) => {
  const sorted = [...cache].toSorted(([, one], [, other]) => one[field] - other[field])
  let last = -1
  for (const [key, entry] of sorted) {
    if (cache.size * VALUE_BYTES <= LEFT_BYTES && !(isWhole && entry[field] === last)) return
    last = entry[field]
    cache.delete(key)
  }
}

/** Runs one build with the engine. Returns its hits. @param {{ dir: string, build: number }} order */
async function engineBuild({ dir, build }) {
  const now = Date.now.bind(Date)
  Date.now = () => now() + build * DAY_MS
  const { openCache } = await import('varve')
  const cache = await openCache({ name: 'bench', dir, maxBytes: CAP_BYTES })
  const namespace = cache.namespace('modules')
  let hits = 0
  for (const key of workload()[build] ?? []) {
    if (namespace.get(key) === undefined) namespace.put(key, valueOf(key))
    else hits += 1
  }
  await cache.commit()
  await cache.compact()
  await cache.close()
  return hits
}

/** Bytes that do not compress. @param {string} key */
function valueOf(key) {
  const random = randomOf([...key].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0), 7))
  return Buffer.from(Array.from({ length: VALUE_BYTES }, () => random(256)))
}

/** @param {readonly number[]} hits */
function share(hits) {
  const counted = hits.slice(COUNTED_FROM)
  const total = counted.reduce((sum, one) => sum + one, 0)
  return `${((100 * total) / (counted.length * MODULES)).toFixed(1)} %`
}

await runBench(engineBuild, () => {
  const builds = workload()
  const dir = mkdtempSync(join(homedir(), '.varve-bench-eviction-'))
  const engine = builds.map((_, build) => /** @type {number} */ (sampleOf({ dir, build })))
  rmSync(dir, { recursive: true })
  console.table({
    'the engine': share(engine),
    'no cap': share(simulated(builds, () => undefined)),
    'by entry': share(simulated(builds, oldestBy('used', false))),
    'by table': share(simulated(builds, oldestBy('written', true))),
    'all at once': share(simulated(builds, (cache) => cache.clear())),
  })
})
