// @ts-check
// `npm test`: setup, the tests of the crates (cargo), the tests of the packages (vitest), the short form of the safety
// suites (`test/safety`). `npm test -- <filter>` goes to vitest alone. The last line sums up: "<n> passed, <n> failed".
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { stripVTControlCharacters } from 'node:util'
import { readCargo, sumOutcomes } from './outcome.mjs'
import { runAll } from '../test/safety/all.mjs'
import { at, root } from './root.mjs'
import { setup } from './setup.mjs'
import { printStep, runMain, secondsSince } from './steps.mjs'
import { LOCKED, rustEnv, toolPath } from './tools.mjs'

/** Cdylibs have nothing to run outside their hosts; vitest tests them there. */
const CARGO = ['--workspace', '--exclude=varve-node', '--exclude=varve-wasm', '--exclude=varve-bindgen']

const isScreen = process.stdout.isTTY
/** Escape codes are for screens; vitest would print them in CI as well. */
const plain = isScreen || process.env.FORCE_COLOR !== undefined ? {} : { NO_COLOR: '1' }

/** @typedef {{ outcome: import('./outcome.mjs').Outcome, exitCode: number }} Runner */

/**
 * Runs a test runner in view of the user and keeps what it wrote to stdout.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {'pipe' | 'inherit'} stdout
 * @returns {Promise<{ exitCode: number, output: string }>}
 */
function watch(command, args, env, stdout) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['inherit', stdout, 'inherit'] })
    let output = ''
    child.stdout?.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      output += text
      process.stdout.write(text)
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ exitCode: code ?? 1, output: stripVTControlCharacters(output) }))
  })
}

/** @returns {Promise<Runner>} */
async function runCargo() {
  const args = ['test', LOCKED, '--no-fail-fast', ...CARGO, '--features=varve-core/sim']
  const env = { ...rustEnv(), CARGO_TERM_COLOR: isScreen ? 'always' : 'never' }
  const { exitCode, output } = await watch('cargo', args, env, 'pipe')
  return { outcome: readCargo(output), exitCode }
}

/** @param {readonly string[]} filter @returns {Promise<Runner>} */
async function runVitest(filter) {
  const folder = await mkdtemp(join(tmpdir(), 'varve-test-'))
  const counts = join(folder, 'counts.json')
  try {
    const reporters = ['--reporter=default', `--reporter=${at('scripts/counts.mjs')}`]
    const args = [toolPath('vitest'), 'run', ...reporters, ...filter]
    const env = { ...process.env, ...plain, VARVE_COUNTS: counts }
    const { exitCode } = await watch(process.execPath, args, env, 'inherit')
    const outcome = await readFile(counts, 'utf8').then(JSON.parse, () => ({ passed: 0, failed: 0 }))
    return { outcome, exitCode }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @returns {Promise<Runner>} */
async function runSafety() {
  const outcome = await runAll()
  return { outcome, exitCode: outcome.failed > 0 ? 1 : 0 }
}

/** @param {string} name @param {() => Promise<Runner>} start */
async function timed(name, start) {
  const startMs = performance.now()
  const runner = await start()
  printStep(runner.exitCode === 0 ? '✓' : '✗', name, secondsSince(startMs))
  return runner
}

await runMain(async () => {
  const filter = process.argv.slice(2)
  await setup()
  const runners = filter.length > 0 ? [] : [await timed('cargo test', runCargo)]
  runners.push(await timed('vitest', () => runVitest(filter)))
  if (filter.length === 0) runners.push(await timed('safety', runSafety))
  const { passed, failed } = sumOutcomes(runners)
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  if (runners.some(({ exitCode }) => exitCode !== 0)) process.exitCode = 1
})
