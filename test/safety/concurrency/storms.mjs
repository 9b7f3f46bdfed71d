// @ts-check
// Worker threads that are ended while they commit, read and compact, and processes that exit while calls are running. The
// exit code is the one that was asked for, there is no signal and no hang, and no acknowledged commit is lost.
import { openCache } from 'varve'
import { inLanes } from '../lanes.mjs'
import { randomOf } from '../random.mjs'
import { Child } from './child.mjs'
import { Crowd } from './crowd.mjs'
import { engineOf } from './group.mjs'

const TERMINATIONS_SHORT = 500
const TERMINATIONS_LONG = 20_000
const EXITS_SHORT = 200
const EXITS_LONG = 5000
/** How many threads one process ends; a crash then points to a few of them. */
const PER_PROCESS = 25
/** Processes at the same time. */
const LANES = 2

/** @type {import('../suite.mjs').Part} */
export const storms = {
  name: 'storms',
  async run({ seed, isLong, replay, say }) {
    const random = randomOf(seed)
    const crowd = new Crowd(0, seed, 'all')
    const terminations = (isLong ? TERMINATIONS_LONG : TERMINATIONS_SHORT) / PER_PROCESS
    const exits = isLong ? EXITS_LONG : EXITS_SHORT
    const cases = [
      ...Array.from({ length: terminations }, (_, index) => ({
        kind: 'terminate',
        engine: engineOf(index),
        count: PER_PROCESS,
      })),
      ...Array.from({ length: exits }, (_, index) => ({ kind: 'exit', engine: engineOf(index), count: index % 4 })),
    ].map((one) => ({ ...one, seed: random(2 ** 31), code: 1 + random(100) }))
    const chosen =
      replay === undefined || replay === 'all' ? cases : Array.from({ length: 10 }, () => JSON.parse(replay))
    const acknowledged = (await inLanes(chosen, (one) => storm(crowd, one), LANES)).flat()
    say('looking for what was acknowledged')
    await look(crowd, acknowledged)
    crowd.remove()
    const goals = { terminations: { min: TERMINATIONS_SHORT }, exits: { min: EXITS_SHORT }, acknowledged: { min: 500 } }
    return { figures: { ...crowd.figures, acknowledged: acknowledged.length }, goals, violations: crowd.violations }
  },
}

/** @typedef {{ kind: string, engine: import('./group.mjs').Engine, count: number, seed: number, code: number }} Storm */

/** Returns the keys that were acknowledged. @param {Crowd} crowd @param {Storm} one @returns {Promise<string[]>} */
async function storm(crowd, one) {
  const replay = JSON.stringify(one)
  const child = new Child('storm.mjs', { dir: crowd.dir, ...one })
  const isInTime = await child.ended(one.kind === 'exit' ? 30_000 : 120_000)
  const violation = (/** @type {string} */ what) =>
    void crowd.violations.push({ what: `${one.kind} ${one.engine}: ${what}`, replay })
  if (!isInTime) violation('it hung')
  else if (child.end?.signal !== null) violation(`it ended with ${child.end?.signal}: ${child.errors.slice(0, 300)}`)
  else if (child.end?.code !== one.code)
    violation(`exit code ${child.end?.code}, not ${one.code}: ${child.errors.slice(0, 300)}`)
  const slow = Math.max(0, ...child.heard.map(({ ms }) => ms ?? 0))
  crowd.figures['terminateMaxMs'] = Math.max(crowd.figures['terminateMaxMs'] ?? 0, slow)
  if (one.kind === 'exit') crowd.count('exits')
  crowd.count('terminations', child.heard.filter(({ terminated }) => terminated).length)
  for (const { violation: what } of child.heard) if (what !== undefined) violation(what)
  return child.heard.flatMap(({ done }) => (done === undefined ? [] : [done]))
}

/** @param {Crowd} crowd @param {readonly string[]} keys */
async function look(crowd, keys) {
  for (const engine of /** @type {const} */ (['native', 'wasm'])) {
    const cache = await openCache({ name: 'soak', dir: crowd.dir, engine })
    const values = cache.namespace('n', { codec: 'text' }).getMany(keys)
    const missing = keys.filter((key, index) => values[index]?.startsWith(`${key} `) !== true)
    if (missing.length > 0)
      crowd.violation(`${engine}: acknowledged and lost: ${missing.slice(0, 5).join(', ')} (${missing.length})`)
    const { damage } = await cache.verify()
    if (damage.length > 0) crowd.violation(`verify found ${JSON.stringify(damage)}`)
    await cache.close()
  }
}
