// @ts-check
// The builds of the demo: for each cache a cold build, a warm one, and one with a changed file, each in a fresh process.
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { at } from '../common/root.mjs'
import { run, step } from '../common/steps.mjs'
import { changeOneModule, writeApplication } from './application.mjs'

/** @typedef {import('./build.mjs').CacheKind} CacheKind */
/** @typedef {'cold' | 'warm' | 'change'} StepName */
/** @typedef {{ cache: CacheKind, engine: 'native' | 'wasm' | null}} Subject */
/** @typedef {{ step: StepName, seconds: number, hits: number, misses: number }} Timed */
/** @typedef {Subject & Timed & { bytes: number, files: number, identical: boolean }} Row */

/** @type {readonly Subject[]} */
const SUBJECTS = [
  { cache: 'none', engine: null },
  { cache: 'webpack', engine: null },
  { cache: 'varve', engine: 'native' },
  { cache: 'varve', engine: 'wasm' },
]

/** @type {readonly StepName[]} */
const STEPS = ['cold', 'warm', 'change']

const home = at('.demo')

/** @param {Subject} subject */
export const nameOf = ({ cache, engine }) => [cache, engine ?? []].flat().join(' ')

/** @param {Subject} subject */
export const cacheDirOf = (subject) => join(home, 'caches', nameOf(subject).replaceAll(' ', '-'), 'webpack')

/**
 * Builds everything. The first subject has no cache; the bundles of all others must equal its bundles.
 * @param {import('./application.mjs').ApplicationSize} size
 * @returns {Promise<Row[]>}
 */
export async function buildAll(size) {
  await rm(home, { recursive: true, force: true })
  /** @type {Row[]} */
  const rows = []
  /** @type {Map<StepName, string>} */
  const expected = new Map()
  for (const subject of SUBJECTS) {
    await writeApplication(home, size)
    for (const name of STEPS) {
      if (name === 'change') await changeOneModule(home, size, 1)
      const row = await step(`${nameOf(subject)}, ${name}`, () => buildOnce(subject, name, expected))
      rows.push(row)
    }
  }
  return rows
}

/**
 * Uses one directory with both engines: one engine reads what the other one wrote.
 * @param {import('./application.mjs').ApplicationSize} size
 * @returns {Promise<{ hits: number, misses: number }[]>}
 */
export async function crossOver(size) {
  const crossed = []
  for (const [writer, reader] of /** @type {const} */ ([
    ['native', 'wasm'],
    ['wasm', 'native'],
  ])) {
    await writeApplication(home, size)
    const cacheDir = cacheDirOf({ cache: 'varve', engine: writer })
    // The cache has the changed file already. The first text of that one module is a miss.
    const build = () => runBuild({ cache: 'varve', engine: reader }, cacheDir)
    crossed.push(await step(`written by ${writer}, read by ${reader}`, build))
  }
  return crossed
}

/**
 * @param {Subject} subject
 * @param {StepName} name
 * @param {Map<StepName, string>} expected
 * @returns {Promise<Row>}
 */
async function buildOnce(subject, name, expected) {
  const cacheDir = cacheDirOf(subject)
  const startMs = performance.now()
  const { hits, misses, digest } = await runBuild(subject, cacheDir)
  const seconds = (performance.now() - startMs) / 1000
  if (!expected.has(name)) expected.set(name, digest)
  const { bytes, files } = await sizeOf(cacheDir)
  return { ...subject, step: name, seconds, hits, misses, bytes, files, identical: expected.get(name) === digest }
}

/**
 * @param {Subject} subject
 * @param {string} cacheDir
 * @returns {Promise<{ hits: number, misses: number, digest: string }>}
 */
async function runBuild(subject, cacheDir) {
  const order = { ...subject, app: home, output: join(home, 'dist'), cacheDir }
  return JSON.parse(
    await run(process.execPath, [at('scripts/demo/build.mjs'), JSON.stringify(order)], {
      env: { ...process.env, VARVE_REMOTE: '' },
    }),
  )
}

/**
 * @param {string} folder
 * @returns {Promise<{ bytes: number, files: number }>}
 */
async function sizeOf(folder) {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const found = names.filter((entry) => entry.isFile())
  const sizes = await Promise.all(found.map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size))
  return { bytes: sizes.reduce((sum, bytes) => sum + bytes, 0), files: found.length }
}
