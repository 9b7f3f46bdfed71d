// @ts-check
// Writes the caches that are damaged later, through the API, and reads their contents.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCache, VarveError } from 'varve'
import { keysOf, lastRound, ROUNDS, roundOf, valueOf } from './contents.mjs'
import { readFolder } from './folder.mjs'

/** @typedef {'native' | 'wasm'} EngineName */
/** @typedef {import('./contents.mjs').Kind} Kind */
/** Two logs and no table; tables only, after each round; tables and newer logs. @typedef {'logs' | 'checkpointed' | 'mixed'} Form */
/** @typedef {{ kind: Kind, form: Form }} Shape */
/** @typedef {import('varve').Cache} Cache */

/** The rounds that one open cache commits, and those after which it compacts everything. */
const SESSIONS = /** @type {const} */ ({
  logs: [
    { rounds: [0, 1, 2], checkpoints: false },
    { rounds: [3, 4], checkpoints: false },
  ],
  checkpointed: [0, 1, 2, 3, 4].map((round) => ({ rounds: [round], checkpoints: true })),
  mixed: [
    { rounds: [0], checkpoints: true },
    { rounds: [1, 2], checkpoints: true },
    { rounds: [3], checkpoints: false },
    { rounds: [4], checkpoints: false },
  ],
})

/** @param {string} text such as `mixed-large` @returns {Shape} */
export function shapeOf(text) {
  const [form, kind] = text.split('-')
  return /** @type {Shape} */ ({ form, kind })
}

/**
 * Without records of builds: nothing puts an old record again, so its damage stays until a compaction.
 * @param {string} dir @param {EngineName} engine @param {object} [more]
 */
export const open = (dir, engine, more = {}) =>
  openCache({ name: 'damage', dir, engine, version: '1', history: 'never', ...more })

/**
 * Writes a cache. Returns its folder after each round.
 * @param {string} dir @param {EngineName} engine @param {Shape} shape @param {string} salt @param {{ secret?: string }} [more] options
 */
export async function writeCache(dir, engine, { kind, form }, salt, more = {}) {
  const generations = []
  const read = () => (more.secret === undefined ? readFolder(dir) : new Map())
  for (const { rounds, checkpoints } of SESSIONS[form]) {
    const cache = await open(dir, engine, more)
    for (const round of rounds) {
      for (const key of keysOf(round)) await put(cache, kind, key, valueOf(kind, salt, key, round), dir, round)
      await cache.commit()
      generations.push(read())
    }
    if (checkpoints) await cache.compact({ full: true })
    await cache.close()
  }
  return { folder: read(), generations: generations.slice(0, -1) }
}

/** @param {Cache} cache @param {Kind} kind @param {number} key @param {Buffer} value @param {string} dir @param {number} round */
async function put(cache, kind, key, value, dir, round) {
  if (kind === 'tasks')
    return void (await taskOf(cache, dir).run({ id: `key ${key}`, inputs: { round } }, () => value.toString()))
  if (kind !== 'files') return cache.namespace('n', { version: '1' }).put(`key ${key}`, value)
  const tree = join(dir, '..', 'tree')
  mkdirSync(join(tree, 'sub'), { recursive: true })
  writeFileSync(join(tree, 'a.txt'), value)
  writeFileSync(join(tree, 'sub', 'same.txt'), 'the same in every output')
  outputsOf(cache).put(`key ${key}`, await cache.files.store(tree))
  rmSync(tree, { recursive: true })
}

/** @param {Cache} cache @param {string} dir */
const taskOf = (cache, dir) => cache.task('t', { version: '1', codec: 'text', root: join(dir, '..') })
/** @param {Cache} cache @returns {import('varve').Namespace<import('varve/files').FileManifest>} */
const outputsOf = (cache) => cache.namespace('outputs', { version: '1', codec: 'json' })

/**
 * Reads every key through every call. Returns the round of each value found, and a text for each value that was never
 * written.
 * @param {Cache} cache @param {Kind} kind @param {string} salt @param {string} dir
 */
export async function askAll(cache, kind, salt, dir) {
  /** @type {Map<number, number>} */
  const rounds = new Map()
  /** @type {string[]} */
  const wrong = []
  const take = (/** @type {number} */ key, /** @type {Uint8Array | undefined} */ found, /** @type {string} */ how) => {
    if (found === undefined) return
    const round = roundOf(kind, salt, key, found)
    const before = rounds.get(key) ?? round
    if (round === undefined) wrong.push(`${how} of key ${key}: ${found.length} bytes that were never written`)
    else if (round !== before) wrong.push(`${how} of key ${key}: of round ${round}, before of round ${before}`)
    else rounds.set(key, round)
  }
  if (kind === 'tasks') await askTasks(cache, dir, take)
  else if (kind === 'files') await askOutputs(cache, dir, take)
  else askEntries(cache, take)
  return { rounds, wrong }
}

/** @typedef {(key: number, found: Uint8Array | undefined, how: string) => void} Take */

/** @param {Cache} cache @param {Take} take */
function askEntries(cache, take) {
  const namespace = cache.namespace('n', { version: '1' })
  const keys = keysOf(0).map((key) => `key ${key}`)
  keys.forEach((key, index) => void take(index, namespace.get(key), 'get'))
  namespace.getMany(keys).forEach((value, index) => void take(index, value, 'getMany'))
  for (const [key, value] of namespace.entries())
    if (key !== HEALED) take(Number(String(key).slice(4)), value, 'entries')
}

/** @param {Cache} cache @param {string} dir @param {Take} take */
async function askTasks(cache, dir, take) {
  for (const key of keysOf(0)) {
    let isHit = true
    const request = { id: `key ${key}`, inputs: { round: lastRound(key, ROUNDS) } }
    const found = await taskOf(cache, dir).run(request, (context) => {
      isHit = false
      context.skipStore()
      return ''
    })
    if (isHit) take(key, Buffer.from(found), 'task')
  }
}

/** @param {Cache} cache @param {string} dir @param {Take} take */
async function askOutputs(cache, dir, take) {
  const outputs = outputsOf(cache)
  const target = `${dir}.out`
  for (const key of keysOf(0)) {
    const manifest = outputs.get(`key ${key}`)
    if (manifest === undefined) continue
    rmSync(target, { recursive: true, force: true })
    try {
      await cache.files.restore(manifest, target)
      const same = readFileSync(join(target, 'sub', 'same.txt'), 'utf8')
      take(
        key,
        same === 'the same in every output' ? readFileSync(join(target, 'a.txt')) : Buffer.from(same),
        'restore',
      )
    } catch (error) {
      if (!(error instanceof VarveError) || error.code !== 'FILES_DAMAGED') throw error
    }
  }
  rmSync(target, { recursive: true, force: true })
}

/** A key that the damaged cache gets. */
const HEALED = 'healed'

/** @param {Cache} cache */
export async function heal(cache) {
  cache.namespace('n', { version: '1' }).put(HEALED, Buffer.from(HEALED))
  await cache.commit()
}

/** @param {Cache} cache */
export const isHealed = (cache) =>
  Buffer.from(cache.namespace('n', { version: '1' }).get(HEALED) ?? []).toString() === HEALED
