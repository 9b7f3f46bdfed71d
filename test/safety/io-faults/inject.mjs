// @ts-check
// System calls that fail: strace makes them fail in a program that uses the built package. A commit is rejected or is really
// there, no call hangs, and the same handle works again once the calls do.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inLanes } from '../lanes.mjs'
import { missingStrace } from '../strace.mjs'
import { disturbed, EXIT_CODE } from './disturbed.mjs'
import { countsOf, ERRORS, faultsOf, straceOf } from './plan.mjs'
import { newestCommit } from './values.mjs'

/** @import { Run } from './disturbed.mjs' */
/** @import { Fault } from './plan.mjs' */
/** @import { Violation } from '../suite.mjs' */

/** No call of the package may take longer. */
const CALL_MS_MAX = 5000
const CODES = new Set(['IO', 'DISK_FULL', 'PERMISSION', 'BUSY', 'FILES_DAMAGED', 'DAMAGED', 'IN_MEMORY'])
const ENGINES = /** @type {const} */ (['native', 'wasm'])

/** @typedef {{ engine: 'native' | 'wasm', fault: Fault, paths: readonly string[] }} Case */

/** @type {import('../suite.mjs').Part} */
export const inject = {
  name: 'inject',
  async run({ seed, isLong, replay, say }) {
    const skipped = missingStrace(say)
    if (skipped !== undefined) return { figures: {}, violations: [], skipped }
    const root = mkdtempSync(join(tmpdir(), 'varve-inject-'))
    try {
      const cases = replay === undefined ? [] : [await caseOf(replay, root)]
      if (replay === undefined)
        for (const engine of ENGINES) cases.push(...(await casesOf(engine, root, seed, isLong ? 1000 : 80)))
      say(`${cases.length} runs`)
      return await runAll(cases, root, replay !== undefined ? say : undefined)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  },
}

/** The calls of the program without any fault. @param {'native' | 'wasm'} engine @param {string} root */
async function measure(engine, root) {
  const [folder, trace] = [join(root, `counted-${engine}`), join(root, `trace-${engine}`)]
  const run = await disturbed(folder, engine, [
    '-y',
    '-xx',
    '-e',
    `trace=${Object.keys(ERRORS).join(',')}`,
    '-o',
    trace,
  ])
  const what = await judge(run, engine)
  if (what !== undefined) throw new Error(`the program fails where no call does: ${what}`)
  return countsOf(trace, folder)
}

/** @param {'native' | 'wasm'} engine @param {string} root @param {number} seed @param {number} most @returns {Promise<Case[]>} */
async function casesOf(engine, root, seed, most) {
  const { counts, paths } = await measure(engine, root)
  return faultsOf(counts, engine, seed)
    .slice(0, most)
    .map((fault) => ({ engine, fault, paths }))
}

/** @param {string} replay @param {string} root @returns {Promise<Case>} */
async function caseOf(replay, root) {
  const [engine, call = '', error = '', when = ''] = replay.split('/')
  if (engine !== 'native' && engine !== 'wasm')
    throw new Error(`--replay is <engine>/<call>/<error>/<when>, not ${replay}`)
  const { paths } = await measure(engine, root)
  return { engine, fault: { call, error, at: Number.parseInt(when, 10), isForEver: when.endsWith('+') }, paths }
}

/** @param {Case[]} cases @param {string} root @param {((text: string) => void) | undefined} say */
async function runAll(cases, root, say) {
  const figures = {
    runs: 0,
    refused: 0,
    acknowledged: 0,
    callMsMax: 0,
    kinds: new Set(cases.map(({ fault }) => fault.call)).size,
  }
  /** @type {Violation[]} */
  const violations = []
  await inLanes([...cases.entries()], async ([index, { engine, fault, paths }]) => {
    const folder = join(root, `run-${index}`)
    const run = await disturbed(folder, engine, straceOf(fault, folder, paths))
    const what = await judge(run, engine, fault)
    say?.(`${JSON.stringify({ ...run, snapshot: undefined })}\n${what ?? 'sound'}`)
    const { call, error, at, isForEver } = fault
    const replay = `${engine}/${call}/${error}/${at}${isForEver ? '+' : ''}`
    if (what !== undefined) violations.push({ what: `${engine}, ${call}: ${what}`, replay })
    figures.runs++
    for (const { code, ms } of [...run.committing, ...run.compacting, ...run.after]) {
      figures[code === undefined ? 'acknowledged' : 'refused']++
      figures.callMsMax = Math.max(figures.callMsMax, ms)
    }
    rmSync(folder, { recursive: true, force: true })
  })
  return { figures, goals: { runs: { min: 150 }, refused: { min: 50 }, callMsMax: { max: CALL_MS_MAX } }, violations }
}

/**
 * What is wrong with a run; undefined: nothing.
 * @param {Run} run
 * @param {'native' | 'wasm'} engine
 * @param {Fault} [fault]
 * @returns {Promise<string | undefined>}
 */
async function judge({ before, committing, compacting, after, exit, snapshot, dir }, engine, fault) {
  const during = [...committing, ...compacting]
  const all = [...before, ...during, ...after]
  const other = engine === 'native' ? 'wasm' : 'native'
  if ([before, committing, compacting, after].some(({ length }) => length === 0))
    return `the process ended early, with ${exit}`
  if (exit !== String(EXIT_CODE)) return `exit ${exit} instead of ${EXIT_CODE}`
  const untyped = all.find(({ code }) => code !== undefined && !CODES.has(code))
  if (untyped !== undefined) return `step ${untyped.number}: ${untyped.code}`
  const slow = all.find(({ ms }) => ms > CALL_MS_MAX)
  if (slow !== undefined) return `step ${slow.number} took ${slow.ms} ms`
  const failed = after.find(({ code }) => code !== undefined)
  if (failed !== undefined) return `step ${failed.number}, when calls work again: ${failed.code}`
  const isCommit = (/** @type {{ number: number, code: string | undefined }} */ { number, code }) =>
    code === undefined && Number.isInteger(number)
  const acknowledged = (/** @type {Run['before']} */ list) => list.filter(isCommit).map(({ number }) => number)
  // What cannot be read is a miss, and compaction leaves it out: a hole is not a lost commit, an older value would be.
  const mayMiss = /^(read|pread64)$/.test(fault?.call ?? '')
  try {
    for (const isCompacted of [false, true]) {
      const list = acknowledged(isCompacted ? [...before, ...during] : [...before, ...committing])
      const found = await newestCommit(isCompacted ? `${snapshot}-2` : snapshot, other, mayMiss)
      if (found < Math.max(...list)) return `acknowledged ${list.join(' ')}, found ${found}`
    }
    const last = await newestCommit(dir, other, mayMiss)
    return last === 10 ? undefined : `the last commit was acknowledged, found ${last}`
  } catch (error) {
    return `after acknowledging ${acknowledged([...before, ...during]).join(' ')}: ${String(error)}`
  }
}
