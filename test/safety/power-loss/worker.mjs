// @ts-check
// A process that records workloads and checks their states, one workload after the other. It writes each step to a file
// before it starts, so that the file names the step if the process crashes or hangs.
import { openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { quickFolder } from '../quick-folder.mjs'
import { boundsOf, judge } from './bounds.mjs'
import { Checker } from './check.mjs'
import { MODELS } from './models.mjs'
import { record } from './record.mjs'
import { statesOf } from './states.mjs'
import { WORKLOADS } from './workloads.mjs'

/** @import { ModelName } from './models.mjs' */
/** @import { Recording } from './record.mjs' */
/** @import { State } from './states.mjs' */
/** @import { Verdict } from './check.mjs' */
/** @import { Order, Report } from './outside.mjs' */

/** The share of all states that each model gets; the weakest model has the most states. */
const PARTS = { weakest: 0.6, ext4: 1, strict: 1 }

const current = openSync(process.argv[2] ?? '', 'w')

process.on('message', (/** @type {Order} */ order) => {
  const report = (/** @type {Report} */ outcome) => void process.send?.(outcome)
  work(order).then(report, (/** @type {Error} */ error) => report({ error: error.stack ?? String(error), order }))
})

/** @param {Order} order @returns {Promise<Report>} */
async function work({ workload: name, engine, seed, random, part, only }) {
  const workload = WORKLOADS.find((one) => one.name === name)
  if (workload === undefined) throw new Error(`no workload ${name}`)
  const folder = quickFolder('outside')
  try {
    const recording = record(workload, engine, folder)
    const checker = new Checker(workload, join(folder, 'states'))
    await checker.learn(new Map([...recording.base.names].map(([path, inode]) => [path, recording.base.contents.get(inode) ?? null])))
    return await checkAll({ recording, checker, seed, random, part, only })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {Pick<Order, 'seed' | 'random' | 'part' | 'only'> & { recording: Recording, checker: Checker }} what @returns {Promise<Report>} */
async function checkAll({ recording, checker, seed, random, part, only }) {
  const bounds = boundsOf(recording.operations, checker.numbers)
  /** @type {Map<string, Verdict>} */
  const verdicts = new Map()
  /** @type {Extract<Report, { digests: unknown }>} */
  const outcome = { digests: { weakest: [], ext4: [], strict: [] }, states: 0, violations: [] }
  for (const model of /** @type {ModelName[]} */ (Object.keys(MODELS))) {
    if (only !== undefined && only.model !== model) continue
    const seen = new Set()
    const name = `${model}/${recording.engine}/${recording.workload}/${random}`
    for (const state of statesOf(recording, model, seed, random)) {
      const isOther = only !== undefined && state.number !== only.number
      if (isOther || (part <= 1 && Number.parseInt(state.digest.slice(0, 6), 16) >= part * PARTS[model] * 2 ** 24)) continue
      outcome.states++
      if (!seen.has(state.digest)) outcome.digests[model].push(state.digest)
      seen.add(state.digest)
      const verdict = verdicts.get(state.digest) ?? (await verdictOf({ checker, recording, name, state, isReplay: only !== undefined }))
      verdicts.set(state.digest, verdict)
      const limits = bounds[state.prefix]
      const what = limits === undefined ? undefined : judge(verdict, limits, state.isWhole)
      if (what === undefined) continue
      outcome.violations.push({
        what: `${model}, crash after operation ${state.prefix}, ${state.label}: ${what}`,
        replay: `${name}/${state.number}`,
      })
    }
  }
  return outcome
}

/** @param {{ checker: Checker, recording: Recording, name: string, state: State, isReplay: boolean }} what */
async function verdictOf({ checker, recording, name, state, isReplay }) {
  writeSync(current, `${name}/${state.number}`.padEnd(120), 0)
  const dice = Number.parseInt(state.digest.slice(-4), 16)
  const verdict = await checker.check(state.files(), dice % 2 === 0 ? 'native' : 'wasm', dice % 8 < 3)
  if (isReplay) {
    const operations = recording.operations.slice(0, state.prefix).map((one, index) => `${index} ${shownOperation(one)}`)
    const files = [...state.files()].map(([path, bytes]) => `${path} ${bytes === null ? 'folder' : bytes.length}`)
    process.stderr.write(`${operations.join('\n')}\ncrash, ${state.label}; left:\n${files.join('\n')}\n`)
  }
  return verdict
}

/** @param {Recording['operations'][number]} operation */
function shownOperation(operation) {
  if (operation.kind === 'mark') return `-- ${operation.text}`
  if (operation.kind === 'name' && operation.inode === undefined) return `remove ${operation.path}`
  if (operation.kind === 'name') return `inode ${operation.inode} is ${operation.path}, not ${operation.from ?? 'elsewhere'}`
  if (operation.kind === 'write') return `write inode ${operation.inode} at ${operation.offset}: ${operation.bytes.length} bytes`
  return operation.kind === 'resize' ? `inode ${operation.inode} has ${operation.length} bytes` : `sync inode ${operation.inode} ${operation.path}`
}
