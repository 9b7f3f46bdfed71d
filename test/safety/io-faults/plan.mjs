// @ts-check
// Which calls fail, and how: every kind of file call of the program, its first, middle and last one, once or from then on,
// with each error that the call can return.
import { readFileSync } from 'node:fs'
import { callsOf, descriptorOf, pathsOf } from '../power-loss/parse.mjs'
import { seedOf } from '../random.mjs'

/** @typedef {{ call: string, error: string, at: number, isForEver: boolean }} Fault */

const WRITING = ['EIO', 'ENOSPC', 'EDQUOT', 'EINTR']

/** Errors by call. EINTR occurs once, because no real machine interrupts a call forever. */
export const ERRORS = /** @type {Record<string, readonly string[]>} */ ({
  openat: ['EMFILE', 'EIO', 'ENOSPC', 'EINTR'],
  write: WRITING,
  writev: WRITING,
  pwrite64: WRITING,
  ftruncate: ['EIO', 'EINTR'],
  fsync: ['EIO', 'ENOSPC', 'EDQUOT'],
  fdatasync: ['EIO', 'ENOSPC', 'EDQUOT'],
  link: ['EIO', 'ENOSPC', 'EDQUOT'],
  linkat: ['EIO', 'ENOSPC', 'EDQUOT'],
  rename: ['EIO', 'ENOSPC'],
  unlink: ['EIO'],
  mkdir: ['EIO', 'ENOSPC', 'EDQUOT'],
  close: ['EIO', 'EINTR'],
  read: ['EIO', 'EINTR'],
  pread64: ['EIO', 'EINTR'],
  getdents64: ['EIO'],
  statx: ['EIO'],
  fstat: ['EIO'],
  newfstatat: ['EIO'],
  flock: ['ENOLCK', 'EINTR'],
  mmap: ['ENOMEM'],
})

/** How often each call is made by the thread that makes it most, and on which paths. @param {string} trace @param {string} folder */
export function countsOf(trace, folder) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  const paths = new Set()
  const text = readFileSync(trace, 'latin1')
  const threads = new Map(
    text.split('\n').map((line, number) => /** @type {const} */ ([number, line.split(' ', 1)[0]])),
  )
  for (const call of callsOf(text, [`${folder}/cache`])) {
    const key = `${call.name} ${threads.get(call.begin)}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
    const isNamed = /open|link|rename|dir|stat/.test(call.name)
    const named = [descriptorOf(call.args).path, ...(isNamed ? pathsOf(call.args) : [])]
    for (const path of named) if (path.startsWith(`${folder}/cache`) && !path.includes('\0')) paths.add(path)
  }
  /** @type {Record<string, number>} */
  const most = {}
  for (const [key, count] of counts) {
    const [name = ''] = key.split(' ')
    most[name] = Math.max(most[name] ?? 0, count)
  }
  return { counts: most, paths: [...paths].map((path) => path.slice(folder.length + 1)) }
}

/** The standard library of Rust panics if a folder cannot be closed after reading, which the engine cannot prevent. */
const isPanicOfStd = (/** @type {string} */ engine, /** @type {string} */ call, /** @type {string} */ error) =>
  engine === 'native' && call === 'close' && error !== 'EINTR'

/**
 * Every fault, in an order that begins with one of each kind.
 * @param {Record<string, number>} counts
 * @param {'native' | 'wasm'} engine
 * @param {number} seed
 * @returns {Fault[]}
 */
export function faultsOf(counts, engine, seed) {
  const faults = Object.entries(counts).flatMap(([call, count]) => {
    const places = [...new Set([1, Math.ceil(count / 2), count])]
    const errors = (ERRORS[call] ?? []).filter((error) => !isPanicOfStd(engine, call, error))
    return errors.flatMap((error) =>
      places.flatMap((at) =>
        (error === 'EINTR' ? [false] : [false, true]).map((isForEver) => ({ call, error, at, isForEver })),
      ),
    )
  })
  const dice = new Map(faults.map((fault, index) => [fault, seedOf(seed, index)]))
  const random = faults.sort((a, b) => (dice.get(a) ?? 0) - (dice.get(b) ?? 0))
  const seen = new Set()
  const isFirst = new Map(
    random.map((fault) => {
      const kind = `${fault.call} ${fault.at} ${fault.isForEver}`
      const first = !seen.has(kind)
      seen.add(kind)
      return [fault, first]
    }),
  )
  return [...random.filter((fault) => isFirst.get(fault)), ...random.filter((fault) => !isFirst.get(fault))]
}

/** Paths that the program may use once calls fail, besides those that it used when none did. */
function likelyPaths() {
  const numbers = [...Array(40).keys()]
  const logs = numbers.flatMap((n) => [
    `${n}.log`,
    `manifest-${n}`,
    `manifest.${n}.tmp`,
    `${n}-1.table`,
    `${n}-2.table`,
    `${n}-3.table`,
  ])
  return ['cache', 'cache/v1', 'cache/v1/files', ...logs.map((name) => `cache/v1/${name}`)]
}

/** @param {Fault} fault @param {string} folder @param {readonly string[]} paths */
export function straceOf({ call, error, at, isForEver }, folder, paths) {
  const names = [...new Set([...paths, ...likelyPaths()])].flatMap((path) => ['-P', `${folder}/${path}`])
  return [
    '-o',
    '/dev/null',
    '-e',
    `trace=${call}`,
    '-e',
    `inject=${call}:error=${error}:when=${at}${isForEver ? '+' : ''}`,
    ...names,
  ]
}
