// @ts-check
// Runs a scenario: after each step one build without a cache, one with Varve and, for webpack, one with webpack's own
// cache, each in a separate process, and compares what they came to.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { MARK } from './build/outcome.mjs'
import { Project } from './project.mjs'
import { AGAIN, stepsOf } from './scenario.mjs'

/** @typedef {import('./scenario.mjs').Scenario} Scenario */
/** @typedef {import('./build/outcome.mjs').Outcome} Outcome */
/** @typedef {'none' | 'own' | 'varve'} Cache */

/**
 * @typedef {object} StepResult
 * @property {string} step
 * @property {string | undefined} difference how the build with Varve differs from one without a cache
 * @property {string | undefined} ownDifference how that with webpack's own cache differs; undefined too if it was not built
 * @property {string | undefined} limit why the difference is known
 */

/** A build that takes longer hangs. */
const BUILD_MS_MAX = 240_000

/** Projects are inside the repository, so that they find its packages; the packages of the suite are beside them. */
export const PROJECTS = join(import.meta.dirname, 'target')

/**
 * @param {Scenario} scenario
 * @param {{ isOwnIncluded: boolean }} options whether webpack's own cache builds as well
 * @returns {Promise<StepResult[]>}
 */
export async function runScenario(scenario, { isOwnIncluded }) {
  const { name, tool = 'webpack', files, limits = {}, ownLimit } = scenario
  const project = new Project(join(PROJECTS, name.replace(/\W+/g, '-')), files)
  const hasOwn = isOwnIncluded && tool === 'webpack'
  /** @type {StepResult[]} */
  const results = []
  for (const [step, changes] of stepsOf(scenario)) {
    for (const change of changes) project.apply(change)
    const expected = await build(project, scenario, 'none')
    const built = await build(project, scenario, 'varve')
    const own = hasOwn ? await build(project, scenario, 'own') : undefined
    const idle = step === AGAIN && built.hits === 0 ? 'the cache answered nothing' : undefined
    const difference = differenceOf(expected, built) ?? idle
    const ownDifference = own && differenceOf(expected, own)
    const isShared = difference !== undefined && ownDifference !== undefined
    results.push({ step, difference, ownDifference, limit: limits[step] ?? (isShared ? ownLimit : undefined) })
  }
  return results
}

/**
 * How one build differs from another; undefined if it does not.
 * @param {Outcome} expected
 * @param {Outcome} built
 */
export function differenceOf(expected, built) {
  const files = Object.keys({ ...expected.files, ...built.files }).filter(
    (file) => expected.files[file] !== built.files[file],
  )
  const said = /** @type {const} */ (['errors', 'warnings']).filter(
    (kind) => String(expected[kind]) !== String(built[kind]),
  )
  const parts = [
    ...files,
    ...said.map((kind) => `${kind}: ${built[kind].join('; ')} instead of ${expected[kind].join('; ')}`),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}

/**
 * @param {Project} project
 * @param {Scenario} scenario
 * @param {Cache} cache
 * @returns {Promise<Outcome>}
 */
function build(project, { tool = 'webpack', folder = '.', config = 'webpack.config.cjs' }, cache) {
  /** @type {Readonly<Record<string, readonly string[]>>} */
  const programs = { webpack: ['webpack.mjs', config], 'vite-serve': ['vite-serve.mjs'], vitest: ['vitest.mjs'] }
  const [program = '', ...given] = programs[tool] ?? ['bundler.mjs', tool]
  const args = [join(import.meta.dirname, 'build', program), ...given, cache]
  const child = spawn(process.execPath, args, {
    cwd: join(project.folder, folder),
    env: { ...process.env, NODE_ENV: undefined, ...project.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: BUILD_MS_MAX,
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (err += text))
  return new Promise((done, fail) => {
    child.on('error', fail)
    child.on('close', (code, signal) => {
      const line = out.split('\n').findLast((one) => one.startsWith(MARK))
      if (line === undefined)
        fail(new Error(`${args.join(' ')} in ${project.folder} ended with ${signal ?? code}: ${err || out}`))
      else done(JSON.parse(line.slice(MARK.length)))
    })
  })
}
