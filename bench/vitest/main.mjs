// @ts-check
// `node bench/vitest/main.mjs`: runs the tests of an application of 1,000 modules (Vue, MDX, React with Babel) with Vitest: without a
// cache, with Vitest's own `experimental.fsModuleCache`, with Varve and with both, all of them full. Then once more in another checkout,
// with the caches that the first one has filled. Each run is a process of its own. Needs `npm run setup`.
//
//   --rounds <n>     the number of rounds (default 5; a round takes about a minute)
//   --modules <n>    the number of modules (default 1,000)
//   --svg            draws docs/images/vitest.svg
//
// stdout: one JSON object per line, medians over the rounds. stderr: progress, and medians of the ratios within a round.
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { at } from '../../scripts/common/root.mjs'
import { run, runMain } from '../../scripts/common/steps.mjs'
import { bars } from '../bars.mjs'
import { median } from '../median.mjs'
import { printProcessor } from '../processor.mjs'
import { FEATURE_SIZE, writeApplication } from '../vite/application.mjs'

/** @typedef {{ wallMs: number, cpuMs: number, hits: number, misses: number }} Sample */
/** @typedef {(typeof SUBJECTS)[number]} SubjectName */

const SUBJECTS = /** @type {const} */ (['no cache', 'own', 'varve', 'both'])
const METRICS = /** @type {const} */ (['wallMs', 'cpuMs'])
/** Features that one file of tests imports. */
const FEATURES_PER_TEST = 5
const PACKAGES = ['vue', 'react', 'vitest', 'vite', 'varve', '@varve', '@babel', '@rollup', '@mdx-js', '@vitejs']

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    modules: { type: 'string', default: '1000' },
    svg: { type: 'boolean', default: false },
  },
})

/** @param {string} text */
const log = (text) => void process.stderr.write(`${text}\n`)

/**
 * An application with tests that import all of its modules.
 * @param {string} folder
 */
async function writeTested(folder) {
  await mkdir(join(folder, 'node_modules'), { recursive: true })
  await writeApplication(folder, Number(options.modules), 'jsx')
  await copyFile(at('bench/vitest/vitest.config.mjs'), join(folder, 'vitest.config.mjs'))
  for (const name of PACKAGES) await symlink(at(`node_modules/${name}`), join(folder, 'node_modules', name))
  const features = Math.ceil(Number(options.modules) / FEATURE_SIZE)
  for (let first = 0; first < features; first += FEATURES_PER_TEST) {
    const numbers = Array.from({ length: Math.min(FEATURES_PER_TEST, features - first) }, (_, index) => first + index)
    const imports = numbers.map((number) => `import * as feature${number} from './feature-${number}/index.js'`)
    const test = (/** @type {number} */ number) =>
      `it('${number}', () => expect(Object.keys(feature${number})).toHaveLength(${FEATURE_SIZE}))`
    await writeFile(
      join(folder, `src/from-${first}.test.js`),
      ["import { expect, it } from 'vitest'", ...imports, ...numbers.map(test)].join('\n'),
    )
  }
}

/**
 * Runs all tests once.
 * @param {string} home
 * @param {SubjectName} subject
 * @param {string} [checkout]
 * @returns {Promise<Sample>}
 */
async function runOnce(home, subject, checkout = 'application') {
  const result = join(home, 'result.json')
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, NODE_ENV: 'test', BENCH_RESULT: result, BENCH_OWN: undefined, BENCH_VARVE: undefined }
  if (subject === 'own' || subject === 'both') env.BENCH_OWN = join(home, `own-${subject}`)
  if (subject === 'varve' || subject === 'both') env.BENCH_VARVE = join(home, `varve-${subject}`)
  const startMs = performance.now()
  await run(process.execPath, [at('node_modules/vitest/vitest.mjs'), 'run'], { cwd: join(home, checkout), env })
  const wallMs = performance.now() - startMs
  return { wallMs, ...JSON.parse(await readFile(result, 'utf8')) }
}

/** The other order in every other round. @param {string} home @param {number} round @param {string} [checkout] */
async function runRound(home, round, checkout) {
  /** @type {Partial<Record<SubjectName, Sample>>} */
  const samples = {}
  for (const subject of round % 2 === 0 ? SUBJECTS : SUBJECTS.toReversed())
    samples[subject] = await runOnce(home, subject, checkout)
  return /** @type {Record<SubjectName, Sample>} */ (samples)
}

/** @param {string} what @param {readonly Record<SubjectName, Sample>[]} rounds */
function print(what, rounds) {
  for (const name of SUBJECTS) {
    for (const metric of METRICS) {
      const value = Number(median(rounds.map((round) => round[name][metric])).toPrecision(4))
      process.stdout.write(
        `${JSON.stringify({ id: `vitest/${what}/modules_${options.modules}`, name, metric, value, rounds: rounds.length })}\n`,
      )
    }
  }
  for (const metric of METRICS) {
    const ratio = (/** @type {SubjectName} */ name, /** @type {SubjectName} */ to) =>
      `${name} / ${to} = ${median(rounds.map((round) => round[name][metric] / round[to][metric])).toFixed(3)}`
    log(
      `  ${what} ${metric}: ${[ratio('varve', 'own'), ratio('both', 'own'), ratio('own', 'no cache'), ratio('varve', 'no cache')].join(', ')}`,
    )
  }
  for (const name of /** @type {const} */ (['varve', 'both'])) {
    const { hits, misses } = rounds.at(-1)?.[name] ?? {}
    log(`  ${what} ${name}: ${hits} hits, ${misses} misses`)
  }
}

/** @param {readonly Record<SubjectName, Sample>[]} warm @param {Record<SubjectName, Sample>} other of another checkout */
async function draw(warm, other) {
  const secondsOf = (/** @type {SubjectName} */ name) => median(warm.map((round) => round[name].wallMs)) / 1000
  const title = `Vitest: seconds of a run of tests that import ${Number(options.modules).toLocaleString('en')} modules`
  await writeFile(
    at('docs/images/vitest.svg'),
    bars(title, [
      { way: 'without', name: 'without a cache', seconds: secondsOf('no cache') },
      { way: 'warm', name: 'next runs', seconds: secondsOf('varve') },
      { way: 'warm', name: 'in another checkout', seconds: other.varve.wallMs / 1000 },
      { way: 'cold', name: 'with fsModuleCache', seconds: secondsOf('both') },
    ]),
  )
}

await runMain(async () => {
  printProcessor()
  const home = await mkdtemp(join(tmpdir(), 'varve-bench-vitest-'))
  try {
    for (const checkout of ['application', 'other']) await writeTested(join(home, checkout))
    await runRound(home, 0)
    const other = await runRound(home, 0, 'other')
    print('other checkout', [other])
    const rounds = []
    for (let round = 0; round < Number(options.rounds); round++) {
      rounds.push(await runRound(home, round))
      log(`round ${round + 1} of ${options.rounds}`)
    }
    print('warm', rounds)
    if (options.svg) await draw(rounds, other)
  } finally {
    await rm(home, { recursive: true, force: true })
  }
})
