// @ts-check
// `npm test`: setup, the tests of the crates (cargo), the tests of the packages that are not slow (vitest), a sample of
// each safety suite (`test/safety`). vitest leaves part of two cores idle, so the others run beside it and print when it has ended. The last
// line sums up: "<n> passed, <n> failed".
//
//   npm test -- <filter>          only vitest, on files whose path contains the filter; slow tests run, too
//   npm test -- --all              everything: slow tests and the short forms of the safety suites, too
//   npm test -- --all --rest    what `npm test` leaves out; with --share=2/3, the second third of it
//   npm test -- test/remote --long a cluster of MinIO, too, which `npm run setup -- --servers --long` builds
import { performance } from 'node:perf_hooks'
import { EDITING } from '../test/safety/all.mjs'
import { sumOutcomes } from './test/outcome.mjs'
import { compileTests, runCargo, runSafety, runSample, runVitest } from './test/runners.mjs'
import { isReady, setup } from './setup.mjs'
import { printStep, runMain, secondsSince, step } from './common/steps.mjs'

/** @typedef {import('./test/runners.mjs').Runner} Runner */
/** A runner and its name. @typedef {readonly [name: string, start: () => Promise<Runner>]} Named */

/** @type {Named} */
const CARGO = ['cargo test', runCargo]

/**
 * What a form runs: what runs beside vitest, one after the other, which tests of vitest, and what follows.
 * @typedef {object} Form
 * @property {readonly Named[]} beside
 * @property {readonly string[]} vitest
 * @property {readonly Named[]} after
 * @property {string} minutes on 2 cores that do nothing else
 */

/** @type {Readonly<Record<'short' | 'all' | 'rest', Form>>} */
const FORMS = {
  short: {
    beside: [CARGO, ['safety', runSample]],
    vitest: ['--tags-filter=!slow'],
    after: [['safety: mutation', () => runSafety('sample', [EDITING])]],
    minutes: '4',
  },
  all: { beside: [CARGO], vitest: [], after: [['safety', () => runSafety('all')]], minutes: '31' },
  rest: { beside: [], vitest: ['--tags-filter=slow'], after: [['safety', () => runSafety('rest')]], minutes: '43' },
}

/** What remains of the rest with `--share`. @param {string} share @returns {Form} */
const shareOf = (share) => ({
  ...FORMS.rest,
  vitest: [...FORMS.rest.vitest, `--shard=${share}`],
  after: [['safety', () => runSafety('rest', undefined, share)]],
  minutes: String(Math.ceil(Number(FORMS.rest.minutes) / Number(share.split('/')[1]))),
})

/** What a fresh clone needs before: installing, building, compiling the tests. */
const FRESH_MINUTES = '8'

/** Runs one after the other. @param {readonly Named[]} named */
async function runEach(named) {
  const runners = []
  for (const [name, start] of named) {
    const startMs = performance.now()
    const runner = await start()
    printStep(runner.exitCode === 0 ? '✓' : '✗', name, secondsSince(startMs))
    runners.push(runner)
  }
  return runners
}

/** @param {Form} form */
async function prepare({ beside, minutes }) {
  const before = isReady() ? '' : `, and ${FRESH_MINUTES} to build`
  process.stderr.write(`  expected on 2 cores: about ${minutes} minutes${before}\n`)
  // Linking an engine keeps one core busy; meanwhile the other one compiles tests.
  await setup(beside.includes(CARGO) ? () => step('cargo test: compile', compileTests) : undefined)
}

await runMain(async () => {
  const args = process.argv.slice(2)
  const share = args.find((arg) => arg.startsWith('--share='))?.slice('--share='.length)
  const filter = args.filter((arg) => !['--all', '--rest', '--long'].includes(arg) && !arg.startsWith('--share='))
  if (args.includes('--long')) process.env.VARVE_LONG = '1'
  const isFiltered = filter.length > 0
  const name = args.includes('--rest') ? 'rest' : args.includes('--all') ? 'all' : 'short'
  const whole = share === undefined ? FORMS[name] : shareOf(share)
  const form = isFiltered ? { beside: [], vitest: filter, after: [], minutes: '' } : whole
  await (isFiltered ? setup() : prepare(form))
  const [beside, inView] = await Promise.all([
    runEach(form.beside),
    runEach([['vitest', () => runVitest(form.vitest)]]),
  ])
  for (const { text } of beside) process.stdout.write(text ?? '')
  const runners = [...beside, ...inView, ...(await runEach(form.after))]
  const { passed, failed } = sumOutcomes(runners)
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  if (runners.some(({ exitCode }) => exitCode !== 0)) process.exitCode = 1
})
