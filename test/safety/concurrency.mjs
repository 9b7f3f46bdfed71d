// @ts-check
// `npm run test:safety -- concurrency`: many processes and threads share one cache, native and WebAssembly mixed, through the
// built package. The scheduler of the system decides the order, so a replay runs the same case several times. Only
// `interleavings` (processes) and `threads` repeat a violation exactly.
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

/** A crate of its own, because its build replaces the locks of the system by a scheduler. */
const threads = rustPart('threads', [
  '--manifest-path=test/safety/concurrency/threads/Cargo.toml',
  '--target-dir=target/threads',
])

const inRust = [sample(rustPart('interleavings')), threads]

const inProcesses = [kills, writers, locks, merged, loops, snapshots, compactors, storms, sample(stopped)]

await runSuite('concurrency', [...inProcesses, ...inRust, clock, onlyNamed(reopen)])
