// @ts-check
// npm run test:faults: any call of the file system fails. Parts in `engine/` run on a simulated disk, others on the package from outside.
import { runSuite } from './suite.mjs'

await runSuite('faults', [])
