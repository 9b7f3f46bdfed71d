// @ts-check
// kill -9 of writers, one after another, while others write and read. Each round:
// 1. waits until a writer reports what it starts, and kills it at a random moment after that;
// 2. opens the cache as the next user would;
// 3. starts another writer in its place.
// No acknowledged commit may be missing, and readers must not notice.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openCache } from 'varve'
import { Child, sleep } from './child.mjs'
import { engineOf, missingOf, Watcher } from './group.mjs'
import { timesOf } from './times.mjs'
import { randomOf } from '../random.mjs'

const SLOTS = 4
const READERS = 2
/** Rounds over one folder; each folder has a seed of its own, which is what a replay names. */
const ROUNDS = 50
const ROUNDS_SHORT = 300
const ROUNDS_LONG = 20_000
/** What kills must hit: at random, commits of few bytes would be met too seldom between two calls of the system. */
const AIMS = ['small', 'small', 'tables', 'files', 'compact', 'close']
/** How often a replay repeats its case. */
const REPLAYS = 5

/** @type {import('../suite.mjs').Part} */
export const kills = {
  name: 'kills',
  async run(order) {
    const tally = new Tally()
    const seeds =
      order.replay === undefined
        ? Array.from({ length: (order.isLong ? ROUNDS_LONG : ROUNDS_SHORT) / ROUNDS }, (_, index) => order.seed + index)
        : Array.from({ length: REPLAYS }, () => Number(order.replay))
    for (const seed of seeds) {
      await new Folder(seed, tally).run()
      order.say(`${tally.figures.rounds} rounds`)
    }
    const { figures, violations, reopenMs } = tally
    return {
      figures: { ...figures, ...timesOf('reopen', reopenMs) },
      goals: { rounds: { min: seeds.length * ROUNDS } },
      violations,
    }
  },
}

class Tally {
  /** @type {Record<string, number>} */
  figures = { rounds: 0, acknowledged: 0, reads: 0, busy: 0 }
  /** @type {import('../suite.mjs').Violation[]} */
  violations = []
  /** @type {number[]} */
  reopenMs = []

  count(/** @type {string} */ name, by = 1) {
    this.figures[name] = (this.figures[name] ?? 0) + by
  }
}

/** One folder and the processes at it. */
class Folder {
  #seed
  #random
  #tally
  #root = mkdtempSync(join(tmpdir(), 'varve-soak-'))
  #dir = join(this.#root, 'cache')
  /** @type {Child[]} by slot */
  #writers = []
  /** @type {Child[]} */
  #readers = []
  /** Numbers acknowledged, by slot. @type {Map<number, number[]>} */
  #acknowledged = new Map(Array.from({ length: SLOTS }, (_, slot) => [slot, []]))
  /** Messages of the present writer of a slot that were taken in. @type {number[]} */
  #taken = Array.from({ length: SLOTS }, () => 0)
  #begun = Array.from({ length: SLOTS }, () => 0)
  #watcher = new Watcher(SLOTS)

  /** @param {number} seed @param {Tally} tally */
  constructor(seed, tally) {
    this.#seed = seed
    this.#random = randomOf(seed)
    this.#tally = tally
  }

  async run() {
    for (let slot = 0; slot < SLOTS; slot++) this.#start(slot)
    for (let index = 0; index < READERS; index++) this.#readers.push(this.#participant('read', engineOf(index), 0))
    for (let round = 0; round < ROUNDS && this.#tally.violations.length === 0; round++) await this.#round(round)
    for (const child of [...this.#readers, ...this.#writers]) child.tell('end')
    for (const child of [...this.#readers, ...this.#writers]) await this.#ended(child)
    for (let slot = 0; slot < SLOTS; slot++) this.#takeIn(slot)
    await this.#check(true)
    this.#tally.count(
      'acknowledged',
      [...this.#acknowledged.values()].reduce((sum, { length }) => sum + length, 0),
    )
    rmSync(this.#root, { recursive: true, force: true })
  }

  async #round(/** @type {number} */ round) {
    const slot = this.#random(SLOTS)
    const victim = /** @type {Child} */ (this.#writers[slot])
    const aim = AIMS[this.#random(AIMS.length)]
    const from = victim.heard.length
    await victim.hear(({ at }) => at === aim, from, 2000)
    await sleep(this.#random(4) === 0 ? this.#random(20) : this.#random(3))
    if (victim.end !== undefined) this.#violation(`a writer ended by itself: ${victim.errors}`)
    await victim.kill()
    this.#takeIn(slot)
    const last = victim.heard.findLast(({ at }) => at !== undefined)
    this.#tally.count(`killedAt${last === undefined ? 'Start' : last.at[0].toUpperCase() + last.at.slice(1)}`)
    await this.#check(round % 10 === 9)
    this.#start(slot)
    this.#tally.count('rounds')
  }

  /** Opens the folder as the next user, and looks for what was acknowledged before. */
  async #check(isWhole = false) {
    for (let slot = 0; slot < SLOTS; slot++) this.#takeIn(slot)
    const known = isWhole
      ? new Map([...this.#acknowledged].map(([slot, numbers]) => [slot, [...numbers]]))
      : new Map([...this.#acknowledged].map(([slot, numbers]) => [slot, numbers.slice(-20)]))
    const startMs = performance.now()
    const cache = await openCache({ name: 'soak', dir: this.#dir, engine: engineOf(this.#random(2)) })
    this.#tally.reopenMs.push(performance.now() - startMs)
    const space = cache.namespace('n', { codec: 'text' })
    const missing = missingOf(space, known)
    if (missing.length > 0)
      this.#violation(`acknowledged and lost: ${missing.slice(0, 5).join(', ')} (${missing.length})`)
    this.#watcher.check(space, false)
    for (const violation of this.#watcher.violations.splice(0)) this.#violation(violation)
    const { damage } = cache.status()
    if (damage.length > 0) this.#violation(`damage: ${JSON.stringify(damage)}`)
    await cache.close()
  }

  #start(/** @type {number} */ slot) {
    this.#taken[slot] = 0
    this.#writers[slot] = this.#participant('write', engineOf(slot), slot)
  }

  /** @param {'write' | 'read'} role @param {import('./group.mjs').Engine} engine @param {number} slot */
  #participant(role, engine, slot) {
    const numbers = { first: (this.#begun[slot] ?? 0) + 1, acknowledged: this.#acknowledged.get(slot)?.at(-1) ?? 0 }
    const order = { dir: this.#dir, engine, role, slot, slots: SLOTS, seed: this.#random(2 ** 31), ...numbers }
    return new Child('participant.mjs', { ...order, pauseMs: role === 'read' ? 10 : 1 })
  }

  /** The messages of a slot's writer since then. */
  #takeIn(/** @type {number} */ slot) {
    const heard = this.#writers[slot]?.heard ?? []
    for (const message of heard.slice(this.#taken[slot])) {
      if (message['number'] !== undefined) this.#begun[slot] = message['number']
      if (message['done'] !== undefined) this.#acknowledged.get(slot)?.push(message['done'])
      this.#note(message)
    }
    this.#taken[slot] = heard.length
  }

  #note(/** @type {Record<string, any>} */ message) {
    if (message['violation'] !== undefined) this.#violation(message['violation'])
    if (message['warning'] !== undefined) this.#violation(`a warning: ${message['warning']}`)
    if (message['busy'] !== undefined) this.#tally.count('busy')
    if (message['reads'] !== undefined) this.#tally.count('reads', message['reads'])
  }

  async #ended(/** @type {Child} */ child) {
    if (!(await child.ended())) this.#violation('a process hung')
    else if (child.end?.code !== 0) this.#violation(`a process ${child.ending}`)
    if (this.#readers.includes(child)) child.heard.forEach((message) => this.#note(message))
  }

  #violation(/** @type {string} */ what) {
    this.#tally.violations.push({ what, replay: String(this.#seed) })
  }
}
