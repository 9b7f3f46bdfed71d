// @ts-check
// A disk that fails while a cache on it is open: a loop device whose backing file is cut. Reads then fail with EIO, and reads
// through a map with SIGBUS. Every answer is correct, a miss or a typed error, and the process does not crash.
//
//   node eio.mjs <folder> <seed> <long> <replay: the round>
import { copyFileSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openCache, VarveError } from 'varve'
import { seedOf } from '../random.mjs'
import { tool } from './disk.mjs'
import { ALL_RIGHT, build, readAll, readFiles } from './fixture.mjs'

/** @import { Cache } from 'varve' */

const [folder = '', seedText = '0', long, replay = ''] = process.argv.slice(2)
const seed = Number(seedText)
const IMAGE_BYTES = 16 << 20
const CALL_MS_MAX = 5000
const rounds =
  replay === '' ? Array.from({ length: long === 'true' ? 500 : 50 }, (_, round) => round) : [Number(replay)]
const figures = { rounds: 0, right: 0, misses: 0, errors: 0, callMsMax: 0 }
/** @type {{ what: string, replay: string }[]} */
const violations = []

const [template, disk] = [join(folder, 'template'), join(folder, 'disk')]
mkdirSync(disk)
writeFileSync(template, '')
truncateSync(template, IMAGE_BYTES)
tool('mkfs.ext4', '-q', '-F', template)
tool('mount', '-o', 'loop', template, disk)
await (await build(join(disk, 'cache'), 'native')).close()
tool('umount', disk)
for (const round of rounds) {
  try {
    await dying(round)
  } catch (error) {
    violations.push({ what: `round ${round}: ${String(error)}`, replay: String(round) })
  }
}
const goals = { rounds: { min: 50 }, misses: { min: 1 }, callMsMax: { max: CALL_MS_MAX } }
process.stdout.write(JSON.stringify({ figures, goals, violations }))

/** @param {number} round */
async function dying(round) {
  // A new name for each round, in case the previous device is still in use.
  const image = join(folder, `image-${round}`)
  copyFileSync(template, image)
  tool('mount', '-o', round % 3 === 0 ? 'loop,ro' : 'loop', image, disk)
  const engine = round % 2 === 0 ? 'native' : 'wasm'
  const open = () => openCache({ name: 'fixture', dir: join(disk, 'cache'), engine, onWarning: () => {} })
  try {
    const cache = await open()
    if (round % 5 === 0) await readAll(cache)
    truncateSync(image, seedOf(seed, round) % IMAGE_BYTES)
    await use(cache)
    const again = await attempt(open)
    if (again !== undefined) await use(again)
  } finally {
    tool('umount', '--lazy', disk)
    rmSync(image)
  }
  figures.rounds++
}

/** @param {Cache} cache */
async function use(cache) {
  const right = (await attempt(() => readAll(cache))) ?? 0
  figures.right += right
  figures.misses += ALL_RIGHT - right
  await attempt(() => readFiles(cache))
  await attempt(() => cache.verify())
  await attempt(async () => cache.refresh())
  cache.namespace('new').put('new', new Uint8Array(2000))
  await attempt(() => cache.commit({ durability: 'durable' }))
  await attempt(() => cache.compact({ full: true }))
  await attempt(() => cache.close())
}

/** A typed error is an answer; undefined stands for it. @template T @param {() => Promise<T>} run @returns {Promise<T | undefined>} */
async function attempt(run) {
  const startMs = performance.now()
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof VarveError) || error.code === 'INTERNAL') throw error
    figures.errors++
    return undefined
  } finally {
    figures.callMsMax = Math.max(figures.callMsMax, Math.round(performance.now() - startMs))
  }
}
