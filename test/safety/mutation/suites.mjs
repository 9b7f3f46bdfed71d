// @ts-check
// The suites that must detect planted defects, each as one command: those of the engine (built once, with the feature
// `planted`), then those of the API on the planted package. An environment variable names the defect.
import { fileURLToPath } from 'node:url'
import { plantedPackage, plantedSources } from '../../../scripts/build/planted.mjs'
import { root, targetDir } from '../../../scripts/common/root.mjs'
import { run } from '../../../scripts/common/steps.mjs'
import { LOCKED, rustEnv, toolPath } from '../../../scripts/common/tools.mjs'
import { KEEPS_MEMORY } from '../suite.mjs'
import { runDefective, runProgram } from './limited.mjs'

/** @typedef {{ name: string, command: string, args: readonly string[], isEngine: boolean }} Suite */
/** @typedef {{ caught: boolean, how: string, ms: number }} Verdict `how`: which test fails, empty if none does */

const FEATURES = ['--features=varve-core/sim,varve-core/planted']
const TESTS = ['test', '--no-run', ...['core', 'disk', 'archive'].map((name) => `--package=varve-${name}`), ...FEATURES]
const PROGRAM = ['build', '--profile=test', '--package=varve-safety', ...FEATURES]

/** A test that failed, as libtest and vitest name it. */
const FAILED = /^(?:test (\S+)(?: - should panic)? \.\.\. FAILED|\s*FAIL\s+(.*))$/m

/** Builds the suites and lists them, the quick ones first. @returns {Promise<readonly Suite[]>} */
export async function buildSuites() {
  const tests = await executables(TESTS)
  const program = (await executables(PROGRAM)).get('varve-safety')
  const inCargo = [
    ['units of core', 'varve_core'],
    ['units of archive', 'varve_archive'],
    ['core', 'store'],
    ['units of disk', 'varve_disk'],
    ['disk', 'contract'],
  ].map(([name = '', target = '']) => suite(name, tests.get(target), []))
  const parts = await partsOf(program)
  // `recordings` reads what the suite `power-loss` has recorded, and nothing by itself.
  const simulated = parts
    .filter((part) => part !== 'recordings')
    .map((part) => ({
      ...suite(`simulated ${part}`, program, [part, '--seed', '1']),
      isEngine: true,
    }))
  return [...inCargo, ...['contract', 'files', 'format', 'sharing'].map(api), ...simulated]
}

/** @param {string} name @param {string | undefined} command @param {readonly string[]} args @returns {Suite} */
function suite(name, command, args) {
  if (command === undefined) throw new Error(`cargo built nothing for the suite '${name}'`)
  return { name, command, args, isEngine: false }
}

/** Tests of the API, by folder. @param {string} folder @returns {Suite} */
function api(folder) {
  const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url))
  const args = [toolPath('vitest'), 'run', '--root', root, '--config', config, '--bail=1', `test/${folder}/`]
  return { name: `API ${folder}`, command: process.execPath, args, isEngine: false }
}

/** The programs that cargo built, by target. @param {readonly string[]} args @returns {Promise<Map<string, string>>} */
async function executables(args) {
  const output = await run('cargo', [...args, LOCKED, '--message-format=json-render-diagnostics'], {
    cwd: plantedSources,
    env: { ...rustEnv(), CARGO_TARGET_DIR: targetDir },
  })
  const made = new Map()
  for (const line of output.split('\n')) {
    if (!line.startsWith('{')) continue
    const { executable, target } = JSON.parse(line)
    if (typeof executable === 'string') made.set(target.name, executable)
  }
  return made
}

/** The parts of the program, from its error message. @param {string | undefined} program */
async function partsOf(program) {
  if (program === undefined) return []
  const complaint = await run(program, ['none']).catch((error) => String(error.output))
  return (/there are (.*)/.exec(complaint)?.[1] ?? '').split(', ').filter((part) => part !== '')
}

/** Runs a suite without a defect. @param {Suite} one @returns {Promise<Verdict>} */
export async function runSound(one) {
  return verdictOf(one, await runProgram(programOf(one, '')))
}

/**
 * Runs a suite with a defect. A hang counts as detected.
 * @param {Suite} one
 * @param {string} defect
 * @param {number} soundMs how long it takes without a defect
 * @returns {Promise<Verdict>}
 */
export async function runWith(one, defect, soundMs) {
  return verdictOf(one, await runDefective((name) => programOf(one, name), defect, soundMs))
}

/** @param {Suite} one @param {string} defect none for an empty name @returns {import('./limited.mjs').Program} */
function programOf({ command, args }, defect) {
  const env = { ...rustEnv(), ...KEEPS_MEMORY, VARVE_PLANTED: defect, VARVE_PACKAGE: plantedPackage, NO_COLOR: '1' }
  return { command, args, env, cwd: root, until: FAILED } // one failure is enough
}

/** @param {Suite} suite @param {import('./limited.mjs').Ended} ended @returns {Verdict} */
function verdictOf({ isEngine }, { code, signal, output, ms, isCut }) {
  const failed =
    FAILED.exec(output)?.slice(1).find(Boolean)?.trim() ?? (isCut ? 'it hangs' : `ended with ${signal ?? code}`)
  const how = code !== 0 ? failed : isEngine ? violationOf(output) : ''
  return { caught: how !== '', how, ms }
}

/** @param {string} output */
function violationOf(output) {
  const start = output.indexOf('{"')
  if (start < 0) return 'it prints nothing'
  /** @type {{ violations: { what: string }[] }} */
  const { violations } = JSON.parse(output.slice(start).split('\n')[0] ?? '')
  return violations[0]?.what ?? ''
}
