// @ts-check
// `npm run test:safety -- mutation`: planted defects, one at a time, and whether the tests detect them.
//   panics      at every entry to the engine (feature `planted`); the process must not crash
//   bugs        typical defects of a store, in the engine; a suite must detect each one
//   edits       defects in the TypeScript sources (`mutation/edits/`); the test that an edit names must fail with it
//   some-edits  makes every edit, and runs the tests of three
import { buildPlanted, plantedPackage } from '../../scripts/build/planted.mjs'
import { setup } from '../../scripts/setup.mjs'
import { step } from '../../scripts/common/steps.mjs'
import { bugs } from './mutation/bugs.mjs'
import { edits, someEdits } from './mutation/edits.mjs'
import { panics } from './mutation/panics.mjs'
import { onlyNamed, runSuite, sample } from './suite.mjs'

/** Builds once for all parts. */
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
