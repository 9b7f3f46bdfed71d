// @ts-check
// Builds generated programs after each of their edits, with Varve and without, and compares. Programs that are built together share a
// process for each step with Varve, and one without.
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { MARK } from '../staleness/build/outcome.mjs'
import { Project } from '../staleness/project.mjs'
import { differenceOf } from '../staleness/run.mjs'
import { filesOf } from './render.mjs'
import { ADDRESS, INSTALLED, LINKS } from './subjects.mjs'

/** @typedef {import('./program.mjs').Program} Program */
/** @typedef {import('./tools.mjs').Settings} Settings */
/** @typedef {import('../staleness/build/outcome.mjs').Outcome} Outcome */
/** @typedef {import('../staleness/scenario.mjs').Change} Change */
/**
 * @typedef {object} Fault
 * @property {number} step
 * @property {string} difference
 * @property {Outcome} expected
 * @property {Outcome} built
 * @property {readonly number[]} [beside] the seeds of the programs in the same process, if the program does not fail alone
 */
/** @typedef {{ fault: Fault | undefined, hits: number, builds: number, steps: readonly Outcome[] }} Verdict `steps`: with Varve */

/** A build that takes longer hangs. */
const BUILD_MS_MAX = 60_000

/** Below the repository, so that projects find its packages. */
const PROJECTS = join(import.meta.dirname, 'target')
const PROGRAM = join(import.meta.dirname, 'build.mjs')

/** The project of one program, and what its builds came to. */
class Trial {
  /** @type {Outcome[]} */
  steps = []
  /** @type {Fault | undefined} */
  fault

  /**
   * @param {Program} program
   * @param {string} folder
   * @param {(text: string) => string} rename makes what programs share another one's
   */
  constructor(program, folder, rename) {
    this.program = program
    this.rename = rename
    rmSync(`${folder}-moved`, { recursive: true, force: true })
    this.taken = `${folder}-inbox`
    rmSync(this.taken, { recursive: true, force: true })
    const files = Object.entries(filesOf(program)).map(([path, text]) => [path, rename(text)])
    this.project = new Project(folder, Object.fromEntries(files))
    for (const [path, [target]] of Object.entries(LINKS)) this.project.apply(['link', path, target])
    for (const name of INSTALLED) this.project.apply(['install', name, '1.0.0'])
  }

  /** Whether there is another step. */
  get isUnderWay() {
    return this.fault === undefined && this.steps.length < 2 + this.program.edits.length
  }

  /** The edits before the next build: none before the first one and its repetition. */
  edit() {
    this.#putBack()
    for (const change of this.program.edits[this.steps.length - 2] ?? []) this.project.apply(this.#renamed(change))
    rmSync(this.taken, { recursive: true, force: true })
    const inbox = join(this.project.folder, 'inbox')
    if (existsSync(inbox)) cpSync(inbox, this.taken, { recursive: true })
  }

  /** Builds take what is in the inbox, and each finds all of it. */
  #putBack() {
    const inbox = join(this.project.folder, 'inbox')
    rmSync(inbox, { recursive: true, force: true })
    if (existsSync(this.taken)) cpSync(this.taken, inbox, { recursive: true })
  }

  /** @param {Change} change @returns {Change} */
  #renamed(change) {
    if (change[0] !== 'env') return change
    const [kind, name, value] = change
    return value === undefined ? [kind, this.rename(name)] : [kind, this.rename(name), value]
  }

  /** @param {boolean} isCached @returns {import('./build.mjs').Order} */
  orderOf(isCached) {
    const { folder } = this.project
    for (const output of ['dist', 'gen']) rmSync(join(folder, output), { recursive: true, force: true })
    this.#putBack()
    const { tool, format, hook, collects, virtual, isParallel, modules } = this.program
    return { folder, settings: { tool, format, hook, collects, virtual, isParallel, modules, isCached } }
  }

  /** @param {Outcome} built with Varve @param {Outcome} expected without */
  compare(built, expected) {
    this.steps.push(built)
    // What a build has written when it fails is a matter of time.
    const hasFailed = expected.errors.length > 0
    const difference = hasFailed
      ? differenceOf(withoutFiles(expected), withoutFiles(built))
      : differenceOf(expected, built)
    if (difference !== undefined) this.fault = { step: this.steps.length - 1, difference, expected, built }
  }

  /** @returns {Verdict} */
  get verdict() {
    const hits = this.steps.reduce((sum, step) => sum + step.hits, 0)
    return { fault: this.fault, hits, builds: this.steps.length, steps: this.steps }
  }
}

/** Builds programs, a few at a time, and answers what they ask of a server. */
export class Lane {
  /** @type {readonly Trial[]} */
  #trials = []
  #server = createServer(({ url = '' }, response) => {
    const [, index = ''] = /(\d+)$/.exec(url) ?? []
    response.end(this.#trials[Number(index)]?.project.served)
  })
  #folder

  /** @param {string} name of a folder for its projects */
  constructor(name) {
    this.#folder = join(PROJECTS, name)
    mkdirSync(this.#folder, { recursive: true })
  }

  /** @param {Program} program @returns {Promise<Verdict>} */
  async run(program) {
    const [verdict] = await this.runTogether([program])
    if (verdict === undefined) throw new Error('a program without a verdict')
    return verdict
  }

  /**
   * A program that fails is built again alone: what other programs do in the process must not decide it, nor what fails beside them be lost.
   * @param {readonly Program[]} programs
   * @returns {Promise<readonly Verdict[]>}
   */
  async runAll(programs) {
    const verdicts = [...(await this.runTogether(programs))]
    for (const [index, program] of programs.entries()) {
      const verdict = verdicts[index]
      if (verdict?.fault === undefined) continue
      const alone = await this.run(program)
      const beside = { ...verdict.fault, beside: programs.map(({ seed }) => seed) }
      verdicts[index] = alone.fault === undefined ? { ...alone, fault: beside } : alone
    }
    return verdicts
  }

  /**
   * @param {readonly Program[]} programs
   * @returns {Promise<readonly Verdict[]>}
   */
  async runTogether(programs) {
    const port = await this.#port()
    this.#trials = programs.map((program, index) => {
      const rename = (/** @type {string} */ text) =>
        text.replaceAll(ADDRESS, `http://127.0.0.1:${port}/value${index}`).replaceAll(/GE([NM])_/g, `GE$1${index}_`)
      return new Trial(program, join(this.#folder, String(index)), rename)
    })
    for (let left = this.#trials; left.length > 0; left = left.filter((trial) => trial.isUnderWay)) {
      for (const trial of left) trial.edit()
      const built = await buildAll(left, true)
      const expected = await buildAll(left, false)
      for (const [index, trial] of left.entries())
        trial.compare(withoutOwnWarnings(outcomeAt(built, index)), outcomeAt(expected, index))
    }
    return this.#trials.map((trial) => trial.verdict)
  }

  close() {
    this.#server.closeAllConnections()
    this.#server.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** @returns {Promise<number>} */
  async #port() {
    if (!this.#server.listening) await new Promise((done) => this.#server.listen(0, '127.0.0.1', () => done(undefined)))
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the server has no port')
    return address.port
  }
}

/** @param {Outcome} outcome @returns {Outcome} */
const withoutFiles = (outcome) => ({ ...outcome, files: {} })

/** Warnings of Varve about what it does not store are no difference. @param {Outcome} outcome @returns {Outcome} */
const withoutOwnWarnings = (outcome) => ({
  ...outcome,
  warnings: outcome.warnings.filter((text) => !/varve|not (stored|cached)|cached\(\)/i.test(text)),
})

/** @param {readonly Outcome[]} outcomes @param {number} index */
function outcomeAt(outcomes, index) {
  const outcome = outcomes[index]
  if (outcome === undefined) throw new Error(`a process printed ${outcomes.length} outcomes`)
  return outcome
}

/**
 * In one process. If that ends too early, all programs that it has not built have failed.
 * @param {readonly Trial[]} trials
 * @param {boolean} isCached
 * @returns {Promise<readonly Outcome[]>}
 */
function buildAll(trials, isCached) {
  const { NODE_ENV: _, ...around } = process.env
  const orders = trials.map((trial) => trial.orderOf(isCached))
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(orders)], {
    cwd: PROJECTS,
    env: Object.assign(around, ...trials.map(({ project }) => project.env)),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: BUILD_MS_MAX * trials.length,
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (err += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      const lines = out.split('\n').filter((line) => line.startsWith(MARK))
      /** @type {Outcome[]} */
      const outcomes = lines.map((line) => JSON.parse(line.slice(MARK.length)))
      const errors = [`ended with ${signal ?? code}: ${err.slice(0, 2000)}`]
      while (outcomes.length < trials.length) outcomes.push({ files: {}, warnings: [], hits: 0, errors })
      const last = outcomes.at(-1)
      if (last !== undefined && code !== 0) last.errors = [...last.errors, ...errors]
      resolve(outcomes)
    })
  })
}
