// @ts-check
// Builds a generated program after each of its edits, with Varve and without, and compares.
import { fork, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
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
/** @typedef {{ step: number, difference: string, expected: Outcome, built: Outcome }} Fault */
/** @typedef {{ fault: Fault | undefined, hits: number, builds: number, steps: readonly Outcome[] }} Verdict `steps`: with Varve */

/** A build that takes longer hangs. */
const BUILD_MS_MAX = 60_000

/** Below the repository, so that projects find its packages. */
const PROJECTS = join(import.meta.dirname, 'target')
const PROGRAM = join(import.meta.dirname, 'build.mjs')

/** Builds programs one after the other: a process that builds without Varve, and a server that they ask. */
export class Lane {
  #served = ''
  #plain = fork(PROGRAM, { stdio: 'ignore', env: environment({}) })
  #server = createServer((_, response) => void response.end(this.#served))
  #name

  /** @param {string} name of a folder for its projects */
  constructor(name) {
    this.#name = name
  }

  /** @param {Program} program @returns {Promise<Verdict>} */
  async run(program) {
    const address = await this.#address()
    const rename = (/** @type {string} */ text) => text.replaceAll(ADDRESS, address)
    const files = Object.entries(filesOf(program)).map(([path, text]) => [path, rename(text)])
    rmSync(join(PROJECTS, `${this.#name}-moved`), { recursive: true, force: true })
    const project = new Project(join(PROJECTS, this.#name), Object.fromEntries(files))
    for (const [path, [target]] of Object.entries(LINKS)) project.apply(['link', path, target])
    for (const name of INSTALLED) project.apply(['install', name, '1.0.0'])
    let hits = 0
    /** @type {Outcome[]} */
    const steps = []
    for (const [step, changes] of [[], [], ...program.edits].entries()) {
      for (const change of changes) project.apply(change)
      this.#served = project.served
      const built = withoutOwnWarnings(await this.#build(project, program, true))
      const expected = await this.#build(project, program, false)
      hits += built.hits
      steps.push(built)
      const difference = differenceOf(expected, built)
      if (difference === undefined) continue
      // A process that builds again and again may be wrong itself.
      const truth = await this.#build(project, program, false, true)
      const confirmed = differenceOf(truth, built)
      if (confirmed !== undefined)
        return { fault: { step, difference: confirmed, expected: truth, built }, hits, builds: step, steps }
    }
    return { fault: undefined, hits, builds: steps.length, steps }
  }

  close() {
    this.#plain.kill()
    this.#server.closeAllConnections()
    this.#server.close()
    for (const end of ['', '-moved']) rmSync(join(PROJECTS, this.#name + end), { recursive: true, force: true })
  }

  /** @returns {Promise<string>} */
  async #address() {
    if (!this.#server.listening) await new Promise((done) => this.#server.listen(0, '127.0.0.1', () => done(undefined)))
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the server has no port')
    return ADDRESS.replace(':0/', `:${address.port}/`)
  }

  /**
   * @param {Project} project
   * @param {Program} program
   * @param {boolean} isCached
   * @param {boolean} isAlone whether the build has a process for itself
   * @returns {Promise<Outcome>}
   */
  async #build({ folder, env }, program, isCached, isAlone = isCached || program.format === 'mjs' || imports(program)) {
    for (const output of ['dist', 'gen']) rmSync(join(folder, output), { recursive: true, force: true })
    const { tool, format, hook, collects, virtual, isParallel, modules } = program
    const settings = { tool, format, hook, collects, virtual, isParallel, modules, isCached }
    return isAlone ? buildAlone(folder, settings, env) : this.#buildAgain(folder, settings, env)
  }

  /** @param {string} folder @param {Settings} settings @param {Readonly<Record<string, string>>} env @returns {Promise<Outcome>} */
  #buildAgain(folder, settings, env) {
    return new Promise((resolve, reject) => {
      const failed = (/** @type {unknown} */ code) => reject(new Error(`building without Varve ended with ${code}`))
      this.#plain.once('exit', failed)
      this.#plain.once('message', (/** @type {Outcome} */ outcome) => {
        this.#plain.off('exit', failed)
        resolve(outcome)
      })
      this.#plain.send({ folder, settings, env })
    })
  }
}

/** Warnings of Varve about what it does not store are no difference. @param {Outcome} outcome @returns {Outcome} */
const withoutOwnWarnings = (outcome) => ({
  ...outcome,
  warnings: outcome.warnings.filter((text) => !/varve|not (stored|cached)|cached\(\)/i.test(text)),
})

/** Modules that are imported stay in the memory of a process. @param {Program} program */
const imports = ({ calls, start }) =>
  [...start, ...Object.values(calls).flat()].some(({ kind }) => kind === 'importModule')

/** @param {Readonly<Record<string, string>>} env @returns {NodeJS.ProcessEnv} */
function environment(env) {
  const { NODE_ENV: _, ...rest } = process.env
  return { ...rest, ...env }
}

/** @param {string} folder @param {Settings} settings @param {Readonly<Record<string, string>>} env @returns {Promise<Outcome>} */
function buildAlone(folder, settings, env) {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(settings)], {
    cwd: folder,
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: BUILD_MS_MAX,
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (err += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      const line = out.split('\n').findLast((one) => one.startsWith(MARK))
      const outcome = line === undefined ? undefined : JSON.parse(line.slice(MARK.length))
      const errors = code === 0 && outcome !== undefined ? [] : [`ended with ${signal ?? code}: ${err.slice(0, 2000)}`]
      resolve({ files: {}, warnings: [], hits: 0, ...outcome, errors: [...(outcome?.errors ?? []), ...errors] })
    })
  })
}
