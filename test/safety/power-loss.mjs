// @ts-check
// npm run test:power-loss: the power fails at any moment. Parts in `engine/` run on a simulated disk, others on the package from outside.
import { outside } from './power-loss/outside.mjs'
import { runSuite, rustPart, sample } from './suite.mjs'

await runSuite('power-loss', [rustPart('states'), sample(rustPart('nested')), outside])
