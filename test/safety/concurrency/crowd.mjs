// @ts-check
// A cache directory and the processes that use it, for the parts that start all processes at once.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCache } from 'varve'
import { Child } from './child.mjs'
import { missingOf } from './group.mjs'

export class Crowd {
  /** @type {Record<string, number>} */
  figures = {}
  /** @type {import('../suite.mjs').Violation[]} */
  violations = []
  /** @type {Child[]} */
  children = []
  root = mkdtempSync(join(tmpdir(), 'varve-soak-'))
  dir = join(this.root, 'cache')
  #slots
  #case
  #seed
  #tracer

  /**
   * @param {number} slots writers @param {number} seed @param {string} replay what a violation names
   * @param {readonly string[]} [tracer] a command that runs the processes
   */
  constructor(slots, seed, replay, tracer) {
    this.#slots = slots
    this.#seed = seed
    this.#case = replay
    this.#tracer = tracer
  }

  /** @param {string} role @param {import('./group.mjs').Engine} engine @param {number} slot @param {object} [more] */
  start(role, engine, slot = 0, more = {}) {
    const order = { dir: this.dir, engine, role, slot, slots: this.#slots, seed: this.#seed++, ...more }
    const child = new Child('participant.mjs', order, this.#tracer)
    this.children.push(child)
    return child
  }

  violation(/** @type {string} */ what) {
    this.violations.push({ what, replay: this.#case })
  }

  count(/** @type {string} */ name, by = 1) {
    this.figures[name] = (this.figures[name] ?? 0) + by
  }

  /** Waits for all to be ready. */
  async ready() {
    for (const child of this.children) {
      if ((await child.hear(({ ready }) => ready, 0, 60_000)) === undefined)
        this.violation(`a process did not begin: ${child.errors}`)
    }
  }

  /** Numbers acknowledged, by slot. @returns {Map<number, number[]>} */
  acknowledged() {
    /** @type {Map<number, number[]>} */
    const all = new Map()
    for (const { heard } of this.children) {
      const slot = heard[0]?.['slot']
      const numbers = heard.flatMap(({ done }) => (done === undefined ? [] : [done]))
      if (numbers.length > 0) all.set(slot, [...(all.get(slot) ?? []), ...numbers])
    }
    return all
  }

  /** Ends the processes that still run, and reads their last messages. */
  async end() {
    const running = this.children.filter(({ end }) => end === undefined)
    for (const child of running) child.tell('end')
    for (const child of running) {
      if (!(await child.ended(60_000))) this.violation('a process hung')
      else if (child.end?.code !== 0) this.violation(`a process ${child.ending}`)
    }
    for (const message of this.children.flatMap(({ heard }) => heard)) this.#note(message)
  }

  #note(/** @type {Record<string, any>} */ message) {
    if (message['violation'] !== undefined) this.violation(message['violation'])
    if (message['warning'] !== undefined) this.violation(`a warning: ${message['warning']}`)
    for (const name of ['reads', 'news', 'refreshes', 'compactions']) {
      if (message[name] !== undefined) this.count(name, message[name])
    }
    if (message['busy'] !== undefined) this.count('busy')
    if (message['done'] !== undefined) this.count('commits')
  }

  /** Looks with both engines for all that was acknowledged. */
  async check() {
    const acknowledged = this.acknowledged()
    for (const engine of /** @type {const} */ (['native', 'wasm'])) {
      const cache = await openCache({ name: 'soak', dir: this.dir, engine })
      const missing = missingOf(cache.namespace('n', { codec: 'text' }), acknowledged)
      if (missing.length > 0)
        this.violation(`${engine}: acknowledged and lost: ${missing.slice(0, 5).join(', ')} (${missing.length})`)
      const { damage } = await cache.verify()
      if (damage.length > 0) this.violation(`verify found ${JSON.stringify(damage)}`)
      await cache.close()
    }
  }

  remove() {
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** How many reads the readers have reported so far. @param {readonly Child[]} readers */
export function readsOf(readers) {
  return readers.reduce(
    (sum, { heard }) => sum + (heard.findLast((message) => message['soFar'] > 0)?.['soFar'] ?? 0),
    0,
  )
}
