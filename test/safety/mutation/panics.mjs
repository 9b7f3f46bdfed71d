// @ts-check
// Panics at named places of the engine (`failpoints::panics("name")` in the crates). For each place a new process plants a panic
// and uses a cache (victim.mjs). The panic must become the error INTERNAL, also for later calls of that cache. Other caches
// and the process must continue, and the cache directory must be sound. A case is `<engine> <point>`.
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { at } from '../../../scripts/common/root.mjs'
import { plantedFiles } from '../../../scripts/check/unplanted.mjs'
import { inLanes } from '../lanes.mjs'
import { fill, fillMore } from './steps.mjs'

/** @typedef {import('../suite.mjs').Order} Order */
/** @typedef {import('../suite.mjs').Outcome} Outcome */
/** @typedef {'native' | 'wasm' | 'wasm-worker'} Engine */
/** @typedef {{ engine: Engine, point: string }} Case */

const VICTIM = fileURLToPath(new URL('victim.mjs', import.meta.url))
const HANG_MS = 60_000

/** By the crate that has them: every crate runs in the addon or in the module, core and bindings in both. */
const POINTS = {
  core: [
    'load',
    'read-manifest',
    'read-log',
    'lookup',
    'read-directory',
    'read-rows',
    'read-block',
    'claim-log',
    'commit-appended',
    'commit-applied',
    'write-table',
    'flush',
    'catch-up',
    'take',
    'merge',
    'publish',
    'sweep',
    'collect',
    'stats',
    'verify',
    'walk',
    'scan',
    'store-file',
    'read-file',
    'settle',
  ],
  bindings: ['handle-get', 'handle-take', 'handle-put', 'handle-begin', 'export-fill', 'import-feed'],
  threads: ['gather', 'reads-run'],
  disk: [
    'pool-part',
    'disk-append',
    'disk-sync',
    'disk-read',
    'disk-close',
    'disk-map',
    'disk-list',
    'restore-tree',
    'leave',
    'leave-now',
    'share-drop',
  ],
  node: ['callback', 'answer', 'open-store', 'open-task', 'open-resolve', 'task', 'finalizer', 'open-small'],
  wasm: ['host-call', 'host-append', 'stream-call', 'watch-call'],
  worker: [
    'load',
    'claim-log',
    'take',
    'merge',
    'publish',
    'sweep',
    'collect',
    'read-log',
    'host-call',
    'host-append',
    'watch-call',
    'settle',
  ],
}

/** Panics that are not reported: JavaScript has already released the object, or the call is repeated in another way. */
const QUIET = new Set(['finalizer', 'open-small'])

/** @type {readonly Case[]} */
const CASES = [
  ...cases('native', [...POINTS.core, ...POINTS.bindings, ...POINTS.threads, ...POINTS.disk, ...POINTS.node]),
  ...cases('wasm', [...POINTS.core, ...POINTS.bindings, ...POINTS.wasm]),
  ...cases('wasm-worker', POINTS.worker),
]

/** @param {Engine} engine @param {readonly string[]} points @returns {readonly Case[]} */
function cases(engine, points) {
  return points.map((point) => ({ engine, point }))
}

/** Every name in the sources, by the function that uses it. @param {'panics' | 'bug'} kind */
export function plantedNames(kind) {
  const sources = readdirSync(at('crates'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^\w+\/src\/.*\.rs$/.test(path),
  )
  const call = new RegExp(`failpoints::${kind}\\("([\\w-]+)"\\)`, 'g')
  const found = sources.flatMap((path) => [...readFileSync(at(`crates/${path}`), 'utf8').matchAll(call)])
  return new Set(found.map((match) => match[1] ?? ''))
}

/** @param {string} packageFolder @param {Order} order @returns {Promise<Outcome>} */
export async function panics(packageFolder, { replay, say }) {
  const chosen = CASES.filter(({ engine, point }) => replay === undefined || replay === `${engine} ${point}`)
  if (chosen.length === 0) throw new Error(`no such case: ${replay}`)
  const folder = mkdtempSync(join(tmpdir(), 'varve-panics-'))
  try {
    const unknown = [...plantedNames('panics')].filter((name) => !CASES.some(({ point }) => point === name))
    const violations = unknown.map((name) => ({ what: `no case plants '${name}'`, replay: '' }))
    // The addon and the module, and the glue that gives it the environment: by the words that `npm run check` looks for.
    const builds = (await plantedFiles(packageFolder)).length
    await prepare(packageFolder, folder)
    let caught = 0
    await inLanes(chosen, async (one) => {
      const what = await run(packageFolder, folder, one)
      if (what === undefined) caught++
      else violations.push({ what: `${one.engine} ${one.point}: ${what}`, replay: `${one.engine} ${one.point}` })
      if (what !== undefined) say(`${one.engine} ${one.point}: ${what}`)
    })
    const points = new Set(chosen.map(({ point }) => point)).size
    const goals = { points: { min: 30 }, caught: { min: CASES.length }, builds: { min: 3 } }
    return { figures: { points, cases: chosen.length, caught, builds }, goals, violations }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Two caches to copy: one of everything, and one that is compacted in a worker. @param {string} packageFolder @param {string} folder */
async function prepare(packageFolder, folder) {
  /** @type {typeof import('varve')} */
  const { openCache } = await import(pathToFileURL(join(packageFolder, 'dist/index.js')).href)
  await fill(await openCache({ name: 'small', dir: join(folder, 'small'), engine: 'wasm' }))
  cpSync(join(folder, 'small'), join(folder, 'large'), { recursive: true })
  await fillMore(await openCache({ name: 'large', dir: join(folder, 'large'), engine: 'wasm' }))
}

/** The problem of a case; undefined if it has none. @param {string} packageFolder @param {string} folder @param {Case} one */
async function run(packageFolder, folder, { engine, point }) {
  const place = join(folder, `${engine} ${point}`)
  mkdirSync(place)
  cpSync(join(folder, 'small'), join(place, 'bystander'), { recursive: true })
  cpSync(join(folder, engine === 'wasm-worker' ? 'large' : 'small'), join(place, 'victim'), { recursive: true })
  const { code, output, errors } = await start(['--expose-gc', VICTIM, packageFolder, place, engine, point])
  if (existsSync(place)) rmSync(place, { recursive: true })
  if (code !== 0) return `the process ended with ${code}: ${lastLine(errors)}`
  /** @type {{ step: string, code: string, problems: string[] }} */
  const { step, code: failure, problems } = JSON.parse(output)
  const hasFired = errors.includes(`planted panic: ${point}`)
  if (engine === 'native' && !hasFired) return 'the panic never came'
  const expected = QUIET.has(point) ? 'nothing' : 'INTERNAL'
  if (failure !== expected) return `${step} failed with ${failure}, not with ${expected}`
  return problems.length === 0 ? undefined : `after ${step}: ${problems.join('; ')}`
}

/** @param {string} text */
const lastLine = (text) => text.trim().split('\n').at(-1) ?? ''

/** @param {readonly string[]} args @returns {Promise<{ code: number | string, output: string, errors: string }>} */
function start(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: HANG_MS,
      killSignal: 'SIGKILL',
    })
    let [output, errors] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ text) => void (output += text))
    child.stderr.setEncoding('utf8').on('data', (/** @type {string} */ text) => void (errors += text))
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code: code ?? signal ?? 'nothing', output, errors }))
  })
}
