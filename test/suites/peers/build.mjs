// @ts-check
// Builds a project with the programs of `test/plugins`, each in its own process: without a cache, with an empty one and with the same
// again. All three have to write the same, and the last one takes everything from the cache.
import assert from 'node:assert'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { at } from '../../../scripts/common/root.mjs'
import { run } from '../../../scripts/common/steps.mjs'

const MODULES = 12

/** @typedef {{ failure?: string | null, digest: string, hits: number, misses: number }} Built */

/** The application of a project, and the programs that build it. @param {string} project */
export async function writeApplication(project) {
  const folder = join(project, 'application')
  await mkdir(join(folder, 'watched'), { recursive: true })
  await cp(at('test/plugins'), join(project, 'programs'), { recursive: true, filter: (path) => !path.endsWith('.ts') })
  const names = Array.from({ length: MODULES }, (_, index) => `module-${index}`)
  const imports = names.map((name, index) => `import { value as v${index} } from './${name}.js'`)
  /** @type {Record<string, string>} */
  const files = {
    ...Object.fromEntries(
      names.map((name, index) => [`${name}.js`, `export const value = (x = ${index}) => x?.y ?? x * 2\n`]),
    ),
    'main.js': `${imports.join('\n')}\nconsole.log(${names.map((_, index) => `v${index}()`).join(' + ')})\n`,
    'extra.js': "console.log('extra')\n",
    'shared.txt': 'shared\n',
    'metro.config.cjs': 'module.exports = {}\n',
    'double.js': 'exports.double = (x) => x * 2\n',
    'double.test.js': "test('doubles', () => expect(require('./double.js').double(7)).toBe(14))\n",
    'package.json': '{ "name": "application", "version": "1.0.0" }\n',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  await cp(at('test/plugins/rspack/loader.cjs'), join(folder, 'loader.cjs'))
}

/** @param {string} project @param {string} program @param {object} order @param {NodeJS.ProcessEnv} variables @returns {Promise<any>} */
async function runProgram(project, program, order, variables = {}) {
  const path = join(project, 'programs', program)
  const env = { ...process.env, NODE_ENV: '', ...variables }
  const printed = await run(process.execPath, [path, JSON.stringify(order)], { cwd: join(project, 'application'), env })
  return JSON.parse(printed.trim().split('\n').at(-1) ?? '')
}

/**
 * Compares three builds; resolves to the results that the last one took from the cache.
 * @param {(order: 'plain' | 'cached') => Promise<Built>} build
 */
async function compare(build) {
  const [plain, cold, warm] = [await build('plain'), await build('cached'), await build('cached')]
  for (const { failure = null } of [plain, cold, warm]) assert.equal(failure, null)
  assert.ok(
    plain.digest !== '' && cold.digest === plain.digest,
    'a cold build writes other files than one without a cache',
  )
  assert.equal(warm.digest, plain.digest, 'a warm build writes other files than one without a cache')
  assert.ok(cold.misses > 0 && warm.hits > 0, `the cache took no part: ${cold.misses} misses, then ${warm.hits} hits`)
  assert.equal(warm.misses, 0, 'the warm build missed')
  return warm.hits
}

/** @param {string} project @param {string} tool */
export function buildBundle(project, tool) {
  return compare((way) => runProgram(project, `${tool}/build.mjs`, { isCached: way === 'cached' }))
}

/** webpack restores packs of many modules at once. @param {string} project */
export function buildWebpack(project) {
  const folder = join(project, 'application')
  return compare((way) =>
    runProgram(project, 'webpack/build.mjs', { folder, cache: way === 'cached' ? 'varve' : 'none' }),
  )
}

/** @param {string} project */
export function buildMetro(project) {
  const folder = join(project, 'application')
  return compare((way) => runProgram(project, 'metro/build.mjs', { folder, options: way === 'cached' ? {} : null }))
}

/** Parcel's workers have to know the class of the cache. @param {string} project */
export function buildParcel(project) {
  const variables = { NODE_OPTIONS: `--require=${join(project, 'programs/parcel/cache.cjs')}` }
  return compare((way) => runProgram(project, 'parcel/build.mjs', { isCached: way === 'cached' }, variables))
}

/** 40 values that a process sets and another one gets. @param {string} project @param {string} tool */
export async function useStore(project, tool) {
  const order = { options: { dir: join(project, 'cache') }, first: 0, count: 40 }
  assert.deepEqual(await runProgram(project, `${tool}/program.mjs`, order), { hits: 0, misses: 40, wrong: 0 })
  assert.deepEqual(await runProgram(project, `${tool}/program.mjs`, order), { hits: 40, misses: 0, wrong: 0 })
  return 40
}

/** Runs Jest twice, without its own cache: the second run passes too, and transforms nothing. @param {string} project */
export async function runJest(project) {
  const folder = join(project, 'application')
  const [runs, own] = [join(folder, '.runs-cache'), join(folder, 'jest-cache')]
  const { resolve } = createRequire(join(project, 'package.json'))
  const options = { transformer: join(project, 'programs/jest/transformer.cjs'), dir: join(folder, 'cache') }
  const transform = { '\\.js$': ['@varve/plugins/jest', options] }
  await writeFile(
    join(folder, 'jest.config.json'),
    JSON.stringify({ cacheDirectory: own, testEnvironment: 'node', transform }),
  )
  const transformed = async () => {
    for (const path of [runs, own]) await rm(path, { recursive: true, force: true })
    await run(process.execPath, [resolve('jest/bin/jest'), '--ci', '--watchman=false', '--runInBand'], { cwd: folder })
    return existsSync(runs) ? (await readFile(runs, 'utf8')).trim().split('\n').length : 0
  }
  const cold = await transformed()
  assert.ok(cold > 0, 'the transformer of the test did not run')
  assert.equal(await transformed(), 0, 'the second run transformed files')
  return cold
}
