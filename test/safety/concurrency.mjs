// @ts-check
// `npm run test:soak`: many participants of one folder at the same time, native and WebAssembly mixed, through the built
// package. What happens in which order is the business of the system's scheduler, so a replay of these parts runs the
// same case again, several times; only `interleavings` (processes) and `threads` repeat a violation exactly.
import { clock } from './soak/clock.mjs'
import { compactors } from './soak/compactors.mjs'
import { kills } from './soak/kills.mjs'
import { loops } from './soak/loops.mjs'
import { merged } from './soak/merged.mjs'
import { reopen } from './soak/reopen.mjs'
import { snapshots } from './soak/snapshots.mjs'
import { stopped } from './soak/stopped.mjs'
import { storms } from './soak/storms.mjs'
import { locks, writers } from './soak/writers.mjs'
import { onlyNamed, runSuite, rustPart } from './suite.mjs'

/** Built apart: there a scheduler stands in for the system's locks. */
const threads = rustPart('threads', ['--manifest-path=test/safety/threads/Cargo.toml', '--target-dir=target/threads'])

const inRust = [rustPart('interleavings'), threads]

await runSuite('soak', [kills, writers, locks, merged, snapshots, compactors, loops, stopped, storms, clock, ...inRust, onlyNamed(reopen)])
