// @ts-check
// webpack's own suites of its persistent cache, with Varve in the place of that cache: what passes without Varve has to
// pass with it. The clone of webpack is not changed, but for the folders that its own tests write.
import { spawn } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { targetDir } from '../../../scripts/common/root.mjs'
import { inLanes } from '../../safety/lanes.mjs'
import { writeAsCommonJs } from './as-commonjs.mjs'
import { findCheckout } from './checkout.mjs'
import { compare, joinRuns, readReport } from './compare.mjs'
import { slicesOf } from './slices.mjs'

/** Files of tests that build with the filesystem cache; the second one has the memory cache alone. */
export const SUITES = [
  'BuildDependencies.longtest.js',
  'WatchCacheUnaffectedTestCases.longtest.js',
  'ConfigCacheTestCases.basictest.js',
  'TestCasesCachePack.longtest.js',
]
const IN_MEMORY = 'WatchCacheUnaffectedTestCases.longtest.js'

/** Tests that expect an output which a build without a cache would not write; `README.md` explains them. */
const DOCUMENTED = new Set([
  'WatchCacheUnaffectedTestCases plugins define-plugin exported tests 1 should not update a define when dependencies list is missing',
])

/** Megabytes that jest may use: it keeps what all tests of a file loaded. */
const HEAP_MB = 6144

/** @typedef {import('./compare.mjs').Comparison & { suite: string, hits: number, misses: number }} Result `hits`: lookups that Varve answered */

/**
 * Runs suites without and with Varve. Throws Skipped if there is no clone of webpack.
 * @param {readonly string[]} suites
 * @param {string | undefined} pattern only tests whose name matches
 * @param {(result: Result) => void} report after each suite
 */
export async function runWebpackSuites(suites, pattern, report) {
  const checkout = findCheckout()
  const folder = join(targetDir, 'suites/webpack')
  await writeAsCommonJs(join(folder, 'varve'))
  await mkdir(folder, { recursive: true })
  for (const suite of suites) {
    const before = await runSuite({ checkout, folder, suite, cache: 'webpack' }, pattern)
    const after = await runSuite({ checkout, folder, suite, cache: 'varve' }, pattern)
    report({ suite, ...(await usesIn(folder)), ...compare(before, after, DOCUMENTED) })
  }
}

/** One suite with one cache. @typedef {{ checkout: string, folder: string, suite: string, cache: 'webpack' | 'varve' }} Order */

/** @param {Order} order @param {string | undefined} pattern */
async function runSuite(order, pattern) {
  const { checkout, folder, suite } = order
  await rm(join(folder, 'caches'), { recursive: true, force: true })
  await mkdir(join(folder, 'caches'))
  await writeFile(join(folder, 'uses'), '')
  const patterns = pattern === undefined ? await slicesOf(checkout, suite) : [pattern]
  return joinRuns(await inLanes(patterns, (one, lane) => runJest(order, one, lane)))
}

/** @param {Order} order @param {string | undefined} pattern @param {number} lane */
async function runJest({ checkout, folder, suite, cache }, pattern, lane) {
  const output = join(folder, `${suite}.${cache}.${lane}.json`)
  await rm(output, { force: true })
  const nodeArgs = ['--expose-gc', `--max-old-space-size=${HEAP_MB}`, '--experimental-vm-modules']
  const jest = join(checkout, 'node_modules/jest-cli/bin/jest.js')
  const config = join(import.meta.dirname, 'jest.config.cjs')
  // Without the cache of jest, which takes what an earlier `without-log.cjs` made.
  const args = [
    '--runInBand',
    '--no-cache',
    '--ci',
    '--silent',
    '--json',
    `--outputFile=${output}`,
    `--config=${config}`,
    `test/${suite}`,
  ]
  const only = pattern === undefined ? [] : [`--testNamePattern=${pattern}`]
  const child = spawn(process.execPath, [...nodeArgs, jest, ...args, ...only], {
    cwd: checkout,
    env: {
      ...process.env,
      CI: '1', // leaves out what webpack leaves out there: builds of some GB
      VARVE_SUITES_CACHE: cache,
      VARVE_SUITES_CHECKOUT: checkout,
      VARVE_SUITES_FOLDER: folder,
      ...(suite === IN_MEMORY ? { VARVE_SUITES_MEMORY: '1' } : {}),
      ...(cache === 'varve'
        ? { NODE_OPTIONS: `--require=${JSON.stringify(join(import.meta.dirname, 'preload.cjs'))}` }
        : {}),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
  return readReport(JSON.parse(await readFile(output, 'utf8')))
}

/** What the compilers of the last run noted. @param {string} folder */
async function usesIn(folder) {
  const lines = (await readFile(join(folder, 'uses'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => line.split(' ').map(Number))
  return {
    hits: lines.reduce((sum, [hits = 0]) => sum + hits, 0),
    misses: lines.reduce((sum, [, misses = 0]) => sum + misses, 0),
  }
}
