// @ts-check
// `npm run test:safety -- power-loss`: the power fails at any moment. All parts run on a simulated disk; `outside` plays the
// recorded system calls of the built package on it.
import { outside } from './power-loss/outside.mjs'
import { runSuite, rustPart, sample } from './suite.mjs'

await runSuite('power-loss', [rustPart('states'), sample(rustPart('nested')), outside])
