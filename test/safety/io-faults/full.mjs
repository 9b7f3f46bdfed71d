// @ts-check
// Full disks: a tmpfs of each of 64 sizes is filled until a commit fails with DISK_FULL. On the full disk this handle
// and others read every acknowledged commit, and once there is space the same handle commits.
//
//   node full.mjs <folder> <seed> <long> <replay: size/engine>
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openCache, VarveError } from 'varve'
import { noise, seedOf } from '../random.mjs'
import { tool } from './disk.mjs'

/** @import { Cache } from 'varve' */

const [folder = '', seedText = '0', , replay = ''] = process.argv.slice(2)
const seed = Number(seedText)
const CALL_MS_MAX = 5000
const COUNT = 64
const [LEAST, MOST] = [16 << 10, 8 << 20]

/** Sizes from 16 KiB to 8 MiB, each a little larger than the one before, in pages. */
const sizes = Array.from(
  { length: COUNT },
  (_, i) => Math.round((LEAST * (MOST / LEAST) ** (i / (COUNT - 1))) / 4096) * 4096,
)
const figures = { sizes: 0, commits: 0, refused: 0, keysRead: 0, callMsMax: 0 }
/** @type {{ what: string, replay: string }[]} */
const violations = []
const cases =
  replay === '' ? sizes.map((size, i) => ({ size, engine: i % 2 === 0 ? 'native' : 'wasm' })) : [caseOf(replay)]
for (const { size, engine } of cases) {
  try {
    await fill(size, engine === 'wasm' ? 'wasm' : 'native')
  } catch (error) {
    violations.push({ what: `${size} bytes, ${engine}: ${String(error)}`, replay: `${size}/${engine}` })
  }
}
const goals = { sizes: { min: COUNT }, refused: { min: COUNT }, callMsMax: { max: CALL_MS_MAX } }
process.stdout.write(JSON.stringify({ figures, goals, violations }))

/** @param {string} text */
function caseOf(text) {
  const [size, engine = ''] = text.split('/')
  return { size: Number(size), engine }
}

/** @param {number} size @param {'native' | 'wasm'} engine */
async function fill(size, engine) {
  const disk = join(folder, `disk-${size}-${engine}`)
  mkdirSync(disk)
  tool('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk)
  const dir = join(disk, 'cache')
  const cache = await openCache({ name: 'full', dir, engine, onWarning: () => {} })
  /** Acknowledged values by key; `pending` were put and refused. @type {Map<string, number>} */
  const acknowledged = new Map()
  /** @type {Map<string, number>} */
  const pending = new Map()
  try {
    let refusals = 0
    for (let number = 0; refusals < 3; number++) {
      if (number > 4000) throw new Error('the disk never fills')
      put(cache, number, size, pending)
      const code = await attempt(() => cache.commit({ durability: number % 3 === 0 ? 'durable' : 'relaxed' }))
      if (code === undefined) for (const [key, value] of pending) acknowledged.set(key, value)
      if (code === undefined) pending.clear()
      else if (code === 'DISK_FULL') refusals++
      else throw new Error(`a commit on a full disk fails with ${code}`)
      figures[code === undefined ? 'commits' : 'refused']++
    }
    expect(cache, new Map([...acknowledged, ...pending]), 'the handle itself')
    for (const other of /** @type {const} */ (['native', 'wasm']))
      for (const readOnly of [true, false]) {
        if (other === engine && !readOnly) continue
        const reader = await openCache({ name: 'full', dir, engine: other, readOnly, onWarning: () => {} })
        expectAny(reader, acknowledged, pending, `${other}${readOnly ? ', readOnly' : ''}, on the full disk`)
        await reader.close()
      }
    tool('mount', '-o', `remount,size=${size * 2 + (1 << 20)}`, disk)
    put(cache, 5000, size, pending)
    const code = await attempt(() => cache.commit({ durability: 'durable' }))
    if (code !== undefined) throw new Error(`there is room again, and a commit fails with ${code}`)
  } finally {
    await attempt(() => cache.close())
  }
  const after = await openCache({
    name: 'full',
    dir,
    engine: engine === 'native' ? 'wasm' : 'native',
    onWarning: () => {},
  })
  expect(after, new Map([...acknowledged, ...pending]), 'another process, with room again')
  if (!(await after.verify()).sound) throw new Error('verify finds damage')
  await after.close()
  tool('umount', disk)
  figures.sizes++
}

/**
 * Some small values, now and then a large commit.
 * @param {Cache} cache
 * @param {number} number
 * @param {number} size
 * @param {Map<string, number>} pending
 */
function put(cache, number, size, pending) {
  const values = cache.namespace('n')
  const isLarge = number % 7 === 5 && size > 1 << 20
  for (let i = 0; i < (isLarge ? 36 : 3); i++) {
    const key = `k${seedOf(seed, number, i) % 50}`
    values.put(key, valueOf(key, number, isLarge ? 30_000 : Math.ceil(size / 60)))
    pending.set(key, number)
  }
}

/** @param {string} key @param {number} number @param {number} bytes */
function valueOf(key, number, bytes) {
  const value = noise(seedOf(key, number, bytes), bytes + 4)
  value.writeUInt32LE(number, 0)
  return value
}

/** @param {Cache} cache @param {string} key */
function numberIn(cache, key) {
  const value = cache.namespace('n').get(key)
  if (value === undefined) return undefined
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  const number = bytes.readUInt32LE(0)
  if (!bytes.equals(valueOf(key, number, bytes.length - 4))) throw new Error(`${key} has wrong bytes`)
  figures.keysRead++
  return number
}

/** @param {Cache} cache @param {ReadonlyMap<string, number>} expected @param {string} who */
function expect(cache, expected, who) {
  for (const [key, number] of expected) {
    const found = numberIn(cache, key)
    if (found !== number) throw new Error(`${who}: ${key} is of commit ${found} instead of ${number}`)
  }
}

/**
 * What was refused may be there, all of it, or nothing.
 * @param {Cache} cache
 * @param {Map<string, number>} acknowledged
 * @param {Map<string, number>} pending
 * @param {string} who
 */
function expectAny(cache, acknowledged, pending, who) {
  const [first] = pending
  const isThere = first !== undefined && numberIn(cache, first[0]) === first[1]
  expect(cache, isThere ? new Map([...acknowledged, ...pending]) : acknowledged, who)
}

/** The code of the error; undefined: it worked. @param {() => Promise<unknown>} run */
async function attempt(run) {
  const startMs = performance.now()
  try {
    await run()
    return undefined
  } catch (error) {
    return error instanceof VarveError ? error.code : `not typed: ${String(error)}`
  } finally {
    figures.callMsMax = Math.max(figures.callMsMax, Math.round(performance.now() - startMs))
  }
}
