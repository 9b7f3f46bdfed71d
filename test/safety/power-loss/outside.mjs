// @ts-check
// Crash states of the built package: strace records programs that use it. Then the package opens every folder that a crash
// could have left, with both engines. This part does not depend on the simulated file system of the engine.
import { fork } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inLanes } from '../lanes.mjs'
import { quickFolder } from '../quick-folder.mjs'
import { missingStrace } from '../strace.mjs'
import { WORKLOADS } from './workloads.mjs'

/** @import { ModelName } from './models.mjs' */
/** @import { Violation } from '../suite.mjs' */

/**
 * @typedef {object} Order to a worker
 * @property {string} workload
 * @property {'native' | 'wasm'} engine
 * @property {number} seed
 * @property {number} random mixtures at each point
 * @property {number} part so much of all states; 2: really all
 * @property {{ model: ModelName, number: number } | undefined} only
 */

/** The message of a worker. */
/** @typedef {{ digests: Record<ModelName, string[]>, states: number, violations: Violation[] } | { error: string, order: Order }} Report */

/** A worker that sends no message for so many milliseconds counts as hanging. */
const SILENCE_MS = 240_000

const WORKER = fileURLToPath(new URL('worker.mjs', import.meta.url))
const PHASES = /** @type {const} */ (['create', 'commit', 'compact', 'collect', 'quarantine', 'clear'])

/** All of them. */
const ALL = 2

/** Of phases with few states all are checked in the short form, of others a part. */
const SHORT = { create: ALL, commit: 0.35, compact: 0.35, collect: 0.16, quarantine: 0.7, clear: 0.7 }

/** @type {import('../suite.mjs').Part} */
export const outside = {
  name: 'outside',
  async run({ seed, isLong, replay, say }) {
    const skipped = missingStrace(say)
    if (skipped !== undefined) return { figures: {}, violations: [], skipped }
    const orders = replay === undefined ? ordersOf(seed, isLong) : [orderOf(replay, seed)]
    const tally = new Tally()
    await runAll(orders, tally, say)
    const states = replay === undefined ? tally.figures() : {}
    const least = isLong ? 33_000 : 5000
    /** @type {Record<string, { min?: number, max?: number }>} */
    const goals = {}
    for (const model of ['weakest', 'ext4', 'strict']) goals[model] = { min: least }
    for (const phase of PHASES) goals[phase] = { min: 2000 }
    return { figures: states, goals, violations: tally.violations }
  },
}

/** What was found, by model and by phase. */
class Tally {
  /** @type {Violation[]} */
  violations = []
  /** @type {Map<string, Set<string>>} */
  #digests = new Map()
  #states = 0

  /** @param {Order} order @param {Extract<Report, { states: number }>} report */
  add({ workload }, { digests, states, violations }) {
    const phase = WORKLOADS.find(({ name }) => name === workload)?.phase ?? ''
    this.#states += states
    this.violations.push(...violations)
    for (const [model, list] of Object.entries(digests)) {
      for (const key of [model, phase]) {
        const known = this.#digests.get(key) ?? new Set()
        for (const digest of list) known.add(key === phase ? `${model} ${digest}` : digest)
        this.#digests.set(key, known)
      }
    }
  }

  figures() {
    const count = (/** @type {string} */ key) => /** @type {const} */ ([key, this.#digests.get(key)?.size ?? 0])
    return { ...Object.fromEntries([...['weakest', 'ext4', 'strict'].map(count), ...PHASES.map(count)]), statesWithRepeats: this.#states }
  }
}

/** Orders, the longest first. @param {number} seed @param {boolean} isLong @returns {Order[]} */
function ordersOf(seed, isLong) {
  const orders = WORKLOADS.flatMap(({ name, phase }) => /** @type {const} */ (['native', 'wasm']).map((engine) => ({
    workload: name, engine, seed, random: isLong ? 80 : 4, part: isLong ? ALL : SHORT[phase], only: undefined,
  })))
  const weight = (/** @type {string} */ name) => ['collect', 'large', 'compact', 'create-large'].indexOf(name) >>> 0
  return orders.sort((a, b) => weight(a.workload) - weight(b.workload))
}

/** @param {string} replay @param {number} seed @returns {Order} */
function orderOf(replay, seed) {
  const [model, engine, workload = '', random, number] = replay.split('/')
  if ((model !== 'weakest' && model !== 'ext4' && model !== 'strict') || (engine !== 'native' && engine !== 'wasm')) {
    throw new Error(`--replay is <model>/<engine>/<workload>/<mixtures>/<number>, not ${replay}`)
  }
  return { workload, engine, seed, random: Number(random), part: ALL, only: { model, number: Number(number) } }
}

/** @param {readonly Order[]} orders @param {Tally} tally @param {(text: string) => void} say */
async function runAll(orders, tally, say) {
  const folder = quickFolder('outside')
  try {
    await inLanes(orders, async (order, lane) => {
      const report = await ask(order, join(folder, `current-${lane}`))
      if ('error' in report) throw new Error(report.error)
      tally.add(order, report)
      say(`${order.workload} ${order.engine}: ${report.states} states, ${report.violations.length} violations`)
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * One worker for one order. If it crashes or sends nothing, that is a violation.
 * @param {Order} order
 * @param {string} current
 * @returns {Promise<Report>}
 */
function ask(order, current) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, VARVE_DIR: '', VARVE_ENGINE: '' }
    const worker = fork(WORKER, [current], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const failed = (/** @type {string} */ what) => {
      const violation = { what: `${order.workload}, ${order.engine}: ${what}`, replay: readFileSync(current, 'utf8').trim() }
      resolve({ digests: { weakest: [], ext4: [], strict: [] }, states: 0, violations: [violation] })
    }
    const clock = setTimeout(() => {
      worker.kill('SIGKILL')
      failed('the process hangs')
    }, SILENCE_MS)
    worker.on('error', reject)
    worker.on('message', (/** @type {Report} */ report) => {
      clearTimeout(clock)
      resolve(report)
      worker.disconnect()
    })
    worker.on('exit', (code, signal) => {
      clearTimeout(clock)
      if (code !== 0) failed(`the process died with ${signal ?? code}`)
    })
    worker.send(order)
  })
}
