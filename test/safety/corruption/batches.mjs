// @ts-check
// Runs many cases in few processes and watches them. A program receives its cases and prints one line of JSON for each, in
// their order. If it crashes or hangs, the first case without a line is the cause, and the next process runs the others.
import { spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inLanes } from '../lanes.mjs'

/** The longest time for one case. */
const HANG_MS = 15_000
/** Processes at the same time. */
export const LANES = 2

/**
 * @typedef {object} Job
 * @property {string} program
 * @property {object} order what all cases share
 * @property {readonly string[]} cases
 * @property {readonly string[]} [nodeArgs]
 * @property {readonly string[]} [wrapper] a command to run Node with, such as `prlimit`
 * @property {number} [hangMs]
 */

/** @typedef {{ text: string, answer?: any, death?: string }} Met what a case gave, or how its process ended */

/** @param {Job} job @returns {Promise<Met[]>} */
export async function runCases(job) {
  /** @type {Met[]} */
  const met = []
  while (met.length < job.cases.length) {
    const rest = job.cases.slice(met.length)
    const { answers, ending } = await runProcess(job, rest)
    answers.forEach((answer, index) => void met.push({ text: rest[index] ?? '', answer }))
    const next = rest[answers.length]
    if (next !== undefined) met.push({ text: next, death: ending })
    else if (ending !== '') met.push({ text: rest.at(-1) ?? '', death: `after the last case: ${ending}` })
  }
  return met
}

/** @param {Job} job @param {readonly string[]} cases @returns {Promise<{ answers: any[], ending: string }>} */
function runProcess({ program, order, nodeArgs = [], wrapper = [], hangMs = HANG_MS }, cases) {
  const line = [...wrapper, process.execPath, ...nodeArgs, program]
  const child = spawn(line[0] ?? '', line.slice(1), { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => undefined)
  child.stdin.end(JSON.stringify({ order, cases }))
  /** @type {any[]} */
  const answers = []
  let [complaint, hung] = ['', false]
  const watch = setTimeout(() => void ((hung = true), child.kill('SIGKILL')), hangMs)
  child.stderr
    .setEncoding('utf8')
    .on('data', (/** @type {string} */ text) => void (complaint = (complaint + text).slice(-2_000)))
  createInterface({ input: child.stdout }).on('line', (text) => {
    // Other lines are output of the tool.
    if (text.startsWith('{"case"')) answers.push(JSON.parse(text).answer)
    watch.refresh()
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(watch)
      const how = hung ? `hung for ${hangMs} ms` : `died with ${signal ?? `exit code ${code}`}: ${complaint.trim()}`
      resolve({ answers, ending: code === 0 && !hung ? (answers.length < cases.length ? 'ended early' : '') : how })
    })
  })
}

/**
 * The other side: reads what is to be done from stdin and answers case by case.
 * @param {(order: any, text: string, index: number) => unknown} answer
 */
export async function answerCases(answer) {
  /** @type {Buffer[]} */
  const chunks = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  const { order, cases } = JSON.parse(Buffer.concat(chunks).toString())
  for (const [index, text] of cases.entries()) {
    process.stdout.write(`${JSON.stringify({ case: text, answer: await answer(order, text, index) })}\n`)
  }
}

/**
 * Does `work` for every piece of the cases, two at a time, each with a folder of its own below `base`.
 * @param {readonly string[][]} all
 * @param {string} base
 * @param {(text: string) => void} say called now and then with the progress
 * @param {(piece: string[], folder: string) => Promise<void>} work
 */
export async function inPieces(all, base, say, work) {
  const count = all.flat().length
  let [started, done] = [0, 0]
  await inLanes(
    all,
    async (piece) => {
      const folder = join(base, `work-${started++}`)
      mkdirSync(folder, { mode: 0o755 })
      await work(piece, folder)
      rmSync(folder, { recursive: true, force: true })
      const tenth = Math.floor((done * 10) / count)
      done += piece.length
      if (Math.floor((done * 10) / count) > tenth) say(`${done} of ${count}`)
    },
    LANES,
  )
}

/** Pieces of at most `size`. @template T @param {readonly T[]} items @param {number} size @returns {T[][]} */
export function pieces(items, size) {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
