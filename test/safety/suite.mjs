// @ts-check
// The frame of the safety suites. A suite (`npm run test:safety -- power-loss`) is a list of parts, each an attack of one kind. Every
// part prints one line of JSON on stdout:
//
//   { "suite", "part", "seed", "long", "seconds", "skipped", "figures", "goals", "violations": [{ "what", "replay" }] }
//
// `figures` are counts, `goals` the least or most of a figure, and `replay` is a command that repeats one violation. `skipped`
// is the reason why this machine cannot run the part. The exit code is 1 after a violation or a missed goal.
import { spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { root } from '../../scripts/common/root.mjs'
import { LOCKED, rustEnv } from '../../scripts/common/tools.mjs'

/** How many violations of a part are shown; further ones are only counted. */
const SHOWN_MAX = 20

/**
 * The options of a part.
 * @typedef {object} Order
 * @property {number} seed the source of all randomness
 * @property {boolean} isLong the long form: hours instead of minutes
 * @property {string | undefined} replay the one case to run, as the part writes it; undefined: all cases
 * @property {(text: string) => void} say prints progress for people to stderr
 */

/** @typedef {{ what: string, replay: string }} Violation `replay` is the case that repeats it */

/**
 * @typedef {object} Outcome
 * @property {Record<string, number>} figures
 * @property {Record<string, { min?: number, max?: number }>} [goals] by name of a figure
 * @property {readonly Violation[]} violations
 * @property {string} [skipped] why this machine cannot run it, or some of it
 */

/** @typedef {{ name: string, run: (order: Order) => Promise<Outcome> }} Part */

/**
 * A part in the list of its suite. `isSample`: `npm test` runs it. `isOnlyNamed`: only `--part` runs it, because it takes too
 * long for the short form.
 * @typedef {Part & { isSample?: true, isOnlyNamed?: true }} ListedPart
 */

/** @param {Part} part @returns {ListedPart} */
export const sample = (part) => ({ ...part, isSample: true })

/** @param {Part} part @returns {ListedPart} */
export const onlyNamed = (part) => ({ ...part, isOnlyNamed: true })

const OPTIONS = /** @type {const} */ ({
  long: { type: 'boolean', default: false },
  seed: { type: 'string' },
  part: { type: 'string', multiple: true },
  sample: { type: 'boolean', default: false },
  rest: { type: 'boolean', default: false },
  share: { type: 'string', default: '1/1' },
  replay: { type: 'string' },
  help: { type: 'boolean', default: false },
})

/**
 * Runs a suite with the options of the command line and sets the exit code.
 * @param {string} suite
 * @param {readonly ListedPart[]} parts
 */
export async function runSuite(suite, parts) {
  const { values } = parseArgs({ options: OPTIONS })
  if (values.help) return void process.stdout.write(usage(suite, parts))
  const chosen = chosenOf(parts, values)
  if (chosen.length === 0 && values.part !== undefined)
    throw new Error(`no such part; there are ${parts.map(({ name }) => name).join(', ')}`)
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed is a whole number, not ${values.seed}`)
  for (const part of chosen) {
    const say = (/** @type {string} */ text) => void process.stderr.write(`  ${suite} ${part.name}: ${text}\n`)
    const isSound = await runPart(suite, part, { seed, isLong: values.long, replay: values.replay, say })
    if (!isSound) process.exitCode = 1
  }
}

/**
 * The parts that the options name.
 * @template {{ name: string, isSample?: true, isOnlyNamed?: true }} Listed
 * @param {readonly Listed[]} parts
 * @param {{ part?: string[] | undefined, sample: boolean, rest: boolean, share: string }} options
 */
export function chosenOf(parts, { part: names, sample: isSample, rest: isRest, share }) {
  if (names !== undefined) return parts.filter(({ name }) => names.includes(name))
  if (isSample) return parts.filter((part) => part.isSample)
  const all = parts.filter((part) => !part.isOnlyNamed)
  const [which = Number.NaN, of = Number.NaN] = share.split('/').map(Number)
  if (!(which >= 1 && which <= of)) throw new Error(`--share is a share and their number, such as 2/3, not ${share}`)
  return (isRest ? all.filter((part) => !part.isSample) : all).filter((_, index) => index % of === which - 1)
}

/** @param {string} suite @param {Part} part @param {Order} order */
async function runPart(suite, part, order) {
  const startMs = performance.now()
  const { figures, goals = {}, violations, skipped } = await part.run(order)
  const isWhole = order.replay === undefined && skipped === undefined
  const missed = Object.entries(goals).filter(([name, goal]) => isWhole && !meets(figures[name] ?? Number.NaN, goal))
  const line = {
    suite,
    part: part.name,
    seed: order.seed,
    long: order.isLong,
    seconds: Math.round((performance.now() - startMs) / 100) / 10,
    ...(skipped === undefined ? {} : { skipped }),
    figures,
    goals,
    missed: missed.map(([name]) => name),
    violations: violations.slice(0, SHOWN_MAX).map(({ what, replay }) => ({
      what,
      replay: `npm run test:safety -- ${suite} --part ${part.name} --seed ${order.seed} --replay '${replay}'`,
    })),
    violationsTotal: violations.length,
  }
  process.stdout.write(`${JSON.stringify(line)}\n`)
  return violations.length === 0 && missed.length === 0
}

/** @param {number} value @param {{ min?: number, max?: number }} goal */
const meets = (value, { min = -Infinity, max = Infinity }) => value >= min && value <= max

/** @param {string} suite @param {readonly Part[]} parts */
const usage = (suite, parts) => `npm run test:safety -- ${suite} [options]

  --part NAME     only this part: ${parts.map(({ name }) => name).join(', ')}
  --sample        only the parts that npm test runs
  --rest          only the parts that npm test does not run
  --share K/N     only every Nth of these parts, from the Kth
  --long          the long form
  --seed N        the randomness of an earlier run
  --replay CASE   one case alone, as a violation names it
`

/** The crate that most parts in Rust are in. */
const SAFETY = ['--package=varve-safety']

/**
 * A part that is a program in Rust: it prints its outcome as JSON.
 * @param {string} name
 * @param {readonly string[]} [crate] how cargo finds it
 * @param {readonly string[]} [more] further arguments
 * @returns {Part}
 */
export function rustPart(name, crate = SAFETY, more = []) {
  return {
    name,
    run: async ({ seed, isLong, replay }) => {
      const options = [
        ...more,
        '--seed',
        String(seed),
        ...(isLong ? ['--long'] : []),
        ...(replay === undefined ? [] : ['--replay', replay]),
      ]
      return JSON.parse(await engine([name, ...options], crate))
    },
  }
}

/**
 * By default glibc returns freed memory to the system and asks for it again, which takes nearly half of the time of a part
 * that makes hundreds of thousands of folders. Other C libraries ignore these variables.
 */
export const KEEPS_MEMORY = {
  MALLOC_TRIM_THRESHOLD_: '1000000000',
  MALLOC_MMAP_THRESHOLD_: '1000000000',
  MALLOC_TOP_PAD_: '67108864',
}

/**
 * Runs the program of a crate and returns its stdout; its stderr is shown.
 * @param {readonly string[]} args
 * @param {readonly string[]} crate
 * @returns {Promise<string>}
 */
function engine(args, crate) {
  const cargo = ['run', '--quiet', '--profile=test', LOCKED, ...crate, '--', ...args]
  return new Promise((resolve, reject) => {
    const child = spawn('cargo', cargo, {
      cwd: root,
      env: { ...rustEnv(), ...KEEPS_MEMORY },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ text) => void (output += text))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve(output)
      else
        reject(
          new Error(`${crate.join(' ')} ${args.join(' ')}: ended with ${signal ?? `exit code ${code}`}\n${output}`),
        )
    })
  })
}
