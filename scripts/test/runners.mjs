// @ts-check
// The runners of `npm test`: each is a process, and its tests are counted.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { READING, runAll } from '../../test/safety/all.mjs'
import { at, root } from '../common/root.mjs'
import { CommandFailed, run } from '../common/steps.mjs'
import { cargo, LOCKED, rustEnv, toolPath } from '../common/tools.mjs'
import { readCargo, readSum } from './outcome.mjs'

/** Cdylibs have nothing to run outside their hosts; vitest tests them there. */
const CARGO = [
  '--workspace',
  '--exclude=varve-node',
  '--exclude=varve-wasm',
  '--exclude=varve-bindgen',
  '--features=varve-core/sim',
]

const isScreen = process.stdout.isTTY
/** Escape codes are for screens; vitest would print them in CI as well. */
const plain = isScreen || process.env.FORCE_COLOR !== undefined ? {} : { NO_COLOR: '1' }

/** @typedef {import('../../test/safety/all.mjs').Form} Form */
/** @typedef {import('./outcome.mjs').Outcome} Outcome */
/** How a runner ended; `text` is what it wrote out of view. @typedef {{ outcome: Outcome, exitCode: number, text?: string }} Runner */

/**
 * Runs a process and keeps what it writes, so that it can run beside one that writes in view of the user.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ exitCode: number, text: string }>}
 */
async function runKept(command, args, env) {
  try {
    return { exitCode: 0, text: await run(command, args, { env }) }
  } catch (error) {
    if (error instanceof CommandFailed) return { exitCode: 1, text: error.output }
    throw error
  }
}

/** @param {readonly string[]} args @param {NodeJS.ProcessEnv} env @returns {Promise<number>} */
function runInView(args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' })
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}

/** Compiles the tests of the crates. `cargo test` repeats its errors, so they are not reported here. */
export async function compileTests() {
  await cargo('test', ['--no-run', ...CARGO]).catch(() => undefined)
}

/** @returns {Promise<Runner>} */
export async function runCargo() {
  const args = ['test', LOCKED, '--no-fail-fast', ...CARGO]
  const ended = await runKept('cargo', args, { ...rustEnv(), CARGO_TERM_COLOR: isScreen ? 'always' : 'never' })
  return { ...ended, outcome: readCargo(stripVTControlCharacters(ended.text)) }
}

/** In view. @param {readonly string[]} options @returns {Promise<Runner>} */
export async function runVitest(options) {
  const folder = await mkdtemp(join(tmpdir(), 'varve-test-'))
  const counts = join(folder, 'counts.json')
  try {
    const reporters = ['--reporter=default', `--reporter=${at('scripts/test/counts.mjs')}`]
    const exitCode = await runInView([toolPath('vitest'), 'run', ...reporters, ...options], {
      ...process.env,
      ...plain,
      VARVE_COUNTS: counts,
    })
    const outcome = await readFile(counts, 'utf8').then(JSON.parse, () => ({ passed: 0, failed: 0 }))
    return { outcome, exitCode }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A sample of the safety suites that leave the sources as they are. @returns {Promise<Runner>} */
export async function runSample() {
  const ended = await runKept(
    process.execPath,
    [at('test/safety/all.mjs'), '--sample', ...READING.map((suite) => `--suite=${suite}`)],
    process.env,
  )
  return { ...ended, outcome: readSum(ended.text) }
}

/** The safety suites, in view. @param {Form} form @param {readonly string[]} [suites] @param {string} [share] @returns {Promise<Runner>} */
export async function runSafety(form, suites, share) {
  const outcome = await runAll(form, suites, share)
  return { outcome, exitCode: outcome.failed > 0 ? 1 : 0 }
}
