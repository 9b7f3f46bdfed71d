// @ts-check
// Runs one workload on all subjects in one process, round by round in turn (ABAB), so that other load on the machine affects all
// of them alike. Returns medians over the rounds.
//
// tinybench runs a task to its end before the next one, so a round is one run of each task with one iteration. tinybench times
// that iteration; the CPU time and the medians are computed here. CPU time is that of all threads of the process.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Bench } from 'tinybench'
import { median } from '../median.mjs'
import { loopsOf } from './loops.mjs'

/** @typedef {import('./subject.mjs').Subject} Subject */
/** @typedef {import('./workloads.mjs').Workload} Workload */
/** @typedef {import('./workloads.mjs').Trial} Trial */
/** @typedef {{ subject: Subject, wall: number, cpu: number }} Outcome medians of one operation */
/** @typedef {{ subject: Subject, trial: Trial, cpuMs: number, walls: number[], cpus: number[] }} Lane */

const WARM_UP_ROUNDS = 3
/** A process is at rest if it used less than a tenth of this time. The bench waits at most RESTS_MAX times. */
const REST_MS = 2
const RESTS_MAX = 100

setFlagsFromString('--no-flush-bytecode') // otherwise the many collections make V8 discard code between two rounds
setFlagsFromString('--expose-gc')
/** @type {() => void} */
const collectGarbage = runInNewContext('gc')

/**
 * @param {Workload} workload
 * @param {readonly Subject[]} subjects
 * @param {string} dir
 * @param {number} rounds
 * @returns {Promise<Outcome[]>}
 */
export async function runPaired(workload, subjects, dir, rounds) {
  const bench = new Bench({ iterations: 1, time: 0, warmup: false, throws: true })
  /** @type {Lane[]} */
  const lanes = []
  for (const subject of subjects) {
    const trial = await workload.prepare(
      subject,
      await loopsOf(workload.shared === true ? 'all' : subject.name),
      join(dir, subject.name),
    )
    const lane = { subject, trial, cpuMs: 0, walls: [], cpus: [] }
    lanes.push(lane)
    addTask(bench, lane, workload.writes ?? false)
  }
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    for (let turn = 0; turn < lanes.length; turn++) {
      const index = (turn + round + WARM_UP_ROUNDS) % lanes.length // each subject follows another one in turn
      const [lane, task] = [lanes[index], bench.tasks[index]]
      task?.reset() // tinybench runs a task only once
      await task?.run()
      if (round >= 0 && lane !== undefined && task !== undefined) record(lane, task)
    }
  }
  for (const { trial } of lanes) await trial.close()
  const scale = workload.unit === 'ns' ? 1e6 : 1e3
  return lanes.map(({ subject, walls, cpus }) => ({ subject, wall: median(walls) * scale, cpu: median(cpus) * scale }))
}

/** @param {Bench} bench @param {Lane} lane @param {boolean} writes */
function addTask(bench, lane, writes) {
  const { trial } = lane
  /** @type {NodeJS.CpuUsage} */
  let start
  const timed = async () => {
    start = process.cpuUsage()
    await trial.run()
    lane.cpuMs = cpuMsSince(start)
  }
  const beforeEach = async () => {
    await trial.before?.()
    collectGarbage()
    await rest() // V8 sweeps on other threads, whose CPU time is not that of the workload
  }
  const afterEach = async () => {
    if (writes) {
      await rest()
      lane.cpuMs = cpuMsSince(start)
    }
    await trial.after?.()
  }
  bench.add(lane.subject.name, timed, { async: true, beforeEach, afterEach })
}

/** @param {Lane} lane @param {import('tinybench').Task} task */
function record({ trial, cpuMs, walls, cpus }, task) {
  if (!('latency' in task.result)) throw new Error(`${task.name}: ${task.result.state}`)
  walls.push(task.result.latency.mean / trial.operations)
  cpus.push(cpuMs / trial.operations)
}

/** Waits until the threads of the pool, of a store and of V8 are idle. */
async function rest() {
  for (let count = 0; count < RESTS_MAX; count++) {
    const start = process.cpuUsage()
    await sleep(REST_MS)
    if (cpuMsSince(start) < REST_MS / 10) return
  }
}

/** @param {NodeJS.CpuUsage} start */
function cpuMsSince(start) {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}
