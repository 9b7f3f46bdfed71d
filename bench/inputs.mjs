// @ts-check
// `node bench/inputs.mjs [--files 10000] [--bytes 5000] [--rounds 9]`: a set of inputs compared with the disk, in JavaScript and by the addon,
// with equal stamps and in a fresh checkout, where no stamp holds and each file is read. Wall time, CPU of the process and, on Linux, of its
// main thread, in milliseconds; medians of rounds in turn, in one process. Last, the time per set by its size, with equal stamps.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as paths from 'node:path'
import { noise } from '../test/safety/random.mjs'
import { median } from './median.mjs'
import { cpuMs, printProcessor } from './processor.mjs'
import { readArguments } from './turns.mjs'
import { loadEngine } from '../packages/varve/dist/engine/load.js'
import { digestOrOther, hostDisk } from '../packages/varve/dist/inputs/input.js'
import { PackedInputs } from '../packages/varve/dist/inputs/many.js'
import { Root } from '../packages/varve/dist/inputs/root.js'
import { Comparison } from '../packages/varve/dist/inputs/set.js'
import { lookAt, NO_STAMP, stampOf } from '../packages/varve/dist/inputs/stamp.js'

/** @typedef {import('../packages/varve/dist/inputs/set.js').StoredInput} StoredInput */

const { files, bytes, rounds } = readArguments({ files: 10_000, bytes: 5000, rounds: 9 }).options
const disk = /** @type {NonNullable<ReturnType<typeof hostDisk>>} */ (hostDisk())
await loadEngine({ engine: 'native' })
printProcessor()

const folder = mkdtempSync(paths.join(tmpdir(), 'varve-bench-inputs-'))
const root = new Root(folder, paths)
try {
  const set = makeFiles()
  const moved = set.map(([kind, name, digest]) => /** @type {StoredInput} */ ([kind, name, digest, ...NO_STAMP]))
  const figures = {
    'equal stamps': await turns(set, 'same'),
    'no stamp holds': await turns(moved, 'restamped'),
  }
  console.log(
    JSON.stringify({ node: process.version, files, bytes, rounds, ...figures, bySize: bySize(set) }, undefined, 1),
  )
} finally {
  rmSync(folder, { recursive: true })
}

/** @returns {StoredInput[]} */
function makeFiles() {
  for (let index = 0; index < files; index++) {
    const path = root.absolute(nameOf(index))
    mkdirSync(paths.dirname(path), { recursive: true })
    writeFileSync(path, noise(bytes, index))
    utimesSync(path, 1e9, 1e9)
  }
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  return Array.from({ length: files }, (_, index) => {
    const path = root.absolute(nameOf(index))
    return ['content', nameOf(index), digestOrOther(disk, 'content', path), ...stampOf(lookAt(disk.fs, path))]
  })
}

/** @param {number} index */
function nameOf(index) {
  return `packages/package-${index % 40}/src/module-${index}.js`
}

/** @param {StoredInput[]} set @param {string} expected */
async function turns(set, expected) {
  /** @type {Record<string, (() => unknown)>} */
  const ways = {
    javascript: () => compare(set, Number.POSITIVE_INFINITY),
    native: () => compare(set, 1),
    nativeAsync: async () => {
      const packed = new PackedInputs(set.length)
      for (const [kind, name, digest, ...stamp] of set) {
        if (kind === 'content') packed.add(kind, root.absolute(name), digest, stamp)
      }
      const found = await packed.checkAsync(true)
      return found?.size === 0 ? 'same' : 'restamped'
    },
  }
  /** @type {Record<string, { wall: number, cpu: number, main: number }[]>} */
  const samples = {}
  for (let round = 0; round <= rounds; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const start = performance.now()
      const cpu = process.cpuUsage()
      const main = mainMs()
      const found = await way()
      const sample = { wall: performance.now() - start, cpu: cpuMs(cpu), main: mainMs() - main }
      if (found !== expected) throw new Error(`${name} found ${found} instead of ${expected}`)
      if (round > 0) (samples[name] ??= []).push(sample)
    }
  }
  const figure = (/** @type {{ wall: number, cpu: number, main: number }[]} */ all) =>
    ['wall', 'cpu', 'main'].map((key) => [key, rounded(median(all.map((one) => one[/** @type {'wall'} */ (key)])))])
  return Object.fromEntries(Object.entries(samples).map(([name, all]) => [name, Object.fromEntries(figure(all))]))
}

/** Microseconds of the main thread, waiting included, for sets of each size. @param {StoredInput[]} set */
function bySize(set) {
  return [8, 16, 32, 64, 128, 256, 512].map((count) => {
    const part = set.slice(0, count)
    /** @type {number[][]} */
    const times = [[], []]
    for (let round = 0; round < 200; round++) {
      for (const [at, many] of [Number.POSITIVE_INFINITY, 1].entries()) {
        const start = performance.now()
        compare(part, many)
        times[at]?.push(1000 * (performance.now() - start))
      }
    }
    const [javascript, native] = times.map((all) => Math.round(median(all)))
    return { count, javascript, native }
  })
}

/** @param {StoredInput[]} set @param {number} many */
function compare(set, many) {
  return new Comparison(disk, root, () => false, many).compare(set)
}

/** CPU time of the main thread; NaN if the host has no such file. */
function mainMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    return Number.NaN
  }
}

/** @param {number} value */
function rounded(value) {
  return Math.round(value * 10) / 10
}
