// @ts-check
// `npm run test:suites`: the plugins against what others wrote, and against everything that may change in a project.
//
//   --only <webpack | staleness | generator | known | pnp | poisoned>   one part; may be repeated
//   --suite <file>     of webpack's suites, only this file of tests; may be repeated
//   --programs <count> of the generator for each tool; 2,000 by default, which take hours
//   --seed <number>    of its first program
//   --filter <regex>   only scenarios, or tests of webpack, whose name matches
import { parseArgs } from 'node:util'
import { setup } from '../../scripts/setup.mjs'
import { runMain, Skipped, step, StepFailed } from '../../scripts/common/steps.mjs'
import { runGenerator } from './generator/main.mjs'
import { TOOLS } from './generator/program.mjs'
import { runKnown } from './known/main.mjs'
import { runPoisoned } from './poisoned.mjs'
import { runPnp } from './pnp/main.mjs'
import { runStaleness } from './staleness/main.mjs'
import { runWebpackSuites, SUITES } from './webpack/main.mjs'

const { values: options } = parseArgs({
  options: {
    only: {
      type: 'string',
      multiple: true,
      default: ['webpack', 'staleness', 'generator', 'known', 'pnp', 'poisoned'],
    },
    programs: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    suite: { type: 'string', multiple: true, default: SUITES },
    filter: { type: 'string' },
  },
})

/** @param {string} line */
const print = (line) => void process.stdout.write(`${line}\n`)

/** @type {Readonly<Record<string, () => Promise<void>>>} */
const PARTS = {
  async webpack() {
    /** @type {string[]} */
    const bad = []
    await runWebpackSuites(
      options.suite,
      options.filter,
      ({ suite, hits, misses, passed, lost, right, failedBefore }) => {
        for (const name of lost) print(`  lost: ${name}`)
        for (const name of right) print(`  documented as different, but passes: ${name}`)
        print(`${suite}: ${passed} passed, ${lost.length} lost, ${failedBefore.length} fail without Varve too`)
        print(`  Varve answered ${hits} of ${hits + misses} lookups`)
        if (lost.length > 0 || right.length > 0 || hits + misses === 0) bad.push(suite)
      },
    )
    if (bad.length > 0)
      throw new Error(
        `tests were lost, passed although documented as different, or did not use Varve: ${bad.join(', ')}`,
      )
  },
  async staleness() {
    const { right, wrong, limits, ownWrong } = await runStaleness(options.filter ?? '', print)
    print(
      `staleness: ${right} steps right, ${limits} limits, ${wrong} wrong; webpack's own cache is wrong after ${ownWrong}`,
    )
    if (wrong > 0 || right === 0) throw new Error('a cache gave another result than a build without it')
  },
  async generator() {
    const given = { seed: Number(options.seed), count: Number(options.programs), lanes: 2, isShrunk: true }
    const failed = await runGenerator({ tools: TOOLS, ...given }, print)
    if (failed > 0) throw new Error(`${failed} generated programs were built differently with a cache`)
  },
  async known() {
    const wrong = await runKnown(options.filter ?? '', print)
    if (wrong > 0)
      throw new Error(`${wrong} plugins that are known to keep nothing were wrong in a build from the cache`)
  },
  async pnp() {
    const wrong = await runPnp(print)
    if (wrong > 0) throw new Error(`${wrong} builds of a project with Yarn Plug'n'Play were wrong`)
  },
  async poisoned() {
    if (!(await runPoisoned())) throw new Error('a cached value changed or broke a build')
  },
}

await runMain(async () => {
  const unknown = options.only.find((name) => PARTS[name] === undefined)
  if (unknown !== undefined) throw new Error(`unknown part '${unknown}': expected ${Object.keys(PARTS).join(', ')}`)
  await setup()
  /** @type {string[]} */
  const skipped = []
  let failed = 0
  for (const name of options.only) {
    await step(name, () => PARTS[name]?.()).catch((error) => {
      if (error instanceof Skipped) return void skipped.push(`${name}: ${error.message}`)
      if (!(error instanceof StepFailed)) throw error
      failed++
    })
  }
  for (const line of skipped) process.stderr.write(`\n  SKIPPED ${line}\n`)
  if (failed > 0) throw new StepFailed('suites')
})
