// @ts-check
// `node bench/tasks/inputs.mjs`: a hit of a task with 10,000 files of 5 KB, in a fresh process, on both engines: where all files are as
// they were by their stamps, and in a new copy of the folder, where each has to be read. Medians of CPU time of the main thread, and of
// wall time. --files, --rounds. Linux only.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCache } from 'varve'
import { median } from '../median.mjs'
import { readArguments, runBench, sampleOf } from '../turns.mjs'

/** @typedef {{ engine: 'native' | 'wasm', dir: string, root: string, count: number, isHit: boolean }} Order */
/** @typedef {{ mainMs: number, wallMs: number }} Sample */

const FILE_BYTES = 5000

/** Files that are younger are read in any case. */
const AGE_MS = 2500

/** @param {number} index */
const nameOf = (index) => `src/${index % 100}/module-${index}.js`

/** CPU time of the main thread in milliseconds. */
const mainMs = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

/** @param {Order} order @returns {Promise<Sample>} */
async function measure({ engine, dir, root, count, isHit }) {
  const cache = await openCache({ name: 'bench', dir, engine })
  const task = cache.task('inputs', { root })
  const files = Array.from({ length: count }, (_, index) => nameOf(index))
  const before = { main: mainMs(), wall: performance.now() }
  await task.run({ id: 'all', files }, () => 'made')
  const sample = { mainMs: mainMs() - before.main, wallMs: performance.now() - before.wall }
  if (task.stats().hits !== Number(isHit)) throw new Error('a hit was expected, or a miss')
  await cache.close({ commit: !isHit })
  return sample
}

async function compare() {
  const { options } = readArguments({ files: 10_000, rounds: 7 })
  const folder = mkdtempSync(join(tmpdir(), 'varve-bench-inputs-'))
  const root = join(folder, 'first')
  try {
    for (let index = 0; index < options.files; index++) {
      mkdirSync(join(root, nameOf(index), '..'), { recursive: true })
      writeFileSync(join(root, nameOf(index)), `${index}`.padEnd(FILE_BYTES, `export const name${index} = 1\n`))
    }
    await new Promise((resolve) => setTimeout(resolve, AGE_MS))
    /** @type {Map<string, Sample[]>} */
    const samples = new Map()
    const engines = /** @type {const} */ (['native', 'wasm'])
    const orderOf = (
      /** @type {'native' | 'wasm'} */ engine,
      /** @type {string} */ place,
      /** @type {boolean} */ isHit,
    ) => ({
      engine,
      dir: join(folder, engine),
      root: place,
      count: options.files,
      isHit,
    })
    for (const engine of engines) sampleOf(orderOf(engine, root, false))
    for (let round = 0; round < options.rounds; round++) {
      const copy = join(folder, `copy-${round}`)
      cpSync(root, copy, { recursive: true })
      for (const engine of engines)
        for (const [name, place] of Object.entries({ 'equal stamps': root, 'new copy': copy })) {
          const id = `${engine.padEnd(8)}${name}`
          samples.set(id, [...(samples.get(id) ?? []), sampleOf(orderOf(engine, place, true))])
        }
      rmSync(copy, { recursive: true })
    }
    for (const [id, all] of samples) {
      const main = median(all.map((one) => one.mainMs))
      const wall = median(all.map((one) => one.wallMs))
      console.log(`${id.padEnd(24)}main thread ${main.toFixed(1)} ms, wall ${wall.toFixed(1)} ms`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

await runBench(measure, compare)
