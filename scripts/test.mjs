// @ts-check
// `npm test`: setup, the tests of the crates (cargo), the tests of the packages that are not slow (vitest), a sample of
// each safety suite (`test/safety`). The last line sums up: "<n> passed, <n> failed".
//
//   npm test -- <filter>          only vitest, on files whose path contains the filter; slow tests run, too
//   npm run test:all              everything: slow tests and the short forms of the safety suites, too
//   npm run test:all -- --rest    what `npm test` leaves out
//   npm run test:remote -- --long a cluster of MinIO, too, which `npm run servers -- --long` builds
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { stripVTControlCharacters } from 'node:util'
import { readCargo, sumOutcomes } from './test/outcome.mjs'
import { runAll } from '../test/safety/all.mjs'
import { at, root } from './common/root.mjs'
import { isReady, setup } from './setup.mjs'
import { printStep, runMain, secondsSince, step } from './common/steps.mjs'
import { cargo, LOCKED, rustEnv, toolPath } from './common/tools.mjs'

/** Cdylibs have nothing to run outside their hosts; vitest tests them there. */
const CARGO = ['--workspace', '--exclude=varve-node', '--exclude=varve-wasm', '--exclude=varve-bindgen', '--features=varve-core/sim']

/**
 * What a form runs: whether cargo is part of it, which tests of vitest, which parts of the safety suites.
 * @typedef {object} Form
 * @property {boolean} cargo
 * @property {readonly string[]} vitest
 * @property {import('../test/safety/all.mjs').Form} [safety]
 * @property {string} minutes on 2 cores that do nothing else
 */

/** @type {Readonly<Record<'short' | 'all' | 'rest', Form>>} */
const FORMS = {
  short: { cargo: true, vitest: ['--tags-filter=!slow'], safety: 'sample', minutes: '5' },
  all: { cargo: true, vitest: [], safety: 'all', minutes: '32' },
  rest: { cargo: false, vitest: ['--tags-filter=slow'], safety: 'rest', minutes: '27' },
}

/** What a fresh clone needs before: installing, building, compiling the tests. */
const FRESH_MINUTES = '8'

const isScreen = process.stdout.isTTY
/** Escape codes are for screens; vitest would print them in CI as well. */
const plain = isScreen || process.env.FORCE_COLOR !== undefined ? {} : { NO_COLOR: '1' }

/** @typedef {{ outcome: import('./test/outcome.mjs').Outcome, exitCode: number }} Runner */

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

/** Compiles the tests of the crates. `cargo test` repeats its errors, so they are not reported here. */
async function compileTests() {
  await cargo('test', ['--no-run', ...CARGO]).catch(() => undefined)
}

/** @returns {Promise<Runner>} */
async function runCargo() {
  const args = ['test', LOCKED, '--no-fail-fast', ...CARGO]
  const env = { ...rustEnv(), CARGO_TERM_COLOR: isScreen ? 'always' : 'never' }
  const { exitCode, output } = await watch('cargo', args, env, 'pipe')
  return { outcome: readCargo(output), exitCode }
}

/** @param {readonly string[]} options @returns {Promise<Runner>} */
async function runVitest(options) {
  const folder = await mkdtemp(join(tmpdir(), 'varve-test-'))
  const counts = join(folder, 'counts.json')
  try {
    const reporters = ['--reporter=default', `--reporter=${at('scripts/test/counts.mjs')}`]
    const args = [toolPath('vitest'), 'run', ...reporters, ...options]
    const env = { ...process.env, ...plain, VARVE_COUNTS: counts }
    const { exitCode } = await watch(process.execPath, args, env, 'inherit')
    const outcome = await readFile(counts, 'utf8').then(JSON.parse, () => ({ passed: 0, failed: 0 }))
    return { outcome, exitCode }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @param {import('../test/safety/all.mjs').Form} form @returns {Promise<Runner>} */
async function runSafety(form) {
  const outcome = await runAll(form)
  return { outcome, exitCode: outcome.failed > 0 ? 1 : 0 }
}

/** @param {string} name @param {() => Promise<Runner>} start */
async function timed(name, start) {
  const startMs = performance.now()
  const runner = await start()
  printStep(runner.exitCode === 0 ? '✓' : '✗', name, secondsSince(startMs))
  return runner
}

/** @param {Form} form */
async function prepare({ cargo: runsCargo, minutes }) {
  const before = isReady() ? '' : `, and ${FRESH_MINUTES} to build`
  process.stderr.write(`  expected on 2 cores: about ${minutes} minutes${before}\n`)
  // Linking an engine keeps one core busy; meanwhile the other one compiles tests.
  await setup(runsCargo ? () => step('cargo test: compile', compileTests) : undefined)
}

await runMain(async () => {
  const args = process.argv.slice(2)
  const filter = args.filter((arg) => !['--all', '--rest', '--long'].includes(arg))
  if (args.includes('--long')) process.env.VARVE_LONG = '1'
  const isFiltered = filter.length > 0
  const name = args.includes('--rest') ? 'rest' : args.includes('--all') ? 'all' : 'short'
  const form = isFiltered ? { cargo: false, vitest: filter, minutes: '' } : FORMS[name]
  await (isFiltered ? setup() : prepare(form))
  const runners = form.cargo ? [await timed('cargo test', runCargo)] : []
  runners.push(await timed('vitest', () => runVitest(form.vitest)))
  const { safety } = form
  if (safety !== undefined) runners.push(await timed('safety', () => runSafety(safety)))
  const { passed, failed } = sumOutcomes(runners)
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  if (runners.some(({ exitCode }) => exitCode !== 0)) process.exitCode = 1
})
