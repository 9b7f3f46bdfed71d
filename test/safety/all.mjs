// @ts-check
// `npm run test:safety`: the short forms of all suites, one after the other. Each part prints its own line of JSON on
// stdout and counts as a test: it passes if it found no violation and met its goals; skipped parts are named.
//
//   --sample   a few parts of each suite, about a minute: what `npm test` runs
//   --rest     the parts that `--sample` leaves out
//   --suite    one suite, or several if it is repeated
//   --share    2/3: of each suite the second third of these parts
//
// CI uses the same seed each time, so a red build is caused by the change; elsewhere each run has a new seed.
// The suite `mutation` builds the engine once for each defect, so only its sample is part of this command.
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { at, isMain } from '../../scripts/common/root.mjs'
import { printStep, runMain, StepFailed } from '../../scripts/common/steps.mjs'

/** The suites that leave the sources as they are, so that other tests can run meanwhile. */
export const READING = ['power-loss', 'corruption', 'io-faults', 'concurrency', 'fuzz']
/** The suite that edits the sources. */
export const EDITING = 'mutation'
const SUITES = [...READING, EDITING]

/** @typedef {'all' | 'sample' | 'rest'} Form */
/** @typedef {{ part: string, seconds: number, skipped?: string, missed: string[], violationsTotal: number }} Line */

/** Runs the suites and prints on stderr how each part ended. @param {Form} form @param {readonly string[]} [suites] @param {string} [share] */
export async function runAll(form, suites = SUITES, share) {
  const outcome = { passed: 0, failed: 0 }
  for (const suite of suites) {
    const options = optionsOf(suite, form)
    if (options === undefined) continue
    const { lines, exitCode } = await runOne(suite, share === undefined ? options : [...options, `--share=${share}`])
    const bad = lines.filter(({ missed, violationsTotal }) => missed.length + violationsTotal > 0)
    for (const line of lines) printStep(bad.includes(line) ? '✗' : '✓', named(suite, line), `${line.seconds} s`)
    outcome.passed += lines.length - bad.length
    // A suite that died before it could print a line counts as well.
    outcome.failed += exitCode === 0 ? 0 : Math.max(1, bad.length)
  }
  return outcome
}

/** The options of a suite in a form; undefined if the form does not include it. @param {string} suite @param {Form} form */
function optionsOf(suite, form) {
  if (suite === EDITING) return form === 'rest' ? undefined : ['--sample']
  return form === 'all' ? [] : [`--${form}`]
}

/** @param {string} suite @param {Line} line */
const named = (suite, { part, skipped }) => `${suite} ${part}${skipped === undefined ? '' : ` (skipped: ${skipped})`}`

/**
 * @param {string} suite
 * @param {readonly string[]} options
 * @returns {Promise<{ lines: Line[], exitCode: number }>}
 */
function runOne(suite, options) {
  return new Promise((resolve, reject) => {
    const args = [at(`test/safety/${suite}.mjs`), ...options, ...(process.env.CI === undefined ? [] : ['--seed=1'])]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      output += text
      process.stdout.write(text)
    })
    child.on('error', reject)
    child.on('close', (code) => {
      const lines = output.split('\n').filter((line) => line.startsWith('{'))
      resolve({ lines: lines.map((line) => JSON.parse(line)), exitCode: code ?? 1 })
    })
  })
}

if (isMain(import.meta)) {
  await runMain(async () => {
    const { values } = parseArgs({
      options: {
        sample: { type: 'boolean' },
        rest: { type: 'boolean' },
        suite: { type: 'string', multiple: true },
        share: { type: 'string' },
      },
    })
    const { passed, failed } = await runAll(
      values.sample ? 'sample' : values.rest ? 'rest' : 'all',
      values.suite,
      values.share,
    )
    process.stdout.write(`${passed} passed, ${failed} failed\n`)
    if (failed > 0) throw new StepFailed('safety')
  })
}
