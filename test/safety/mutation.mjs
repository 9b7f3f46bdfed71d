// @ts-check
// `npm run test:mutation`: faults that are put into the engine on purpose (feature `planted`), to see what comes of them.
//   panics: at every way into the engine; the host must live
//   bugs:   the defects that a store like this may have; some suite must notice each
//   edits:  defects in the TypeScript sources (`mutation/edits/`); the test that each one names must notice it
import { buildPlanted, plantedPackage } from '../../scripts/build/planted.mjs'
import { setup } from '../../scripts/setup.mjs'
import { step } from '../../scripts/steps.mjs'
import { bugs } from './mutation/bugs.mjs'
import { edits, someEdits } from './mutation/edits.mjs'
import { panics } from './mutation/panics.mjs'
import { onlyNamed, runSuite, sample } from './suite.mjs'

/** Builds once, whatever parts follow. */
let built = false
async function build() {
  if (built) return
  await setup()
  await step('build: with planted faults', buildPlanted)
  built = true
}

await runSuite('mutation', [
  {
    name: 'panics',
    run: async (order) => {
      await build()
      return panics(plantedPackage, order)
    },
  },
  {
    name: 'bugs',
    run: async (order) => {
      await build()
      return bugs(order)
    },
  },
  {
    name: 'edits',
    run: async (order) => {
      await setup()
      return edits(order)
    },
  },
  onlyNamed(sample({ name: 'some-edits', run: someEdits })),
])
