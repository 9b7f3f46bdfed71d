// @ts-check
// The measuring programs: how each is built, started, and parsed. Their progress is passed on to stderr.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { at, root, targetDir } from '../scripts/common/root.mjs'
import { printStep, run, secondsSince, step, StepFailed } from '../scripts/common/steps.mjs'
import { cargo, LOCKED, rustEnv } from '../scripts/common/tools.mjs'

/** @typedef {import('./goals.mjs').Metric} Metric */
/** @typedef {{ id: string, name: string, metric: Metric, value: number, unit: string, rounds: number }} Figure */
/** @typedef {{ id: string, name: string, unit: string, wall: number, cpu: number, rounds: number }} Times */

/**
 * @typedef {object} Program
 * @property {string} title
 * @property {readonly string[]} areas prefixes of its ids
 * @property {readonly string[]} command
 * @property {() => Promise<unknown>} [build]
 * @property {readonly string[]} [slow] prefixes that get few rounds in the quick form, and only if selected
 */

/** @typedef {{ isQuick: boolean, only: readonly string[] }} Choice */

const RUST_AREAS = ['write/', 'compaction/', 'lookup/', 'open/', 'sequential/']
const API_AREAS = ['js/', 'update/']
const SLOW_ROUNDS = 2
const rivalsTarget = join(targetDir, 'rivals')

/** @type {readonly Program[]} */
export const OURS = [
  {
    title: 'engine',
    areas: [...RUST_AREAS, 'export/', 'files/'],
    command: [join(targetDir, 'release/varve-bench')],
    build: () => step('build: bench of the engine', () => cargo('build', ['--release', '--package', 'varve-bench'])),
  },
  { title: 'API', areas: API_AREAS, command: [process.execPath, at('bench/api/main.mjs')] },
]

/** Each also measures Varve in the same run. @type {readonly Program[]} */
export const PAIRED = [
  {
    title: 'engine and its rivals',
    areas: RUST_AREAS,
    command: [join(rivalsTarget, 'release/varve-bench-rivals')],
    build: () => step('build: rivals of the engine', buildRivals),
    slow: ['lookup/store/tables_200/miss', 'sequential/items_600k'],
  },
  { title: 'API and its rivals', areas: API_AREAS, command: [process.execPath, at('bench/rivals/node/main.mjs')] },
  { title: 'first reads', areas: ['first_read/'], command: [process.execPath, at('bench/first-read/main.mjs')] },
  { title: 'WebAssembly beside native', areas: ['wasm/'], command: [process.execPath, at('bench/wasm/main.mjs')] },
  { title: 'webpack', areas: ['webpack/'], command: [process.execPath, at('bench/webpack/main.mjs')] },
]

/** turbo-persistence uses unstable features of the compiler. */
function buildRivals() {
  const env = { ...rustEnv(), RUSTC_BOOTSTRAP: '1', CARGO_TARGET_DIR: rivalsTarget }
  return run('cargo', ['build', '--release', LOCKED], { cwd: at('bench/rivals/rust'), env })
}

/**
 * Builds and runs the programs that measure part of the selection, one after another.
 * @param {readonly Program[]} programs
 * @param {Choice} choice
 * @returns {Promise<Figure[]>}
 */
export async function measure(programs, { isQuick, only }) {
  const figures = []
  for (const program of programs) {
    const prefixes = only.filter((prefix) =>
      program.areas.some((area) => area.startsWith(prefix) || prefix.startsWith(area)),
    )
    if (only.length > 0 && prefixes.length === 0) continue
    await program.build?.()
    const slow = isQuick ? prefixes.filter((prefix) => program.slow?.includes(prefix)) : []
    const others = prefixes.filter((prefix) => !slow.includes(prefix))
    const args = (isQuick ? ['--quick'] : []).concat(others.flatMap(onlyOf))
    if (others.length > 0 || slow.length === 0) figures.push(...(await figuresOf(program, args)))
    const slowArgs = ['--quick', '--rounds', String(SLOW_ROUNDS), ...slow.flatMap(onlyOf)]
    if (slow.length > 0)
      figures.push(...(await figuresOf({ ...program, title: `${program.title}, slow workloads` }, slowArgs)))
  }
  return figures
}

/** @param {string} prefix */
const onlyOf = (prefix) => ['--only', prefix]

/** @param {Program} program @param {readonly string[]} args */
async function figuresOf({ title, command }, args) {
  const startMs = performance.now()
  const { exitCode, output } = await watch([...command, ...args])
  printStep(exitCode === 0 ? '✓' : '✗', title, secondsSince(startMs))
  if (exitCode !== 0) throw new StepFailed(title)
  return output
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => read(JSON.parse(line)))
}

/** @param {readonly string[]} command @returns {Promise<{ exitCode: number, output: string }>} */
function watch([name = '', ...args]) {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ text) => (output += text))
    child.on('error', reject)
    child.on('close', (code) => resolve({ exitCode: code ?? 1, output }))
  })
}

/** Parses one line of a program. @param {Figure | Times} line @returns {Figure[]} */
function read(line) {
  if ('metric' in line) return [line]
  const { id, name, unit, rounds, wall, cpu } = line
  return [
    { id, name, metric: 'wall', value: rounded(wall), unit, rounds },
    { id, name, metric: 'cpu', value: rounded(cpu), unit, rounds },
  ]
}

/** @param {number} number */
const rounded = (number) => Number(number.toPrecision(6))
