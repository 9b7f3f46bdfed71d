// @ts-check
// 8 processes make 50 durable commits each, native and WebAssembly mixed. They are killed again and again, also while they
// start, and started again until their 50 commits are acknowledged. Compactors run at the same time and are killed, too.
// At the end every acknowledged commit is there.
import { missingStrace } from '../strace.mjs'
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

/** @typedef {import('./group.mjs').Engine} Engine */

/**
 * How a part is run.
 * @typedef {object} Setting
 * @property {readonly ((slot: number) => Engine)[]} engines of the writers, by round
 * @property {number} rounds of the short form
 * @property {readonly string[]} [tracer] a command that runs the processes
 */

/** @type {import('../suite.mjs').Part} */
export const writers = { name: 'writers', run: (order) => run(order, { engines: [engineOf], rounds: ROUNDS_SHORT }) }

/** Locks local to each machine: strace answers `flock` with success, and the system is not asked. */
const LOCAL_LOCKS = [
  'strace',
  '-D',
  '-f',
  '-qq',
  '--seccomp-bpf',
  '-e',
  'trace=flock',
  '-e',
  'inject=flock:retval=0',
  '-o',
  '/dev/null',
]

/**
 * The same with locks that lie, as on a network file system mounted with `nolock`: every process gets every lock, so logs
 * of writers that live are taken. Native writers, then native ones beside WebAssembly, which has no locks.
 * @type {import('../suite.mjs').Part}
 */
export const locks = {
  name: 'locks',
  run: async (order) => {
    const skipped = missingStrace(order.say)
    if (skipped !== undefined) return { figures: {}, violations: [], skipped }
    return run(order, { engines: [() => 'native', engineOf], rounds: 2, tracer: LOCAL_LOCKS })
  },
}

/** @param {import('../suite.mjs').Order} order @param {Setting} setting @returns {Promise<import('../suite.mjs').Outcome>} */
async function run(order, setting) {
  /** @type {Record<string, number>} */
  const figures = { rounds: 0, acknowledged: 0, kills: 0 }
  /** @type {import('../suite.mjs').Violation[]} */
  const violations = []
  const rounds = order.isLong ? ROUNDS_LONG : setting.rounds
  const cases =
    order.replay === undefined
      ? Array.from({ length: rounds }, (_, index) => ({ seed: order.seed + index, index }))
      : Array.from({ length: REPLAYS }, () => caseOf(order.replay ?? ''))
  for (const { seed, index } of cases) {
    const crowd = await round(seed, index, setting)
    for (const [name, count] of Object.entries(crowd.figures)) figures[name] = (figures[name] ?? 0) + count
    violations.push(...crowd.violations)
    figures['rounds'] = (figures['rounds'] ?? 0) + 1
    order.say(`${figures['rounds']} rounds`)
  }
  const all = cases.length * WRITERS
  const exactly = { min: all * COMMITS, max: all * COMMITS }
  const goals = { acknowledged: exactly, kills: { min: all * KILLS_MIN }, compactions: { min: cases.length } }
  return { figures, goals, violations }
}

/** @param {string} replay `<seed> <index of the round>` */
function caseOf(replay) {
  const [seed = 0, index = 0] = replay.split(' ').map(Number)
  return { seed, index }
}

/** One folder. @param {number} seed @param {number} index @param {Setting} setting */
async function round(seed, index, { engines, tracer }) {
  const crowd = new Crowd(WRITERS, seed, `${seed} ${index}`, tracer)
  const engine = engines[index % engines.length] ?? engineOf
  const state = { isEnding: false }
  const compacting = compactors(crowd, engine, randomOf(~seed), state)
  const random = (/** @type {number} */ slot) => randomOf(seed * WRITERS + slot)
  await Promise.all(Array.from({ length: WRITERS }, (_, slot) => writer(crowd, slot, engine(slot), random(slot))))
  state.isEnding = true
  await compacting
  await crowd.end()
  const acknowledged = [...crowd.acknowledged().values()]
  crowd.count(
    'acknowledged',
    acknowledged.reduce((sum, numbers) => sum + new Set(numbers).size, 0),
  )
  await crowd.check()
  crowd.remove()
  return crowd
}

/** One writer, life after life. @param {Crowd} crowd @param {number} slot @param {Engine} engine @param {(below: number) => number} random */
async function writer(crowd, slot, engine, random) {
  let [first, acknowledged, done] = [1, 0, 0]
  let kills = KILLS_MIN + random(KILLS_MAX - KILLS_MIN + 1)
  while (done < COMMITS && crowd.violations.length === 0) {
    const more = { first, acknowledged, commits: COMMITS - done, durability: 'durable', pauseMs: 1 }
    const child = crowd.start('write', engine, slot, more)
    if (kills > 0) {
      await met(child, random)
      await child.kill()
      kills--
      crowd.count('kills')
    } else if (!(await child.ended(120_000))) {
      crowd.violation('a writer hung')
    }
    // A process that ended before its kill had made all its commits.
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
  if (random(2) === 0)
    await child.hear((message) => message['at'] !== undefined || message['finished'] === true, child.heard.length, 2000)
  await sleep(random(4))
}

/**
 * Compactors, one after the other.
 * @param {Crowd} crowd @param {Setting['engines'][number]} engine @param {(below: number) => number} random @param {{ isEnding: boolean }} state
 */
async function compactors(crowd, engine, random, state) {
  for (let index = 0; !state.isEnding; index++) {
    const child = crowd.start('compact', engine(index), 0, { pauseMs: 5 })
    const end = Date.now() + 300 + random(700)
    while (Date.now() < end && !state.isEnding && child.end === undefined) await sleep(20)
    if (child.end !== undefined) return crowd.violation(`a compactor ${child.ending}`)
    // The last compactor and some others are not killed, so they can report how often they compacted.
    if (state.isEnding || random(3) === 0) {
      child.tell('end')
      if (!(await child.ended(60_000))) crowd.violation('a compactor hung')
    } else {
      await child.kill()
      crowd.count('compactorsKilled')
    }
  }
}
