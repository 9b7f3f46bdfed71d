// @ts-check
// One process of these parts. `node participant.mjs <order>`: writes, reads or compacts until it is ended or killed.
// Reports each step before it starts, so that the part knows what a kill interrupted, and reports every acknowledged commit.
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'
import { openCache } from 'varve'
import { randomOf } from '../random.mjs'
import { putGroup, Watcher } from './group.mjs'

/**
 * @typedef {object} Order
 * @property {string} dir
 * @property {'native' | 'wasm'} engine
 * @property {'write' | 'read' | 'compact' | 'threads' | 'loops'} role
 * @property {number} seed
 * @property {number} slot of a writer
 * @property {number} [first] number of its first commit
 * @property {number} [acknowledged] number of the last one of this slot that was acknowledged
 * @property {number} [commits] how many; undefined: until it is ended
 * @property {number} slots how many writers there are
 * @property {number} [threads] how many read
 * @property {'durable' | 'relaxed'} [durability] of every commit; undefined: now this, now that
 * @property {boolean} [isQuiet] commit small only, and neither compact nor close
 * @property {boolean} [refreshes] refresh before each commit
 * @property {boolean} [isStrict] nothing that a reader saw goes back
 * @property {number} [pauseMs] between two steps, so that others have the processor; undefined: none
 */

/** Loops of one process that compact. */
const COMPACT_LOOPS = 4

/** How often one `getMany` of a reader asks for each key. */
const REPEATS = 64

/** @type {Order} */
const order = JSON.parse(process.argv[2] ?? '')
const random = randomOf(order.seed)
const say = (/** @type {unknown} */ message) => void writeSync(1, `${JSON.stringify(message)}\n`)
const state = { isEnding: false, refreshedFromMs: 0 }
const pause = () =>
  new Promise((resolve) => (order.pauseMs === undefined ? setImmediate(resolve) : setTimeout(resolve, order.pauseMs)))
const open = () =>
  openCache({
    name: 'soak',
    dir: order.dir,
    engine: order.engine,
    onWarning: (warning) => say({ warning: warning.message }),
  })
let cache = await open()
let space = cache.namespace('n', { codec: 'text' })

async function compact() {
  try {
    await cache.compact({ full: random(3) === 0 })
  } catch (error) {
    // It lost every race; that is an answer too.
    if (!(error instanceof Error && 'code' in error && error.code === 'BUSY')) throw error
    say({ busy: true })
  }
}

/** Characters of a value: most commits are small, some write tables (from 1 MiB on), some files (values from 1 MiB on). */
function paddingOf() {
  const kind = order.isQuiet === true ? 0 : random(100)
  if (kind < 85) return random(200)
  return kind < 95 ? 280_000 : 1_100_000
}

/** @param {number} number @param {number} acknowledged */
async function commit(number, acknowledged) {
  const padding = paddingOf()
  say({ at: padding > 1_000_000 ? 'files' : padding > 1000 ? 'tables' : 'small', number })
  putGroup(space, order.slot, number, acknowledged, padding)
  await cache.commit({ durability: order.durability ?? (random(8) === 0 ? 'durable' : 'relaxed') })
  say({ done: number, refreshedFromMs: state.refreshedFromMs })
  const own = space.get(`${order.slot} 0`)
  if (own?.startsWith(`${number} `) === true) return
  say({
    violation: `slot ${order.slot} does not read its own commit ${number} (${padding} characters) but ${own?.slice(0, 12) ?? 'nothing'}`,
  })
}

async function write() {
  let number = order.first ?? 1
  let acknowledged = order.acknowledged ?? 0
  const last = order.commits === undefined ? Infinity : number + order.commits
  while (!state.isEnding && number < last) {
    const kind = order.isQuiet === true ? 99 : random(100)
    if (kind < 6) {
      say({ at: 'compact' })
      await compact()
    } else if (kind < 10) {
      say({ at: 'close' })
      await cache.close()
      cache = await open()
      space = cache.namespace('n', { codec: 'text' })
    } else {
      if (order.refreshes === true) {
        state.refreshedFromMs = Date.now()
        cache.refresh()
      }
      await commit(number, acknowledged)
      acknowledged = number++
    }
    await pause()
  }
}

async function read() {
  const watcher = new Watcher(order.slots, REPEATS, order.isStrict)
  let refreshes = 0
  /** @type {Promise<void> | undefined} */
  let compacting
  for (let round = 0; !state.isEnding; round++) {
    const isFirst = round % 8 === 0
    if (isFirst) {
      if (round % 64 === 0) await commitOwn()
      cache.refresh()
      refreshes++
    }
    // A compaction of this process, in its own thread, changes nothing of what is read meanwhile.
    if (round % 128 === 4) compacting ??= compact().finally(() => void (compacting = undefined))
    watcher.check(space, !isFirst)
    for (const violation of watcher.violations.splice(0)) say({ violation })
    if (order.pauseMs !== undefined || round % 64 === 0) await pause()
    if (round % 256 === 0) say({ soFar: watcher.reads })
  }
  await compacting
  say({ reads: watcher.reads, news: watcher.news, refreshes })
}

/** A commit of a reader, which may show what its compactions have learned of others. */
async function commitOwn() {
  const readers = cache.namespace('readers', { codec: 'text' })
  readers.put(String(process.pid), String(Date.now()))
  await cache.commit()
}

/** Reads in threads. */
async function threads() {
  const count = order.threads ?? 1
  const shared = new Int32Array(new SharedArrayBuffer(4 * (1 + count)))
  const ends = Array.from({ length: count }, (_, thread) => {
    const worker = new Worker(new URL('reader-thread.mjs', import.meta.url), {
      workerData: { ...order, shared, thread },
    })
    worker.on('message', (message) => void (message.ready !== true && say(message)))
    return once(worker, 'exit')
  })
  while (!state.isEnding) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    say({ soFar: shared.subarray(1).reduce((sum, reads) => sum + reads, 0) })
  }
  Atomics.store(shared, 0, 1)
  await Promise.all(ends)
}

async function compactForEver() {
  let compactions = 0
  while (!state.isEnding) {
    await compact()
    compactions++
    await pause()
  }
  say({ compactions })
}

/** Commits while several compactions run, and reports how long each call took. */
async function loops() {
  const timed = async (/** @type {string} */ took, /** @type {() => Promise<unknown>} */ call) => {
    const startMs = performance.now()
    await call()
    say({ took, ms: Math.round(performance.now() - startMs) })
    await pause()
  }
  const compacting = Array.from({ length: COMPACT_LOOPS }, async () => {
    while (!state.isEnding) await timed('compact', compact)
  })
  let acknowledged = order.acknowledged ?? 0
  for (let number = order.first ?? 1; !state.isEnding; number++) {
    await timed('commit', () => commit(number, acknowledged))
    acknowledged = number
  }
  await Promise.all(compacting)
}

createInterface({ input: process.stdin })
  .on('line', () => (state.isEnding = true))
  .on('close', () => (state.isEnding = true))
say({ ready: true, slot: order.slot })
await { write, read, threads, loops, compact: compactForEver }[order.role]()
say({ finished: true })
await cache.close()
process.exit(0)
