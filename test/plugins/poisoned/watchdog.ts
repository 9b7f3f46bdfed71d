/** Ends a process whose main thread hangs: no test runner can end a loop that never returns. */
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll } from 'vitest'

/** Longer than any build of these tests takes on a busy machine, milliseconds. */
const HANG_MS = 30_000

const PROGRAM = `
  const { workerData: { beats, hangMs } } = require('node:worker_threads')
  let [seen, sinceMs] = [-1, Date.now()]
  setInterval(() => {
    if (Atomics.load(beats, 0) !== seen) [seen, sinceMs] = [Atomics.load(beats, 0), Date.now()]
    if (Date.now() - sinceMs < hangMs) return
    process._rawDebug('a build from a poisoned cache hangs; the seed is printed above')
    process.kill(process.pid, 'SIGKILL')
  }, 500)
`

/** Watches the tests of a file. Returns what to call as long as they go on. */
export function watchdog(): () => void {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  let worker: Worker | undefined
  beforeAll(() => {
    worker = new Worker(PROGRAM, { eval: true, workerData: { beats, hangMs: HANG_MS } })
    worker.unref()
  })
  afterAll(async () => void (await worker?.terminate()))
  return () => void Atomics.add(beats, 0, 1)
}
