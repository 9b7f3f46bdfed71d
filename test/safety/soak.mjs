// @ts-check
// `npm run test:soak`: many participants of one folder at the same time, native and WebAssembly mixed, through the built
// package. What happens in which order is the business of the system's scheduler, so a replay of these parts runs the
// same case again, several times; only `interleavings` repeats a violation exactly.
import { clock } from './soak/clock.mjs'
import { compactors } from './soak/compactors.mjs'
import { kills } from './soak/kills.mjs'
import { loops } from './soak/loops.mjs'
import { snapshots } from './soak/snapshots.mjs'
import { stopped } from './soak/stopped.mjs'
import { storms } from './soak/storms.mjs'
import { writers } from './soak/writers.mjs'
import { runSuite, rustPart } from './suite.mjs'

await runSuite('soak', [kills, writers, snapshots, compactors, loops, stopped, storms, clock, rustPart('interleavings')])
