// @ts-check
// The recorded workloads, one for each phase of a cache's life. A workload is data, so that the program and the oracle read
// the same list. All its entries are in the namespace `n`.
import { noise, seedOf } from '../random.mjs'

/** @typedef {{ key: string, bytes: number, isFile?: boolean }} Put a value of so many bytes; `isFile`: also as a stored file of the entry */
/** @typedef {{ do: 'commit', isDurable: boolean, puts: readonly Put[], removes: readonly string[] }} Commit */
/**
 * @typedef {Commit | { do: 'flush' } | { do: 'compact', isFull: boolean } | { do: 'close' } | { do: 'open', version: string } | { do: 'read' }} Step
 * `version`: of the namespace from here on
 */

/** @typedef {'log' | 'manifest' | 'table'} Damage which file has a flipped bit */

/**
 * @typedef {object} Workload
 * @property {string} name
 * @property {'create' | 'commit' | 'compact' | 'collect' | 'quarantine' | 'clear'} phase
 * @property {readonly Step[]} before what made the directory that the recording starts with; all of it is durable
 * @property {Damage} [damage] done to that directory
 * @property {readonly Step[]} steps
 */

const open = (version = '1') => /** @type {Step} */ ({ do: 'open', version })
const close = /** @type {Step} */ ({ do: 'close' })
const flush = /** @type {Step} */ ({ do: 'flush' })
const compact = /** @type {Step} */ ({ do: 'compact', isFull: false })
const compactFully = /** @type {Step} */ ({ do: 'compact', isFull: true })
const read = /** @type {Step} */ ({ do: 'read' })

/** @param {readonly Put[]} puts @param {readonly string[]} [removes] @returns {Step} */
const relaxedOf = (puts, removes = []) => ({ do: 'commit', isDurable: false, puts, removes })

/** @param {readonly Put[]} puts @param {readonly string[]} [removes] @returns {Step} */
const durableOf = (puts, removes = []) => ({ do: 'commit', isDurable: true, puts, removes })

/** So many keys. @param {number} count @param {number} bytes @returns {readonly Put[]} */
const keys = (count, bytes) => Array.from({ length: count }, (_, i) => ({ key: `k${i}`, bytes }))

/** An entry with a stored file, which the Rust side knows by this beginning of its key. @param {string} key @param {number} bytes @returns {Put} */
const file = (key, bytes) => ({ key: `file/${key}`, bytes, isFile: true })

const large = keys(36, 30_000)
const huge = [...keys(2, 50), { key: 'huge', bytes: 1_100_000 }]
const relaxed = relaxedOf(keys(3, 200))
const durable = durableOf(keys(3, 300))
const medium = durableOf(keys(5, 3000))
const removing = relaxedOf(keys(2, 100), ['k2'])
const started = [open(), durable, medium, durableOf(large), durable, close]

/** @type {readonly Workload[]} */
export const WORKLOADS = [
  { name: 'create-durable', phase: 'create', before: [], steps: [open(), durable, relaxed, durable, close] },
  {
    name: 'create-relaxed',
    phase: 'create',
    before: [],
    steps: [open(), relaxed, relaxedOf(keys(5, 3000)), durable, flush, relaxed, close],
  },
  { name: 'create-large', phase: 'create', before: [], steps: [open(), durableOf(large), relaxed, close] },
  {
    name: 'small',
    phase: 'commit',
    before: started,
    steps: [
      open(),
      relaxed,
      durable,
      removing,
      medium,
      relaxed,
      relaxed,
      flush,
      durable,
      relaxedOf(keys(5, 3000)),
      durable,
      durable,
      close,
    ],
  },
  {
    name: 'large',
    phase: 'commit',
    before: started,
    steps: [open(), relaxed, durableOf(large), relaxed, relaxedOf(large), durable, close],
  },
  {
    name: 'huge',
    phase: 'commit',
    before: started,
    steps: [open(), relaxed, relaxedOf(huge), durable, durableOf(huge), relaxed, close],
  },
  {
    name: 'compact',
    phase: 'compact',
    before: started,
    steps: [open(), relaxed, durable, compact, durable, compactFully, relaxed, removing, compactFully, durable, close],
  },
  {
    name: 'checkpoint',
    phase: 'compact',
    before: [open(), durable, medium, close, open(), removing, close],
    steps: [open(), relaxed, close, open(), durable, close, open(), compactFully, close],
  },
  {
    name: 'collect',
    phase: 'collect',
    before: [open(), durableOf([...keys(2, 100), file('a', 2000), file('b', 700)]), close],
    steps: [
      open(),
      relaxedOf([...keys(2, 100), file('a', 900)]),
      compactFully,
      durableOf([...keys(1, 90), file('c', 3000)], ['file/b']),
      compactFully,
      relaxed,
      flush,
      close,
    ],
  },
  {
    name: 'collect-huge',
    phase: 'collect',
    before: [open(), durableOf(huge), close],
    steps: [open(), durableOf([{ key: 'huge', bytes: 60 }]), compactFully, relaxed, close],
  },
  .../** @type {const} */ (['log', 'manifest', 'table']).map(
    (damage) =>
      /** @type {Workload} */ ({
        name: `quarantine-${damage}`,
        phase: 'quarantine',
        damage,
        before:
          damage === 'log' ? [open(), durable, compactFully, medium] : [open(), durable, medium, compactFully, close],
        steps: [open(), read, durable, relaxed, compactFully, durable, close],
      }),
  ),
  {
    name: 'clear',
    phase: 'clear',
    before: [open(), durableOf(keys(4, 500)), close],
    steps: [
      open('2'),
      relaxed,
      durableOf(keys(2, 300)),
      compact,
      durable,
      close,
      open('3'),
      relaxedOf(keys(4, 100)),
      compactFully,
      durable,
      close,
    ],
  },
]

/** The value that a commit puts. @param {string} key @param {number} number of the commit @param {number} bytes */
export const valueOf = (key, number, bytes) => noise(seedOf(key, number), bytes)

/** @typedef {{ number: number, isRecorded: boolean, step: Commit, isReset: boolean }} Numbered `isReset`: the first of its version */

/** The commits of a workload with their numbers. @param {Workload} workload @returns {Numbered[]} */
export function commitsOf({ before, steps }) {
  let [version, committed] = ['1', '1']
  /** @type {Numbered[]} */
  const commits = []
  for (const [index, step] of [...before, ...steps].entries()) {
    if (step.do === 'open') version = step.version
    if (step.do !== 'commit') continue
    commits.push({ number: commits.length, isRecorded: index >= before.length, step, isReset: version !== committed })
    committed = version
  }
  return commits
}
