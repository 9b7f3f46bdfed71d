// @ts-check
// What a test asks of a build in a separate process, and what the process prints. Run with the application's folder as
// the working directory.
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** @typedef {{ name: string, hits: number, misses: number, uncacheable: Readonly<Record<string, number>> }} Stats */

export const folder = process.cwd()

/** What is asked; `scenarios.ts` describes it. @type {import('./scenarios.ts').Order} */
const given = JSON.parse(process.argv[2] ?? '{}')
export const order = {
  isCached: true,
  entry: 'main.js',
  output: 'dist',
  banner: 'plain',
  version: '1.0.0',
  isKeyless: false,
  asks: false,
  watches: false,
  config: /** @type {Record<string, unknown>} */ ({}),
  options: {},
  ...given,
}

/** @type {Stats} */
let stats = { name: '', hits: 0, misses: 0, uncacheable: {} }
/** @type {string[]} */
const warnings = []

/** The options of the cache. */
export const cacheOptions = {
  dir: 'cache',
  cacheKey: order.isKeyless ? undefined : { banner: order.banner },
  onStats: (/** @type {Stats} */ one) => void (stats = one),
  ...order.options,
}

/** Notes that the plugin ran for a module. @param {string} path */
export function noteRun(path) {
  runs.push(path)
}

/** @type {string[]} */
const runs = []

/** Not in `noteRun`: a plugin that writes files is not cached. */
function writeRuns() {
  if (runs.length > 0)
    appendFileSync(
      join(folder, '.runs-cache'),
      runs
        .splice(0)
        .map((path) => `${path}\n`)
        .join(''),
    )
}

/** @param {unknown} text */
export function noteWarning(text) {
  warnings.push(String(text))
}

let [hasEnded, hasChanged] = [false, false]

/**
 * Runs after each build of a watching tool. Watchers need a moment before they see changes, and some build twice at first: such a build may
 * end after the change, and without it.
 */
export function noteEnd() {
  writeRuns()
  const isBuilt = () =>
    filesIn(join(folder, order.output)).some((path) => readFileSync(path, 'utf8').includes('changed'))
  if (hasChanged && isBuilt()) process.kill(process.pid, 'SIGKILL')
  if (!hasEnded) setTimeout(changeShared, 500)
  hasEnded = true
}

function changeShared() {
  hasChanged = true
  writeFileSync(join(folder, 'shared.txt'), 'changed\n')
}

/**
 * Runs the build and prints the result.
 * @param {() => Promise<unknown>} build
 */
export async function report(build) {
  /** @type {string | null} */
  let failure = null
  await build().catch((error) => void (failure = String(error?.message ?? error)))
  writeRuns()
  process.stdout.write(
    JSON.stringify({ failure, warnings: warnings.toSorted(), digest: digestOf(join(folder, order.output)), ...stats }),
  )
}

/** Digest of all files of a folder. @param {string} output */
function digestOf(output) {
  const files = filesIn(output)
  const hash = createHash('sha256')
  for (const path of files) hash.update(path.slice(folder.length)).update(readFileSync(path))
  return files.length === 0 ? '' : hash.digest('hex')
}

/** @param {string} output @returns {string[]} */
function filesIn(output) {
  if (!existsSync(output)) return []
  const files = readdirSync(output, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map((file) => join(file.parentPath, file.name)).sort()
}
