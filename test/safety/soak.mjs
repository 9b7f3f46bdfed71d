// @ts-check
// `npm run test:soak`: many participants of one folder at the same time, native and WebAssembly mixed, through the built
// package. What happens in which order is the business of the system's scheduler, so a replay of these parts runs the
// same case again, several times; only `interleavings` repeats a violation exactly.
import { kills } from './soak/kills.mjs'
import { stopped } from './soak/stopped.mjs'
import { storms } from './soak/storms.mjs'
import { rustPart, runSuite } from './suite.mjs'

await runSuite('soak', [kills, stopped, storms, rustPart('interleavings')])
