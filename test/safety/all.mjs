// @ts-check
// `npm run test:safety`: the parts that CI runs, in their short form, one after the other, each with its own line of
// JSON on stdout. A part counts as a test: passed where it found nothing and met its goals; skipped ones are named.
// In CI the cases are the same each time, so that a red build is of somebody's change; elsewhere they are new ones.
// Parts that run only where they are named are not among them; `README.md` beside this file says why.
import { spawn } from 'node:child_process'
import { at, isMain } from '../../scripts/root.mjs'
import { printStep, runMain, StepFailed } from '../../scripts/steps.mjs'

const SUITES = ['power-loss', 'corruption', 'io-faults', 'concurrency', 'fuzz']

/** @typedef {{ part: string, seconds: number, skipped?: string, missed: string[], violationsTotal: number }} Line */

/** Runs all; says on stderr how each part went. */
export async function runAll() {
  const outcome = { passed: 0, failed: 0 }
  for (const suite of SUITES) {
    const { lines, exitCode } = await runOne(suite)
    const bad = lines.filter(({ missed, violationsTotal }) => missed.length + violationsTotal > 0)
    for (const line of lines) printStep(bad.includes(line) ? '✗' : '✓', named(suite, line), `${line.seconds} s`)
    outcome.passed += lines.length - bad.length
    // One that died before it could say so counts as well.
    outcome.failed += exitCode === 0 ? 0 : Math.max(1, bad.length)
  }
  return outcome
}

/** @param {string} suite @param {Line} line */
const named = (suite, { part, skipped }) => `${suite} ${part}${skipped === undefined ? '' : ` (skipped: ${skipped})`}`

/**
 * @param {string} suite
 * @returns {Promise<{ lines: Line[], exitCode: number }>}
 */
function runOne(suite) {
  return new Promise((resolve, reject) => {
    const args = [at(`test/safety/${suite}.mjs`), ...(process.env.CI === undefined ? [] : ['--seed=1'])]
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
    const { passed, failed } = await runAll()
    process.stdout.write(`${passed} passed, ${failed} failed\n`)
    if (failed > 0) throw new StepFailed('safety')
  })
}
