// @ts-check
// The recorded workloads, one for each phase of a cache's life. A workload is data, so that the program and the oracle read
// the same list. Each commit puts its number into all its values.

/** @typedef {{ space: string, key: string, bytes: number }} Put a value of so many bytes */
/** @typedef {{ key: string, files: readonly number[] }} Stored a folder with files of so many bytes each */

/**
 * @typedef {{ do: 'commit', isDurable: boolean, puts: readonly Put[], removes: readonly Omit<Put, 'bytes'>[], stored: readonly Stored[] }} Commit
 */

/**
 * @typedef {Commit | { do: 'flush' } | { do: 'compact', isFull: boolean } | { do: 'close' }
 *   | { do: 'open', versions: Record<string, string> } | { do: 'read' }} Step
 */

/**
 * @typedef {object} Workload
 * @property {string} name
 * @property {'create' | 'commit' | 'compact' | 'collect' | 'quarantine' | 'clear'} phase
 * @property {readonly Step[]} before what made the folder that the recording starts with; all of it is durable
 * @property {Damage} [damage] done to that folder
 * @property {readonly Step[]} steps
 */

/** @typedef {'log' | 'manifest' | 'table'} Damage which file has a flipped byte */

const open = (versions = {}) => /** @type {Step} */ ({ do: 'open', versions })
const close = /** @type {Step} */ ({ do: 'close' })
const flush = /** @type {Step} */ ({ do: 'flush' })
const compact = /** @type {Step} */ ({ do: 'compact', isFull: false })
const compactFully = /** @type {Step} */ ({ do: 'compact', isFull: true })
const read = /** @type {Step} */ ({ do: 'read' })

/** @param {Partial<Commit>} parts @returns {Step} */
const commit = ({ isDurable = false, puts = [], removes = [], stored = [] }) => ({ do: 'commit', isDurable, puts, removes, stored })

/** So many keys of one length. @param {number} count @param {number} bytes @param {string} [space] @returns {readonly Put[]} */
const keys = (count, bytes, space = 'n') => Array.from({ length: count }, (_, i) => ({ space, key: `k${i}`, bytes }))

const relaxed = commit({ puts: keys(3, 200) })
const durable = commit({ isDurable: true, puts: keys(3, 300) })
const medium = (/** @type {boolean} */ isDurable) => commit({ isDurable, puts: keys(5, 3000) })
const large = (/** @type {boolean} */ isDurable) => commit({ isDurable, puts: keys(36, 30_000) })
const huge = (/** @type {boolean} */ isDurable) => commit({ isDurable, puts: [...keys(2, 50), { space: 'n', key: 'huge', bytes: 1_100_000 }] })
const removing = commit({ puts: keys(2, 100), removes: [{ space: 'n', key: 'k2' }] })
const started = [open(), durable, medium(true), large(true), durable, close]

/** @type {readonly Workload[]} */
export const WORKLOADS = [
  { name: 'create-durable', phase: 'create', before: [], steps: [open(), durable, relaxed, durable, close] },
  { name: 'create-relaxed', phase: 'create', before: [], steps: [open(), relaxed, medium(false), durable, flush, relaxed, close] },
  { name: 'create-large', phase: 'create', before: [], steps: [open(), large(true), relaxed, close] },
  {
    name: 'small', phase: 'commit', before: started,
    steps: [open(), relaxed, durable, removing, medium(true), relaxed, relaxed, flush, durable, medium(false), durable, durable, close],
  },
  { name: 'large', phase: 'commit', before: started, steps: [open(), relaxed, large(true), relaxed, large(false), durable, close] },
  { name: 'huge', phase: 'commit', before: started, steps: [open(), relaxed, huge(false), durable, huge(true), relaxed, close] },
  {
    name: 'compact', phase: 'compact', before: started,
    steps: [open(), relaxed, durable, compact, durable, compactFully, relaxed, removing, compactFully, durable, close],
  },
  {
    name: 'fold', phase: 'compact', before: [open(), durable, medium(true), close, open(), removing, close],
    steps: [open(), relaxed, close, open(), durable, close, open(), compactFully, close],
  },
  {
    name: 'collect', phase: 'collect',
    before: [open(), commit({ isDurable: true, puts: keys(2, 100), stored: [{ key: 's0', files: [10, 2000] }, { key: 's1', files: [700] }] }), close],
    steps: [
      open(), commit({ puts: keys(2, 100), stored: [{ key: 's0', files: [20, 900] }] }), compactFully,
      commit({ isDurable: true, removes: [{ space: 'outputs', key: 's1' }], puts: keys(1, 90), stored: [{ key: 's2', files: [3000] }] }),
      compactFully, relaxed, flush, close,
    ],
  },
  {
    name: 'collect-huge', phase: 'collect', before: [open(), huge(true), close],
    steps: [open(), commit({ isDurable: true, puts: [{ space: 'n', key: 'huge', bytes: 60 }] }), compactFully, relaxed, close],
  },
  ...(/** @type {const} */ (['log', 'manifest', 'table'])).map((damage) => /** @type {Workload} */ ({
    name: `quarantine-${damage}`, phase: 'quarantine', damage,
    before: damage === 'log' ? [open(), durable, compactFully, medium(true)] : [open(), durable, medium(true), compactFully, close],
    steps: [open(), read, durable, relaxed, compactFully, durable, close],
  })),
  {
    name: 'clear', phase: 'clear',
    before: [open({ v: '1' }), commit({ isDurable: true, puts: [...keys(3, 200), ...keys(4, 500, 'v')] }), close],
    steps: [
      open({ v: '2' }), relaxed, commit({ isDurable: true, puts: keys(2, 300, 'v') }), compact, durable, close,
      open({ v: '3' }), commit({ puts: [...keys(1, 80), ...keys(3, 100, 'v')] }), compactFully, durable, close,
    ],
  },
]

/** The commits of a workload with their numbers, those before the recording included. @param {Workload} workload */
export function commitsOf({ before, steps }) {
  const versions = { n: '1', outputs: '1' }
  /** @type {{ number: number, isRecorded: boolean, step: Commit, versions: Record<string, string> }[]} */
  const commits = []
  for (const [index, step] of [...before, ...steps].entries()) {
    const isRecorded = index >= before.length
    if (step.do === 'open') Object.assign(versions, step.versions)
    if (step.do === 'commit') commits.push({ number: commits.length, isRecorded, step, versions: { ...versions } })
  }
  return commits
}

/** Versions that a namespace had, the newest first. @param {Workload} workload */
export function versionsOf(workload) {
  const opened = [...workload.before, ...workload.steps].filter((step) => step.do === 'open').map(({ versions }) => versions)
  return { v: [...new Set(opened.flatMap(({ v }) => (v === undefined ? [] : [v])))].toReversed() }
}
