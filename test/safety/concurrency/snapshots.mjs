// @ts-check
// Readers, while writers commit and other processes compact all the time:
// - between two calls of `refresh`, a handle returns the same answers;
// - the keys of a commit have the same number, and no number decreases: if native and WebAssembly writers are mixed, none
//   that was acknowledged; with native writers alone, none that was read;
// - writers read their own commits immediately;
// - threads that share a native engine see each other's commits immediately, and as a whole.
import { Worker } from 'node:worker_threads'
import { sleep } from './child.mjs'
import { Crowd, readsOf } from './crowd.mjs'
import { engineOf } from './group.mjs'

const WRITERS = 4
const READERS = 4
const READS_SHORT = 10_000_000
const READS_LONG = 1_000_000_000
const SECONDS_SHORT = 120
const THREADS = 4
const THREAD_COMMITS = 500

/** @type {import('../suite.mjs').Part} */
export const snapshots = {
  name: 'snapshots',
  async run({ seed, isLong, say }) {
    const reads = (isLong ? READS_LONG : READS_SHORT) / 2
    const endMs = isLong ? Infinity : (SECONDS_SHORT * 1000) / 2
    /** @type {Record<string, number>} */
    const figures = {}
    const violations = []
    for (const setting of [
      { engine: engineOf, isStrict: false },
      { engine: () => /** @type {const} */ ('native'), isStrict: true },
    ]) {
      const crowd = await look(new Crowd(WRITERS, seed, 'all'), setting, reads, endMs)
      if (setting.isStrict) await atOnce(crowd)
      crowd.remove()
      for (const [name, count] of Object.entries(crowd.figures)) figures[name] = (figures[name] ?? 0) + count
      violations.push(...crowd.violations)
      say(`${figures['reads']} reads`)
    }
    return { figures, goals: { reads: { min: 2 * reads }, news: { min: 100 }, seenAtOnce: { min: 300 } }, violations }
  },
}

/**
 * Readers of one cache, until they have read so often.
 * @param {Crowd} crowd
 * @param {{ engine: (slot: number) => import('./group.mjs').Engine, isStrict: boolean }} setting
 * @param {number} reads @param {number} limitMs
 */
async function look(crowd, { engine, isStrict }, reads, limitMs) {
  for (let slot = 0; slot < WRITERS; slot++) crowd.start('write', engine(slot), slot, { isQuiet: slot < 2 })
  const readers = Array.from({ length: READERS }, (_, index) => crowd.start('read', engine(index), 0, { isStrict }))
  crowd.start('compact', engine(0))
  crowd.start('compact', engine(1))
  await crowd.ready()
  const endMs = Date.now() + limitMs
  while (readsOf(readers) < reads && Date.now() < endMs) {
    await sleep(500)
    if (readers.some(({ end }) => end !== undefined)) break
  }
  await crowd.end()
  await crowd.check()
  return crowd
}

/** Threads that share an engine take turns: one commits, all others look. @param {Crowd} crowd */
async function atOnce(crowd) {
  const shared = new Int32Array(new SharedArrayBuffer(4 * (2 + THREADS)))
  const dir = `${crowd.dir}-threads`
  const workers = Array.from({ length: THREADS }, (_, thread) => {
    const workerData = { dir, shared, thread, threads: THREADS, commits: THREAD_COMMITS }
    return new Worker(new URL('at-once.mjs', import.meta.url), { workerData })
  })
  const outcomes = workers.map(
    (worker) =>
      new Promise((resolve) => {
        worker.once('message', ({ seen, violations }) => {
          crowd.count('seenAtOnce', seen)
          violations.forEach((/** @type {string} */ what) => crowd.violation(what))
        })
        worker.once('error', (error) => crowd.violation(`a thread: ${error.message}`))
        worker.once('exit', resolve)
      }),
  )
  await Promise.race([Promise.all(outcomes), sleep(60_000).then(() => crowd.violation('threads hung'))])
  await Promise.all(workers.map((worker) => worker.terminate()))
}
