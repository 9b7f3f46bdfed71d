// @ts-check
// 8 processes that commit 50 times each, durably, native and WebAssembly mixed, and are killed on the way again and
// again, also while they begin; who was killed is started anew until its 50 are acknowledged. Compactors run beside
// and are killed, too. In the end every acknowledged commit is there.
import { sleep } from './child.mjs'
import { Crowd } from './crowd.mjs'
import { engineOf } from './group.mjs'
import { randomOf } from '../random.mjs'

const WRITERS = 8
const COMMITS = 50
const ROUNDS_SHORT = 3
const ROUNDS_LONG = 500
/** Deaths of a writer, and commits it has acknowledged at most when it is met. */
const KILLS_MIN = 2
const KILLS_MAX = 5
const ACKNOWLEDGED_MAX = 9
/** How often a replay repeats its case. */
const REPLAYS = 3

/** @type {import('../suite.mjs').Part} */
export const writers = {
  name: 'writers',
  async run(order) {
    /** @type {Record<string, number>} */
    const figures = { rounds: 0, acknowledged: 0, kills: 0 }
    /** @type {import('../suite.mjs').Violation[]} */
    const violations = []
    const rounds = order.isLong ? ROUNDS_LONG : ROUNDS_SHORT
    const seeds = order.replay === undefined
      ? Array.from({ length: rounds }, (_, index) => order.seed + index)
      : Array.from({ length: REPLAYS }, () => Number(order.replay))
    for (const seed of seeds) {
      const crowd = await round(seed)
      for (const [name, count] of Object.entries(crowd.figures)) figures[name] = (figures[name] ?? 0) + count
      violations.push(...crowd.violations)
      figures['rounds'] = (figures['rounds'] ?? 0) + 1
      order.say(`${figures['rounds']} rounds`)
    }
    const all = seeds.length * WRITERS
    const exactly = { min: all * COMMITS, max: all * COMMITS }
    const goals = { acknowledged: exactly, kills: { min: all * KILLS_MIN }, compactions: { min: seeds.length } }
    return { figures, goals, violations }
  },
}

/** One folder. @param {number} seed */
async function round(seed) {
  const crowd = new Crowd(WRITERS, seed, String(seed))
  const state = { isEnding: false }
  const compacting = compactors(crowd, randomOf(~seed), state)
  await Promise.all(Array.from({ length: WRITERS }, (_, slot) => writer(crowd, slot, randomOf(seed * WRITERS + slot))))
  state.isEnding = true
  await compacting
  await crowd.end()
  const acknowledged = [...crowd.acknowledged().values()]
  crowd.count('acknowledged', acknowledged.reduce((sum, numbers) => sum + new Set(numbers).size, 0))
  await crowd.check()
  crowd.remove()
  return crowd
}

/** One writer, life after life. @param {Crowd} crowd @param {number} slot @param {(below: number) => number} random */
async function writer(crowd, slot, random) {
  let [first, acknowledged, done] = [1, 0, 0]
  let kills = KILLS_MIN + random(KILLS_MAX - KILLS_MIN + 1)
  while (done < COMMITS && crowd.violations.length === 0) {
    const more = { first, acknowledged, commits: COMMITS - done, durability: 'durable', pauseMs: 1 }
    const child = crowd.start('write', engineOf(slot), slot, more)
    if (kills > 0) {
      await met(child, random)
      await child.kill()
      kills--
      crowd.count('kills')
    } else if (!(await child.ended(120_000))) {
      crowd.violation('a writer hung')
    }
    // One that ended before it was met has done all it had to.
    if (child.end?.code !== 0 && child.end?.signal !== 'SIGKILL') {
      crowd.violation(`a writer ${child.ending}`)
    }
    const begun = child.heard.flatMap(({ number }) => (number === undefined ? [] : [number]))
    const numbers = child.heard.flatMap((message) => (message['done'] === undefined ? [] : [message['done']]))
    first = (begun.at(-1) ?? first - 1) + 1
    acknowledged = numbers.at(-1) ?? acknowledged
    done += numbers.length
  }
}

/** Waits for a moment to kill. @param {import('./child.mjs').Child} child @param {(below: number) => number} random */
async function met(child, random) {
  if (random(8) === 0) return sleep(random(200)) // it may just have begun
  const due = random(ACKNOWLEDGED_MAX + 1)
  let acknowledged = 0
  for (let from = 0; acknowledged < due && child.end === undefined;) {
    await child.hear((message) => message['done'] !== undefined, from)
    const news = child.heard.slice(from)
    if (news.length === 0) return
    acknowledged += news.filter((message) => message['done'] !== undefined).length
    from += news.length
  }
  // In the middle of the next one, or of closing.
  if (random(2) === 0) await child.hear((message) => message['at'] !== undefined || message['finished'] === true, child.heard.length, 2000)
  await sleep(random(4))
}

/** Compactors, one after the other. @param {Crowd} crowd @param {(below: number) => number} random @param {{ isEnding: boolean }} state */
async function compactors(crowd, random, state) {
  for (let index = 0; !state.isEnding; index++) {
    const child = crowd.start('compact', engineOf(index), 0, { pauseMs: 5 })
    const end = Date.now() + 300 + random(700)
    while (Date.now() < end && !state.isEnding && child.end === undefined) await sleep(20)
    if (child.end !== undefined) return crowd.violation(`a compactor ${child.ending}`)
    // The last one, and some others, may end by themselves and say how often they compacted.
    if (state.isEnding || random(3) === 0) {
      child.tell('end')
      if (!(await child.ended(60_000))) crowd.violation('a compactor hung')
    } else {
      await child.kill()
      crowd.count('compactorsKilled')
    }
  }
}
