// @ts-check
// The trials. All trials of one size run on the same site, in this order. Each one creates the caches that it needs.
import { CACHES, SUBJECTS } from './site.mjs'

/** @typedef {import('./site.mjs').Site} Site */
/** @typedef {import('./site.mjs').Sample} Sample */
/** @typedef {Partial<Record<import('./site.mjs').SubjectName, Sample>>} Round */
/** @typedef {'cold' | 'warm' | 'one_change' | 'growth'} Kind */

/**
 * @typedef {object} Trial
 * @property {string} id
 * @property {Kind} kind
 * @property {number} modules
 * @property {number} rounds
 * @property {number} quickRounds rounds of the quick form; 0 skips the trial
 */

const GROWTH_BUILDS = 100
/** How often the output is compared with a build without a cache. The caches are always compared with each other. */
const GROWTH_CHECK_EVERY = 25

/** @type {readonly Trial[]} */
export const TRIALS = [
  { id: 'webpack/cold/modules_300', kind: 'cold', modules: 300, rounds: 5, quickRounds: 2 },
  { id: 'webpack/warm/modules_300', kind: 'warm', modules: 300, rounds: 15, quickRounds: 5 },
  { id: 'webpack/one_change/modules_300', kind: 'one_change', modules: 300, rounds: 9, quickRounds: 3 },
  { id: 'webpack/growth/builds_100/modules_300', kind: 'growth', modules: 300, rounds: 1, quickRounds: 0 },
  { id: 'webpack/cold/modules_3000', kind: 'cold', modules: 3000, rounds: 2, quickRounds: 0 },
  { id: 'webpack/warm/modules_3000', kind: 'warm', modules: 3000, rounds: 11, quickRounds: 0 },
  { id: 'webpack/one_change/modules_3000', kind: 'one_change', modules: 3000, rounds: 7, quickRounds: 0 },
]

/** @type {Record<Kind, (site: Site, rounds: number, log: (note: string) => void) => Promise<Round[]>>} */
export const RUN = {
  /** Fresh caches. */
  async cold(site, rounds, log) {
    return times(rounds, log, async () => {
      await site.removeCaches()
      return site.round(SUBJECTS)
    })
  },

  /** Unchanged sources. The first such build may still rewrite a cache and is not counted. */
  async warm(site, rounds, log) {
    await settle(site)
    return times(rounds, log, (round) => site.round(subjectsOf(round, rounds)))
  },

  /** Each round changes another module. */
  async one_change(site, rounds, log) {
    await settle(site)
    return times(rounds, log, async (round) => {
      await site.change(round + 1)
      return site.round(subjectsOf(round, rounds))
    })
  },

  /** The bytes of caches after many one-change builds, relative to fresh caches of the final sources. */
  async growth(site, rounds, log) {
    return times(rounds, log, async () => {
      await site.removeCaches('grown')
      await site.round(CACHES, 'grown')
      /** @type {Round} */
      let last = {}
      for (let build = 1; build <= GROWTH_BUILDS; build++) {
        await site.change(1000 + build)
        last = await site.round(build % GROWTH_CHECK_EVERY === 0 ? SUBJECTS : CACHES, 'grown')
        if (build % GROWTH_CHECK_EVERY === 0)
          log(`build ${build}: ${CACHES.map((name) => `${name} ${last[name]?.bytes}`).join(', ')}`)
      }
      await site.removeCaches('fresh')
      const fresh = await site.round(CACHES, 'fresh')
      for (const name of CACHES) {
        const sample = last[name]
        if (sample !== undefined) sample.growth = sample.bytes / fresh[name].bytes
      }
      return last
    })
  },
}

/**
 * Whether this round also builds without a cache. It takes long and `cold` measures it; here it only provides the expected
 * output.
 * @param {number} round
 * @param {number} rounds
 */
const subjectsOf = (round, rounds) => (round === rounds - 1 ? SUBJECTS : CACHES)

/**
 * Builds until the caches have every module, and once more.
 * @param {Site} site
 */
async function settle(site) {
  const first = await site.round(CACHES)
  if (Object.values(first).some(({ misses }) => misses > 0)) await site.round(CACHES)
}

/**
 * @template T
 * @param {number} count
 * @param {(note: string) => void} log
 * @param {(round: number) => Promise<T>} work
 */
async function times(count, log, work) {
  const done = []
  for (let round = 0; round < count; round++) {
    done.push(await work(round))
    log(`round ${round + 1} of ${count}`)
  }
  return done
}
