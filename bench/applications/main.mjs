// @ts-check
// `node bench/applications/main.mjs`: CPU time of whole builds of applications with webpack: without a cache, with webpack's cache in memory,
// which every cache on disk stands on, and with Varve and webpack's own cache on disk, each cold and warm. Ways take turns within a round, and
// the two caches between rounds. All outputs have to be equal.
//
//   --only <name>    react, maps, docusaurus or next; may be repeated
//   --rounds <n>     the number of rounds (default 3)
//   --json           print every measurement as JSON instead of the table
import assert from 'node:assert'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { at, targetDir } from '../../scripts/common/root.mjs'
import { runMain, run, step } from '../../scripts/common/steps.mjs'
import { SIZES, writeApplication } from '../../scripts/demo/application.mjs'
import { setup } from '../../scripts/setup.mjs'
import { environmentOf, filesOf, installExample, packVarve } from '../../test/suites/examples/build.mjs'
import { EXAMPLES } from '../../test/suites/examples/projects.mjs'
import { writeCopies } from '../examples/copies.mjs'
import { median } from '../median.mjs'
import { printProcessor } from '../processor.mjs'

/** @typedef {'none' | 'memory' | 'varve' | 'webpack'} Cache */
/** @typedef {'cold' | 'warm'} State */
/** @typedef {{ cache: Cache, state: State }} Way */
/** @typedef {Record<string, number>} Round CPU seconds by the name of a way */

/**
 * @typedef {object} Application
 * @property {string} name
 * @property {import('../../test/suites/examples/projects.mjs').Example} example what its build writes
 * @property {(project: string) => Promise<unknown>} install
 * @property {(project: string, cache: Cache) => string[]} command
 */

/**
 * An application of the demo. Its modules go through Babel.
 * @param {string} name @param {import('../../scripts/demo/application.mjs').ApplicationSize} size
 * @param {boolean} maps whether it is minimised, with source maps
 * @returns {Application}
 */
function demoOf(name, size, maps) {
  return {
    name,
    example: { name, title: name, output: 'dist', pages: [], copies: 0, cached: 'all of webpack' },
    install: (project) => writeApplication(project, size),
    command: (project, cache) => {
      const cacheDir = join(project, 'node_modules/.cache/webpack')
      const order = {
        cache,
        engine: null,
        app: project,
        output: join(project, 'dist'),
        cacheDir: cache === 'varve' ? `${project}-caches` : cacheDir,
        maps,
      }
      return ['node', at('scripts/demo/build.mjs'), JSON.stringify(order)]
    },
  }
}

/** An example of the repository, with copies of its pages. @param {string} name @param {number} copies @returns {Application} */
function exampleOf(name, copies) {
  const found = EXAMPLES.find((one) => one.name === name)
  assert.ok(found !== undefined)
  const config = `${name}.config.js`
  return {
    name,
    example: found,
    install: async (project) => {
      await installExample(found, project, await packVarve())
      await writeCopies({ ...found, copies }, project)
      await copyFile(join(import.meta.dirname, 'configs', config), join(project, config))
    },
    command: () => ['npm', 'run', 'build'],
  }
}

const APPLICATIONS = [
  demoOf('react', { ownModules: 240, packages: ['antd', 'dates', 'd3'] }, false),
  demoOf('maps', SIZES.full, true),
  exampleOf('docusaurus', 60),
  exampleOf('next', 30),
]

const TIMES = ['no cache', 'in memory', 'Varve cold', 'warm', "webpack's cache cold", 'warm']
const HEAD = ['application', ...TIMES, 'in memory / no cache', 'Varve cold / no cache', "warm / webpack's warm"]

/** @param {Way} way */
const nameOf = ({ cache, state }) => (cache === 'none' || cache === 'memory' ? cache : `${cache} ${state}`)

/** The builds of a round. @param {number} round @returns {Way[]} */
function waysOf(round) {
  /** @type {Cache[]} */
  const caches = round % 2 === 0 ? ['varve', 'webpack'] : ['webpack', 'varve']
  const states = /** @type {const} */ (['cold', 'warm'])
  const kept = caches.flatMap((cache) => states.map((state) => ({ cache, state })))
  return [{ cache: 'none', state: 'cold' }, { cache: 'memory', state: 'cold' }, ...kept]
}

/**
 * Builds once. A cold build has no cache at all, a warm one that of its cold build.
 * @param {Application} application @param {string} project @param {Way} way
 */
async function build({ example, command }, project, { cache, state }) {
  const { output, leftovers = [] } = example
  const caches = state === 'cold' ? [join(project, 'node_modules/.cache'), `${project}-caches`] : []
  for (const path of [...[output, ...leftovers].map((one) => join(project, one)), ...caches])
    await rm(path, { recursive: true, force: true })
  const env = { ...environmentOf(project, 'warm'), VARVE_HISTORY: undefined, BENCH_CACHE: cache }
  const printed = await run('bash', ['-c', `TIMEFORMAT=$'\\n%U %S'; time "$@"`, 'bash', ...command(project, cache)], {
    cwd: project,
    env,
  })
  const [user = 0, system = 0] = (printed.trim().split('\n').at(-1) ?? '').split(' ').map(Number)
  return { cpuSeconds: user + system, files: String(await filesOf(example, project)) }
}

/** @param {Application} application @param {string} project @param {number} rounds */
async function measure(application, project, rounds) {
  /** @type {Round[]} */
  const measured = []
  /** @type {string | undefined} */
  let expected
  for (let round = 0; round < rounds; round++) {
    /** @type {Round} */
    const seconds = {}
    for (const way of waysOf(round)) {
      const { cpuSeconds, files } = await build(application, project, way)
      expected ??= files
      assert.ok(
        files === expected,
        `${application.name}: a build with ${nameOf(way)} writes other files than one without a cache`,
      )
      seconds[nameOf(way)] = cpuSeconds
    }
    measured.push(seconds)
  }
  return measured
}

/** The median of the ratios within rounds, and their range. @param {readonly Round[]} rounds @param {string} way @param {string} other */
function ratioOf(rounds, way, other) {
  const ratios = rounds.map((round) => (round[way] ?? Number.NaN) / (round[other] ?? Number.NaN))
  return `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} - ${Math.max(...ratios).toFixed(2)})`
}

/** @param {string} name @param {readonly Round[]} rounds */
function rowOf(name, rounds) {
  const ways = ['none', 'memory', 'varve cold', 'varve warm', 'webpack cold', 'webpack warm']
  const times = ways.map((way) => median(rounds.map((round) => round[way] ?? Number.NaN)).toFixed(1))
  return [
    name,
    ...times,
    ratioOf(rounds, 'memory', 'none'),
    ratioOf(rounds, 'varve cold', 'none'),
    ratioOf(rounds, 'varve warm', 'webpack warm'),
  ]
}

await runMain(async () => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      rounds: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
    },
  })
  await setup()
  const folder = await mkdtemp(join(targetDir, 'applications-'))
  const rows = [HEAD]
  /** @type {Record<string, Round[]>} */
  const all = {}
  try {
    for (const application of APPLICATIONS.filter(({ name }) => values.only?.includes(name) ?? true)) {
      const { name } = application
      const project = join(folder, name)
      await step(`${name}: install`, () => application.install(project))
      const rounds = await step(`${name}: ${values.rounds} rounds`, () =>
        measure(application, project, Number(values.rounds)),
      )
      all[name] = rounds
      rows.push(rowOf(name, rounds))
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  process.stdout.write(
    values.json ? `${JSON.stringify(all)}\n` : rows.map((row) => `| ${row.join(' | ')} |\n`).join(''),
  )
  printProcessor()
})
