// @ts-check
// 6 processes, each with 4 loops of `compact()` at the same time and one of `commit()`, native and WebAssembly mixed, killed
// at random and started again. No process waits for another one, so no call may take longer than HANG_MS, however many of
// the compactions find that another one was faster.
import { HANG_MS, sleep } from './child.mjs'
import { Crowd } from './crowd.mjs'
import { engineOf } from './group.mjs'
import { randomOf } from '../random.mjs'

const PROCESSES = 6
const SECONDS_SHORT = 10
const SECONDS_LONG = 1800

/** @type {import('../suite.mjs').Part} */
export const loops = {
  name: 'loops',
  async run({ seed, isLong, say }) {
    const random = randomOf(seed)
    const crowd = new Crowd(PROCESSES, seed, 'all')
    const state = { isEnding: false }
    const lives = Array.from({ length: PROCESSES }, (_, slot) => live(crowd, slot, random, state))
    await sleep((isLong ? SECONDS_LONG : SECONDS_SHORT) * 1000)
    state.isEnding = true
    await Promise.all(lives)
    say('all have ended')
    await crowd.end()
    const messages = crowd.children.flatMap(({ heard }) => heard)
    for (const call of ['compact', 'commit']) {
      const times = messages.flatMap(({ took, ms }) => (took === call ? [ms] : []))
      crowd.count(`${call}s`, times.length)
      crowd.figures[`${call}LongestMs`] = times.reduce((longest, ms) => Math.max(longest, ms), 0)
    }
    await crowd.check()
    crowd.remove()
    const goals = {
      compacts: { min: 20 },
      commits: { min: 100 },
      compactLongestMs: { max: HANG_MS },
      commitLongestMs: { max: HANG_MS },
    }
    return { figures: crowd.figures, goals, violations: crowd.violations }
  },
}

/**
 * One process after another.
 * @param {Crowd} crowd @param {number} slot @param {(below: number) => number} random @param {{ isEnding: boolean }} state
 */
async function live(crowd, slot, random, state) {
  let [first, acknowledged] = [1, 0]
  while (!state.isEnding) {
    const child = crowd.start('loops', engineOf(slot), slot, { first, acknowledged, pauseMs: 1 })
    const end = Date.now() + 500 + random(8000)
    let heard = 0
    let newsMs = Date.now()
    while (Date.now() < end && !state.isEnding && child.end === undefined) {
      await sleep(50)
      if (child.heard.length > heard) [heard, newsMs] = [child.heard.length, Date.now()]
    }
    if (Date.now() - newsMs > HANG_MS) crowd.violation(`a process has been silent for ${Date.now() - newsMs} ms`)
    if (child.end !== undefined) return crowd.violation(`a process ${child.ending}`)
    if (state.isEnding) return
    await child.kill()
    crowd.count('kills')
    first = (child.heard.findLast(({ number }) => number !== undefined)?.['number'] ?? first - 1) + 1
    acknowledged = child.heard.findLast(({ done }) => done !== undefined)?.['done'] ?? acknowledged
  }
}
