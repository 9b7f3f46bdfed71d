// @ts-check
// `npm run setup -- --programs`: installs what `scripts/programs/installed.mjs` lists and is missing.
import { installPackages } from './programs/install.mjs'
import { pathOf, PROGRAMS } from './programs/installed.mjs'
import { runMain, Skipped, step } from './common/steps.mjs'

await runMain(async () => {
  const names = /** @type {import('./programs/installed.mjs').Program[]} */ (Object.keys(PROGRAMS))
  const missing = names.filter((name) => pathOf(name) === undefined)
  const name = missing.length === 0 ? 'programs: all are installed' : `programs: ${missing.join(', ')}`
  await step(name, () => (missing.length === 0 ? undefined : installPackages(missing))).catch((error) => {
    if (!(error instanceof Skipped)) throw error
    process.stderr.write(`    ${error.message}\n`)
  })
})
