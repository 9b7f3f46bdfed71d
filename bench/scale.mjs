// @ts-check
// `node bench/scale.mjs`: a large cache beside one of 100 MiB, and ten builds that each change 1 % of the large one. On Linux.
//
//   --entries <n>         entries of the large cache (default 1 million; 10 million are 10 GiB and take 10 GB of disk)
//   --bytes <n>           bytes of each value (default 1024), cut from real JavaScript
//   --builds <n>          builds (default 10)
//   --engine native|wasm  the engine (default native)
//
// Each step is a process of its own. Lookups of the two caches take turns, and their figures are medians: `first` reads keys at
// random once, `again` the same keys from then on. `written` is what the process passed to the system's write calls (`wchar`),
// as a part of the cache. `on disk` is the most that all files had while the build ran, beside their size after a full compaction.
// `memory` is the most that the process had in all, with 16 MiB of text, and without pages of mapped files (read every 20 ms).
import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCache } from 'varve'
import { randomOf } from '../test/safety/random.mjs'
import { keyOf } from './api/data.mjs'
import { readText } from './first-read/text.mjs'
import { median } from './median.mjs'
import { readNumber } from './proc.mjs'
import { cpuMs, printProcessor } from './processor.mjs'
import { inTurn, mediansOf, readArguments } from './turns.mjs'

/** @typedef {'fill' | 'read' | 'update' | 'compact'} Step */
/** @typedef {{ step: Step, dir: string, engine: 'native' | 'wasm', entries: number, bytes: number, seed: number }} Order */
/** @typedef {{ openMs: number, firstUs: number, againUs: number }} Times */
/** @typedef {{ times?: Times, seconds: number, cpuSeconds: number, written: number, residentMiB: number }} Report */
/** @typedef {Report & { onDisk: number, privateMiB: number, tables: number }} Outcome */

const SMALL_BYTES = 100 << 20
const TEXT_BYTES = 16 << 20
const COMMIT_BYTES = 8 << 20
const READS = 1000
const PASSES = 10
const ROUNDS = 7
const UPDATED_PART = 100
const POLL_MS = 20
const MIB = 2 ** 20

/** @param {Order} order @returns {Promise<Report>} */
async function perform(order) {
  const startMs = performance.now()
  const times = order.step === 'read' ? await read(order) : await write(order)
  return {
    ...(times === undefined ? {} : { times }),
    seconds: (performance.now() - startMs) / 1000,
    cpuSeconds: cpuMs() / 1000,
    written: readNumber('/proc/self/io', 'wchar'),
    residentMiB: readNumber('/proc/self/status', 'VmHWM') / 1024,
  }
}

/** @param {Order} order */
const open = ({ dir, engine }) => openCache({ name: 'scale', dir, engine, maxBytes: '64GiB' })

/** Fills the cache, or changes a part of its entries, or merges all its tables. @param {Order} order */
async function write(order) {
  const { step, entries, bytes, seed } = order
  const cache = await open(order)
  if (step === 'compact') await cache.compact({ full: true })
  else {
    const space = cache.namespace('modules')
    const text = readText(TEXT_BYTES)
    const random = randomOf(seed)
    const perCommit = Math.ceil(COMMIT_BYTES / bytes)
    const count = step === 'fill' ? entries : entries / UPDATED_PART
    for (let index = 1; index <= count; index++) {
      const start = random(TEXT_BYTES - bytes)
      space.put(keyOf(step === 'fill' ? index - 1 : random(entries)), text.subarray(start, start + bytes))
      if (index % perCommit === 0) await cache.commit()
    }
  }
  await cache.close()
  return undefined
}

/** Opens the cache and looks up entries. @param {Order} order @returns {Promise<Times>} */
async function read(order) {
  const { entries, bytes, seed } = order
  const random = randomOf(seed)
  const keys = Array.from({ length: READS }, () => keyOf(random(entries)))
  const startMs = performance.now()
  const cache = await open(order)
  const space = cache.namespace('modules')
  const find = (/** @type {string} */ key) => {
    if (space.get(key)?.length !== bytes) throw new Error(`${key} is missing`)
  }
  find(keyOf(random(entries)))
  const openMs = performance.now() - startMs
  const passUs = () => {
    const before = process.cpuUsage()
    for (const key of keys) find(key)
    return (cpuMs(before) * 1000) / READS
  }
  const firstUs = passUs()
  const againUs = median(Array.from({ length: PASSES }, passUs))
  await cache.close()
  return { openMs, firstUs, againUs }
}

/** Sizes of all files, and the number of tables. A file may disappear meanwhile. @param {string} dir */
function measureFiles(dir) {
  let [size, tables] = [0, 0]
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    size += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0
    tables += Number(entry.name.endsWith('.table'))
  }
  return { size, tables }
}

/** Performs a step in a fresh process, and watches its files and memory. @param {Order} order @returns {Promise<Outcome>} */
async function run(order) {
  const child = fork(import.meta.filename, [JSON.stringify(order)])
  let [onDisk, privateKib] = [0, 0]
  const poll = setInterval(() => {
    if (order.step !== 'read') onDisk = Math.max(onDisk, measureFiles(order.dir).size)
    if (child.connected) privateKib = Math.max(privateKib, readNumber(`/proc/${child.pid}/status`, 'RssAnon') || 0)
  }, POLL_MS)
  try {
    /** @type {Report} */
    const report = await new Promise((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) => reject(new Error(`step ${order.step} ended with ${code}`)))
    })
    const { size, tables } = measureFiles(order.dir)
    return { ...report, onDisk: Math.max(onDisk, size), privateMiB: privateKib / 1024, tables }
  } finally {
    clearInterval(poll)
  }
}

/** @param {Outcome} outcome @param {number} size of the cache */
function print({ seconds, cpuSeconds, written, residentMiB, privateMiB, onDisk, tables }, size, title = '') {
  const share = ((100 * written) / size).toFixed(1)
  const memory = `memory ${Math.round(residentMiB)} MiB, ${Math.round(privateMiB)} without files`
  const disk = `at most ${Math.round(onDisk / MIB)} MiB on disk, ${(onDisk / size).toFixed(2)}; ${tables} tables`
  console.log(
    `${title}: ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s CPU; ${share} % written; ${memory}; ${disk}`,
  )
}

/** The two caches in turns. @param {Omit<Order, 'step' | 'seed'>} small @param {Omit<Order, 'step' | 'seed'>} large */
async function compareReads(small, large) {
  const found = await inTurn({ small, large }, ROUNDS + 1, async (cache, round) => {
    // Each round reads other keys, all rounds the same in both caches.
    const { times } = await run({ ...cache, step: 'read', seed: round + 99 })
    return times ?? { openMs: Number.NaN, firstUs: Number.NaN, againUs: Number.NaN }
  })
  // The first round fills the caches of the system.
  const [ours, theirs] = [mediansOf(found.small.slice(1)), mediansOf(found.large.slice(1))]
  for (const what of /** @type {const} */ (['openMs', 'firstUs', 'againUs'])) {
    const ratio = (theirs[what] / ours[what]).toFixed(2)
    console.log(
      `  ${what.padEnd(8)} ${ours[what].toFixed(2)} in 100 MiB, ${theirs[what].toFixed(2)} in the large cache: ${ratio}`,
    )
  }
}

async function main() {
  const { options } = readArguments({ entries: 1_000_000, bytes: 1024, builds: 10, engine: 'native' })
  const { entries, bytes } = options
  /** @type {Order['engine']} */
  const engine = options.engine === 'wasm' ? 'wasm' : 'native'
  const home = mkdtempSync(join(tmpdir(), 'varve-scale-'))
  /** @typedef {Omit<Order, 'step' | 'seed'>} Subject */
  /** @type {Subject} */
  const small = { dir: join(home, 'small'), engine, bytes, entries: Math.ceil(SMALL_BYTES / bytes) }
  /** @type {Subject} */
  const large = { dir: join(home, 'large'), engine, bytes, entries }
  mkdirSync(small.dir)
  mkdirSync(large.dir)
  printProcessor()
  console.log(`${engine}, ${entries} x ${bytes}`)
  try {
    await run({ ...small, step: 'fill', seed: 1 })
    const filled = await run({ ...large, step: 'fill', seed: 1 })
    const size = measureFiles(large.dir).size
    print(filled, size, 'fill')
    await compareReads(small, large)
    const outcomes = []
    for (let build = 1; build <= options.builds; build++) {
      const outcome = await run({ ...large, step: 'update', seed: 1 + build })
      print(outcome, size, `build ${build}`)
      outcomes.push(outcome)
    }
    const written = outcomes.reduce((sum, outcome) => sum + outcome.written, 0) / outcomes.length
    console.log(`  ${((100 * written) / size).toFixed(1)} % written by a build on average`)
    await compareReads(small, large)
    const compacted = await run({ ...large, step: 'compact', seed: 0 })
    const live = measureFiles(large.dir).size
    print(compacted, live, 'full compaction')
    const most = Math.max(...outcomes.map(({ onDisk }) => onDisk))
    console.log(`  builds had at most ${(most / live).toFixed(2)} of the live bytes on disk`)
    await compareReads(small, large)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const [order] = process.argv.slice(2)
if (process.send === undefined) await main()
else process.send(await perform(JSON.parse(order ?? '{}')))
