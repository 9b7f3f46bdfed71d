// @ts-check
// The clock jumps ten years back and forth between processes. JavaScript passes the time with every commit, so replacing
// Date.now there (`--import`) is enough. The addon asks the system for the time only when it stores folders, to compare it
// with the times of files. Results must not depend on the clock, and the cap must not evict what the running process wrote
// or read.
import { inLanes } from '../lanes.mjs'
import { randomOf } from '../random.mjs'
import { Child } from './child.mjs'
import { Crowd } from './crowd.mjs'

const SEEDS_SHORT = 50
const SEEDS_LONG = 2000
const PROCESSES = 3
/** Cache directories that are used at the same time. */
const LANES = 2
const YEARS = [-10, 0, 10]

/** @type {import('../suite.mjs').Part} */
export const clock = {
  name: 'clock',
  async run({ seed, isLong, replay }) {
    const total = new Crowd(0, seed, 'all')
    const seeds =
      replay === undefined
        ? Array.from({ length: isLong ? SEEDS_LONG : SEEDS_SHORT }, (_, index) => seed + index)
        : [Number(replay)]
    await inLanes(seeds, (one) => jump(total, one), LANES)
    total.remove()
    return { figures: total.figures, goals: { seeds: { min: SEEDS_SHORT } }, violations: total.violations }
  },
}

/** One folder, several processes one after another, each at another time. @param {Crowd} total @param {number} seed */
async function jump(total, seed) {
  const random = randomOf(seed)
  const crowd = new Crowd(0, seed, String(seed))
  for (let index = 0; index < PROCESSES; index++) {
    const years = YEARS[random(YEARS.length)] ?? 0
    const order = {
      dir: crowd.dir,
      engine: random(2) === 0 ? 'native' : 'wasm',
      process: index,
      seed: random(2 ** 31),
      years,
    }
    const child = new Child('clock-process.mjs', order)
    if (!(await child.ended())) crowd.violation('a process hung')
    else if (child.end?.code !== 0) crowd.violation(`a process ${child.ending}`)
    for (const message of child.heard) {
      if (message['violation'] !== undefined) crowd.violation(`${years} years: ${message['violation']}`)
      for (const name of ['commits', 'evicted', 'reads']) total.count(name, message[name] ?? 0)
    }
  }
  total.count('seeds')
  total.violations.push(...crowd.violations)
  crowd.remove()
}
