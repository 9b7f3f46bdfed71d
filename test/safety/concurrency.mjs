// @ts-check
// `npm run test:concurrency`: many participants of one folder at the same time, native and WebAssembly mixed, through the built
// package. What happens in which order is the business of the system's scheduler, so a replay of these parts runs the
// same case again, several times; only `interleavings` (processes) and `threads` repeat a violation exactly.
import { clock } from './concurrency/clock.mjs'
import { compactors } from './concurrency/compactors.mjs'
import { kills } from './concurrency/kills.mjs'
import { loops } from './concurrency/loops.mjs'
import { merged } from './concurrency/merged.mjs'
import { reopen } from './concurrency/reopen.mjs'
import { snapshots } from './concurrency/snapshots.mjs'
import { stopped } from './concurrency/stopped.mjs'
import { storms } from './concurrency/storms.mjs'
import { locks, writers } from './concurrency/writers.mjs'
import { onlyNamed, runSuite, rustPart, sample } from './suite.mjs'

/** Built apart: there a scheduler stands in for the system's locks. */
const threads = rustPart('threads', ['--manifest-path=test/safety/concurrency/threads/Cargo.toml', '--target-dir=target/threads'])

const inRust = [sample(rustPart('interleavings')), threads]

await runSuite('concurrency', [kills, writers, locks, merged, snapshots, compactors, loops, sample(stopped), storms, clock, ...inRust, onlyNamed(reopen)])
