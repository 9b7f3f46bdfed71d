// @ts-check
// `npm run test:soak`: many participants of one folder at the same time. What happens in which order is the business
// of the system's scheduler, so a replay of these parts runs the same case again, several times; only `interleavings`
// repeats a violation exactly.
import { rustPart, runSuite } from './suite.mjs'

await runSuite('soak', [rustPart('interleavings')])
