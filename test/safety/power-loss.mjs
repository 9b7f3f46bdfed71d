// @ts-check
// npm run test:crash: the power fails at any moment. Parts in `engine/` run on a simulated disk, others on the package from outside.
import { outside } from './crash/outside/outside.mjs'
import { runSuite, rustPart } from './suite.mjs'

await runSuite('crash', [rustPart('states'), rustPart('nested'), outside])
