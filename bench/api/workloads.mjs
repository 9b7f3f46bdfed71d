// @ts-check
// The workloads, one for each id, independent of the subject. A trial is a workload on one open store: only `run` is timed.
import { strict as assert } from 'node:assert'
import { readText } from '../first-read/text.mjs'
import { keyOf, missingKeyOf, shuffled, valuesOf } from './data.mjs'

/** @typedef {import('./subject.mjs').Subject} Subject */
/** @typedef {import('./subject.mjs').Store} Store */
/** @typedef {import('./subject.mjs').Durability} Durability */
/** @typedef {import('./loops.mjs').Loops} Loops */

/**
 * @typedef {object} Trial
 * @property {number} operations in one run
 * @property {() => unknown} [before] called before each run
 * @property {() => unknown} run
 * @property {() => unknown} [after] called after each run
 * @property {() => unknown} close
 */

/**
 * @typedef {object} Workload
 * @property {string} id
 * @property {'ns' | 'us'} unit of one operation
 * @property {number} rounds
 * @property {boolean} [shared] whether all subjects run the same loop, in which V8 cannot assume one of them
 * @property {boolean} [writes] whether a store may keep working after the call; its CPU time counts until it is idle
 * @property {(subject: Subject, loops: Loops, dir: string) => Promise<Trial>} prepare
 */

const ENTRIES = 10_000
const MANY = 1000

/** With fewer rounds, whether a compaction in the background falls into them decides the median. */
const ROUNDS_MIN = 9

/** How often one round looks up all keys, so that each subject fills the processor's caches itself. */
const PASSES = 10
const PASSES_LARGE = 2

/** A rebuild: the entries of the cache, and how many of them have changed. */
const UPDATE = { entries: 20_000, changed: 200, bytes: 4096 }

/** Sizes of values for the loop that all subjects share. */
const SHARED = /** @type {const} */ ([
  ['value_128', 128],
  ['value_1Ki', 1024],
  ['value_4Ki', 4096],
  ['value_32Ki', 32_768],
])

/**
 * All workloads. `isQuick`: a seventh of the rounds, but enough for a median, and a tenth of the entries if values are large.
 * @param {boolean} isQuick
 * @returns {Workload[]}
 */
export function workloads(isQuick) {
  const rounds = (/** @type {number} */ count) => (isQuick ? Math.max(ROUNDS_MIN, Math.ceil(count / 7)) : count)
  const large = isQuick ? ENTRIES / 10 : ENTRIES
  return [
    hit('js/get/hit/value_128', rounds(31), ENTRIES, 128),
    hit('js/get/hit/value_1Ki', rounds(31), ENTRIES, 1024),
    hit('js/get/hit/value_4Ki', rounds(31), ENTRIES, 4096),
    hit('js/get/hit/value_32Ki', rounds(21), large, 32_768),
    ...SHARED.map(([size, bytes]) => ({
      ...hit(`js/get/shared/${size}`, rounds(21), bytes > 4096 ? large : ENTRIES, bytes, 1),
      shared: true,
    })),
    { id: 'js/get/miss', unit: 'ns', rounds: rounds(31), prepare: prepareMiss },
    { id: `js/getMany/${MANY}`, unit: 'us', rounds: rounds(31), prepare: prepareMany },
    commit('js/commit/1', rounds(31), 1, 'durable', 16),
    commit('js/commit/1', rounds(31), 1, 'relaxed', 64),
    commit('js/commit/100', rounds(31), 100, 'durable', 8),
    commit('js/commit/100', rounds(31), 100, 'relaxed', 16),
    commit('js/commit/10k', rounds(15), 10_000, 'durable', 1),
    commit('js/commit/10k', rounds(15), 10_000, 'relaxed', 1),
    update(rounds(15), 'durable'),
    update(rounds(15), 'relaxed'),
    { id: 'js/open+first_get', unit: 'us', rounds: rounds(51), prepare: prepareOpen },
  ]
}

/** @param {string} id @param {number} rounds @param {number} count @param {number} bytes @param {number} [passes] @returns {Workload} */
function hit(id, rounds, count, bytes, passes = bytes > 1024 ? PASSES_LARGE : PASSES) {
  return {
    id,
    unit: 'ns',
    rounds,
    async prepare(subject, loops, dir) {
      const { store, entries } = await prefilled(subject, dir, count, bytes)
      for (const [key, value] of entries) assert.deepEqual(Buffer.from((await store.get(key)) ?? ''), value, key)
      return reading(subject, loops, store, shuffled(entries.map(([key]) => key)), bytes * entries.length, passes)
    },
  }
}

/** @param {Subject} subject @param {Loops} loops @param {string} dir */
async function prepareMiss(subject, loops, dir) {
  const { store, entries } = await prefilled(subject, dir, ENTRIES, 128)
  return reading(subject, loops, store, shuffled(entries.map((_, index) => missingKeyOf(index))), 0, PASSES)
}

/**
 * Looks up all keys, one call for each.
 * @param {Subject} subject
 * @param {Loops} loops
 * @param {Store} store
 * @param {readonly string[]} keys
 * @param {number} expected bytes
 * @param {number} passes
 * @returns {Trial}
 */
function reading({ isAsync }, loops, store, keys, expected, passes) {
  const once = isAsync ? loops.getAllAsync : loops.getAll
  const run = async () => {
    for (let pass = 0; pass < passes; pass++) assert.equal(await once(store, keys), expected)
  }
  return { operations: passes * keys.length, run, close: () => store.close() }
}

/** @param {Subject} subject @param {Loops} loops @param {string} dir @returns {Promise<Trial>} */
async function prepareMany(subject, loops, dir) {
  const { store, entries } = await prefilled(subject, dir, ENTRIES, 128)
  const keys = shuffled(entries.map(([key]) => key))
  const batches = Array.from({ length: keys.length / MANY }, (_, index) => keys.slice(index * MANY, (index + 1) * MANY))
  const run = async () => {
    for (let pass = 0; pass < PASSES; pass++) assert.equal(await loops.getBatches(store, batches), 128 * keys.length)
  }
  return { operations: PASSES * batches.length, run, close: () => store.close() }
}

/**
 * Puts `size` new entries of 128 bytes and commits them.
 * @param {string} name
 * @param {number} rounds
 * @param {number} size
 * @param {Durability} durability
 * @param {number} operations commits in one round
 * @returns {Workload}
 */
function commit(name, rounds, size, durability, operations) {
  return {
    id: durability === 'durable' ? name : `${name}/relaxed`,
    unit: 'us',
    rounds,
    writes: true,
    async prepare(subject, loops, dir) {
      const store = await subject.open(dir, durability)
      const values = valuesOf(size, 128)
      /** @type {import('./subject.mjs').Entry[][]} */
      let batches = []
      let next = 0
      const before = () => {
        batches = Array.from({ length: operations }, () =>
          values.map((value) => /** @type {const} */ ([keyOf(next++), value])),
        )
      }
      const run = () => loops.commitBatches(store, batches)
      const after = async () => {
        const [key, value] = batches.at(-1)?.at(-1) ?? []
        assert.deepEqual(Buffer.from((await store.get(key ?? '')) ?? ''), value)
      }
      return { operations, before, run, after, close: () => store.close() }
    },
  }
}

/**
 * What a rebuild writes: opens the store of the last build, replaces 1 % of its entries by other text, commits, and closes.
 * @param {number} rounds
 * @param {Durability} durability
 * @returns {Workload}
 */
function update(rounds, durability) {
  const { entries, changed, bytes } = UPDATE
  return {
    id: `update/entries_20k/changed_1%${durability === 'durable' ? '' : '/relaxed'}`,
    unit: 'us',
    rounds,
    writes: true,
    async prepare(subject, loops, dir) {
      const text = readText(entries * bytes)
      const valueOf = (/** @type {number} */ index) => text.subarray(index * bytes, (index + 1) * bytes)
      const filling = await subject.open(dir, 'relaxed')
      await filling.commit(
        Array.from({ length: entries }, (_, index) => /** @type {const} */ ([keyOf(index), valueOf(index)])),
      )
      await filling.close()
      let round = 0
      const run = async () => {
        round++
        const places = Array.from({ length: changed }, (_, index) => (index * (entries / changed) + round) % entries)
        const store = await subject.open(dir, durability)
        await loops.commitBatches(store, [
          places.map((place) => /** @type {const} */ ([keyOf(place), valueOf((place + round) % entries)])),
        ])
        await store.close()
      }
      const after = async () => {
        const store = await subject.open(dir, durability)
        assert.deepEqual(Buffer.from((await store.get(keyOf(round))) ?? ''), valueOf(2 * round))
        await store.close()
      }
      return { operations: 1, run, after, close: () => undefined }
    },
  }
}

/** Opens a closed store and reads one entry. @param {Subject} subject @param {Loops} _ @param {string} dir */
async function prepareOpen(subject, _, dir) {
  const { store: first, entries } = await prefilled(subject, dir, ENTRIES, 128)
  await first.close()
  const keys = shuffled(entries.map(([key]) => key))
  let round = 0
  /** @type {Store | undefined} */
  let store
  const run = async () => {
    store = await subject.open(dir, 'relaxed')
    const found = store.get(keys[round++ % keys.length] ?? '')
    assert.equal((found instanceof Promise ? await found : found)?.length, 128)
  }
  return { operations: 1, run, after: () => store?.close(), close: () => undefined }
}

/**
 * A store as a later build finds it: filled in one commit, closed, and opened again.
 * @param {Subject} subject
 * @param {string} dir
 * @param {number} count
 * @param {number} bytes of each value
 */
async function prefilled(subject, dir, count, bytes) {
  const values = valuesOf(Math.min(count, subject.entriesMax ?? count), bytes)
  const entries = values.map((value, index) => /** @type {const} */ ([keyOf(index), value]))
  const filling = await subject.open(dir, 'relaxed')
  await filling.commit(entries)
  await filling.close()
  return { store: await subject.open(dir, 'relaxed'), entries }
}
