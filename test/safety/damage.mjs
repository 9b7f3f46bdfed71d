// @ts-check
// npm run test:damage: bytes that are not what was written. Parts in `engine/` run on a simulated disk, others on the package from outside.
import { runSuite } from './suite.mjs'

await runSuite('damage', [])
