// @ts-check
// A cache of 1 GiB whose writer was killed opens quickly, because only logs are replayed. In each round another process opens
// it, on both engines in turn, and looks for the last acknowledged commit of the killed writer. The part reports times and
// has no limit for them. Proof that it can fail: 13 of 20 readers that look for one more commit find nothing; for the others
// the writer was killed between the commit and its report.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCache } from 'varve'
import { randomOf } from '../random.mjs'
import { Child } from './child.mjs'
import { engineOf } from './group.mjs'
import { timesOf } from './times.mjs'

const ROUNDS_SHORT = 100
const ROUNDS_LONG = 1000
const CACHE_BYTES = 2 ** 30
const VALUE_BYTES = 4096
const COMMIT_BYTES = 2 ** 26
/** A writer is killed within so many commits. */
const COMMITS_MAX = 200

/** @type {import('../suite.mjs').Part} */
export const reopen = {
  name: 'reopen',
  async run({ seed, isLong, say }) {
    const root = mkdtempSync(join(tmpdir(), 'varve-reopen-'))
    try {
      const dir = join(root, 'cache')
      const cacheBytes = await fill(dir, seed)
      say('the cache is there')
      return await killAll(dir, seed, isLong ? ROUNDS_LONG : ROUNDS_SHORT, cacheBytes)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  },
}

/** Writes the cache; its bytes. @param {string} dir @param {number} seed */
async function fill(dir, seed) {
  const random = randomOf(seed)
  const cache = await openCache({ name: 'soak', dir, engine: 'native', maxBytes: '4GiB' })
  const space = cache.namespace('n')
  for (let number = 0; number * VALUE_BYTES < CACHE_BYTES; number++) {
    space.put(
      `value ${number}`,
      Buffer.from(Uint32Array.from({ length: VALUE_BYTES / 4 }, () => random(2 ** 32)).buffer),
    )
    if (((number + 1) * VALUE_BYTES) % COMMIT_BYTES === 0) await cache.commit()
  }
  await cache.commit()
  await cache.compact()
  const { bytes } = await cache.stats()
  await cache.close()
  return bytes
}

/** @param {string} dir @param {number} seed @param {number} rounds @param {number} cacheBytes */
async function killAll(dir, seed, rounds, cacheBytes) {
  const random = randomOf(seed)
  const violations = []
  /** @type {Record<string, number[]>} */
  const ms = { openNative: [], openWasm: [], firstGetNative: [], firstGetWasm: [] }
  let commits = 0
  for (let round = 0; round < rounds; round++) {
    const writer = new Child('reopen-child.mjs', { dir, engine: engineOf(random(2)), round, isWriter: true })
    const enough = 1 + random(COMMITS_MAX)
    await writer.hear(({ done }) => done >= enough)
    await writer.kill()
    const last = writer.heard.at(-1)?.['done'] ?? -1
    commits += last + 1
    const engine = engineOf(round)
    const reader = new Child('reopen-child.mjs', { dir, engine, round, last })
    const seen = await reader.hear(({ found }) => found !== undefined)
    if (!(await reader.ended()) || seen?.['found'] !== true) {
      violations.push({
        what: `round ${round}, ${engine}: commit ${last} is not there; the reader ${reader.ending}`,
        replay: 'all',
      })
    }
    const name = engine === 'native' ? 'Native' : 'Wasm'
    ms[`open${name}`]?.push(seen?.['openMs'] ?? Infinity)
    ms[`firstGet${name}`]?.push(seen?.['getMs'] ?? Infinity)
  }
  const times = Object.entries(ms).map(([name, all]) => timesOf(name, all))
  const figures = Object.assign({ rounds, commits, cacheBytes }, ...times)
  return { figures, goals: { cacheBytes: { min: CACHE_BYTES }, rounds: { min: ROUNDS_SHORT } }, violations }
}
