// @ts-check
// `npm run test:suites -- examples`: installs each project in `examples/` beside the packed packages of this checkout, and builds it without Varve,
// cold and warm. Needs bash, which measures the CPU time of a build.
//
//   --only <name>        one example; may be repeated
//   --manager pnpm       instead of npm
//   --keep <directory>   install there and remove nothing, instead of a directory for temporary files
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { setup } from '../../../scripts/setup.mjs'
import { runMain, step, StepFailed } from '../../../scripts/common/steps.mjs'
import { buildElsewhere, buildThrice, installExample, MANAGERS, packVarve, WAYS } from './build.mjs'
import { EXAMPLES } from './projects.mjs'

const HEAD = ['example', 'misses of a cold build', 'hits of a warm build', 'misses', 'CPU seconds without Varve, cold, warm']

/**
 * The row of the table.
 * @param {import('./projects.mjs').Example} example
 * @param {string} folder
 * @param {readonly string[]} tarballs
 * @param {import('./build.mjs').Manager} manager
 */
async function tryExample(example, folder, tarballs, manager) {
  const project = join(folder, example.name, 'project')
  await step(`${example.name}: install`, () => installExample(example, project, tarballs, manager))
  const built = await step(`${example.name}: build`, () => buildThrice(example, project))
  const { check } = example
  if (check !== undefined) await step(`${example.name}: its other promises`, () => check(project))
  const { cold, warm } = built
  await step(`${example.name}: in another directory`, () => buildElsewhere(example, project, warm))
  return [example.name, cold.misses, warm.hits, warm.misses, WAYS.map((way) => built[way].cpuSeconds.toFixed(1)).join(', ')]
}

await runMain(async () => {
  const { values: options } = parseArgs({ options: { only: { type: 'string', multiple: true }, keep: { type: 'string' }, manager: { type: 'string', default: 'npm' } } })
  const names = EXAMPLES.map(({ name }) => name)
  const unknown = options.only?.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new Error(`unknown example '${unknown}': expected ${names.join(', ')}`)
  const manager = /** @type {import('./build.mjs').Manager} */ (options.manager)
  if (!MANAGERS.includes(manager)) throw new Error(`unknown package manager '${manager}': expected ${MANAGERS.join(' or ')}`)
  await setup()
  const tarballs = await packVarve()
  const folder = options.keep === undefined ? await mkdtemp(join(tmpdir(), 'varve-examples-')) : resolve(options.keep)
  let failed = 0
  /** @type {(string | number)[][]} */
  const rows = []
  try {
    for (const example of EXAMPLES.filter(({ name, managers = MANAGERS }) => (options.only?.includes(name) ?? true) && managers.includes(manager))) {
      await tryExample(example, folder, tarballs, manager).then((row) => rows.push(row), (error) => {
        if (!(error instanceof StepFailed)) throw error
        failed++
      })
    }
  } finally {
    if (options.keep === undefined) await rm(folder, { recursive: true, force: true })
  }
  for (const row of [HEAD, ...rows]) process.stdout.write(`${row.join(' | ')}\n`)
  if (failed > 0) throw new StepFailed(`${failed} examples failed`)
})
