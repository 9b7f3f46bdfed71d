// @ts-check
// `node bench/rivals/node/files.mjs`: imports an archive into a cache and restores a directory from it, through the public API.
//
//   files/tarball/files_N     imports a .tar from memory into an empty cache without syncing: Varve commits its manifest,
//                             cacache is fed by tar; GNU tar -x of a file into a directory is the limit
//   files/restore/files_5000  a full restore, and one of unchanged files
//
// Subjects take turns. Directories are removed only at the end: ext4 does not reuse the number of a file that was just removed,
// and the search for another one would dominate the times. CPU time is that of all threads of this process. --quick, --rounds.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import cacache from 'cacache'
import { Parser } from 'tar'
import { openCache } from 'varve'
import { at } from '../../../scripts/common/root.mjs'
import { runMain } from '../../../scripts/common/steps.mjs'
import { randomOf } from '../../../test/safety/random.mjs'
import { median } from '../../median.mjs'
import { installRivals } from './install.mjs'
import { printProcessor } from '../../processor.mjs'

/** @typedef {{ wall: number, cpu: number }} Sample milliseconds */
/** @typedef {(() => Promise<void>) | void} Rest remaining work, which is not timed */
/** @typedef {(folder: string, archive: string, bytes: Uint8Array) => Promise<Rest>} Subject */

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' }, rounds: { type: 'string' } } })
const ROUNDS = Number(options.rounds ?? (options.quick === true ? 5 : 15))

/** As in bench/engine: typical sizes of files in npm packages. */
const FILE_BYTES = [300, 700, 1_200, 2_000, 3_500, 6_000, 12_000, 40_000]

/** Longer than the period in which a file may change without a new time; see `crates/disk/src/tree/restore.rs`. */
const RACY_MS = 2_100

/** @param {string} root @param {number} count */
function writeTree(root, count) {
  const random = randomOf(42)
  for (let index = 0; index < count; index++) {
    const path = join(root, `lib/part${index % 53}/file${index}.js`)
    mkdirSync(dirname(path), { recursive: true })
    const words = Uint32Array.from({ length: Math.ceil((FILE_BYTES[index % FILE_BYTES.length] ?? 4) / 4) }, () =>
      random(2 ** 32),
    )
    writeFileSync(path, new Uint8Array(words.buffer))
  }
}

/** @param {() => Promise<unknown>} work @returns {Promise<Sample>} */
async function measured(work) {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  await work()
  const wall = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { wall, cpu: (user + system) / 1000 }
}

/** @param {'native' | 'wasm'} engine @returns {Subject} */
const varve = (engine) => async (folder, _archive, bytes) => {
  const cache = await openCache({ name: 'bench', dir: folder, engine })
  const { manifest } = await cache.files.importTar(bytes)
  cache.namespace('outputs', { codec: 'json' }).put('package', manifest)
  await cache.commit()
  return () => cache.close() // also makes everything survive a power failure, unlike the other subjects
}

/** Each file becomes an entry of cacache once it is complete, while the tarball is read on. @type {Subject} */
const cacacheAndTar = async (folder, _archive, bytes) => {
  /** @type {Promise<unknown>[]} */
  const puts = []
  const parser = new Parser({
    onReadEntry(entry) {
      puts.push(entry.concat().then((content) => cacache.put(folder, entry.path, content)))
    },
  })
  await new Promise((resolve, reject) => {
    parser.on('end', () => resolve(undefined))
    parser.on('error', reject)
    Readable.from([bytes]).pipe(parser)
  })
  await Promise.all(puts)
}

/** @type {Subject} */
const gnuTar = async (folder, archive) => {
  mkdirSync(folder)
  execFileSync('tar', ['-C', folder, '-xf', archive])
}

/** @type {Record<string, Subject>} */
const SUBJECTS = { varve: varve('native'), 'varve-wasm': varve('wasm'), 'cacache+tar': cacacheAndTar, 'tar -x': gnuTar }

/** @param {string} id @param {Record<string, Sample[]>} samples */
function print(id, samples) {
  for (const [name, all] of Object.entries(samples)) {
    const [wall, cpu] = [median(all.map((sample) => sample.wall)), median(all.map((sample) => sample.cpu))]
    process.stdout.write(`${JSON.stringify({ id, name, unit: 'ms', wall, cpu, rounds: all.length })}\n`)
  }
}

/** @param {string} base @param {number} count */
async function tarball(base, count) {
  const root = join(base, `tree-${count}`)
  writeTree(root, count)
  const archive = join(base, `${count}.tar`)
  execFileSync('tar', ['-C', root, '--format=ustar', '-cf', archive, 'lib'])
  const bytes = readFileSync(archive)
  /** @type {Record<string, Sample[]>} */
  const samples = Object.fromEntries(Object.keys(SUBJECTS).map((name) => [name, []]))
  const names = Object.keys(SUBJECTS)
  for (let round = -1; round < ROUNDS; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + 1 + turn) % names.length] ?? ''
      const folder = join(base, `${count}-${round}-${turn}`)
      const after = { rest: /** @type {Rest} */ (undefined) }
      const sample = await measured(async () => {
        after.rest = await SUBJECTS[name]?.(folder, archive, bytes)
      })
      await after.rest?.()
      if (round >= 0) samples[name]?.push(sample)
    }
  }
  print(`files/tarball/files_${count}`, samples)
}

/** @param {string} base @param {'native' | 'wasm'} engine */
async function restore(base, engine) {
  const root = join(base, 'tree-5000')
  if (engine === 'native') writeTree(root, 5000)
  const cache = await openCache({ name: 'bench', dir: join(base, `restore-${engine}`), engine })
  const manifest = await cache.files.store(root)
  const outputs = cache.namespace('outputs', { codec: 'json' })
  outputs.put('tree', manifest)
  await cache.commit()
  const kept = join(base, `kept-${engine}`)
  await cache.files.restore(manifest, kept)
  await sleep(RACY_MS)
  /** @type {Record<string, Sample[]>} */
  const samples = { full: [], 'unchanged, first': [], unchanged: [] }
  samples['unchanged, first']?.push(await measured(() => cache.files.restore(manifest, kept)))
  for (let round = 0; round < ROUNDS; round++) {
    samples['full']?.push(await measured(() => cache.files.restore(manifest, join(base, `full-${engine}-${round}`))))
    samples['unchanged']?.push(await measured(() => cache.files.restore(manifest, kept)))
  }
  await cache.close()
  print(`files/restore/files_5000/${engine}`, samples)
}

await runMain(async () => {
  await installRivals()
  printProcessor()
  mkdirSync(at('target/bench'), { recursive: true })
  const base = mkdtempSync(at('target/bench/files-'))
  try {
    for (const count of [8, 31, 32, 1000]) await tarball(base, count)
    for (const engine of /** @type {const} */ (['native', 'wasm'])) await restore(base, engine)
  } finally {
    rmSync(base, { recursive: true })
  }
})
