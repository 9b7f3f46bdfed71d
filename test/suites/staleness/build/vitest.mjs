// @ts-check
// `vitest.mjs <none | varve>`: runs one test, which imports src/main.js of the project in the current folder.
import { writeFileSync } from 'node:fs'
import { startVitest } from 'vitest/node'
import { messageOf, print } from './outcome.mjs'
import { digestsOfModules } from './served.mjs'

const [, , cache = 'none'] = process.argv
/** Where the configs put the counts of Varve. @type {{ hits: number }[]} */
const stats = []
Object.assign(globalThis, { varveStats: stats })
process.env.VARVE_ON = cache === 'varve' ? '1' : ''

const TEST = 'suite.test.mjs'
writeFileSync(TEST, "import { it } from 'vitest'\nit('loads', async () => void (await import('./src/main.js')))\n")

/** @param {import('vitest/node').TestModule} module */
const errorsOf = (module) =>
  [...module.children.allTests()].flatMap((test) => test.result().errors ?? []).concat(module.errors())

const vitest = await startVitest('test', [], {
  watch: false,
  root: process.cwd(),
  include: [TEST],
  silent: true,
  reporters: [{}],
  pool: 'threads',
  testTimeout: 120_000, // a loaded machine takes longer than the default of 5 s
  mode: process.env.VMODE ?? 'test',
})
const failures = [...vitest.state.getTestModules().flatMap(errorsOf), ...vitest.state.getUnhandledErrors()]
const environments = Object.entries(vitest.projects[0]?.vite.environments ?? {})
const files = digestsOfModules(
  environments.map(([name, { moduleGraph }]) => [name, moduleGraph.idToModuleMap.values()]),
)
await vitest.close()
process.exitCode = 0
print({
  files,
  errors: failures.map(messageOf).sort(),
  warnings: [],
  hits: stats.reduce((sum, { hits }) => sum + hits, 0),
})
