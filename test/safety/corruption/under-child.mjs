// @ts-check
// Uses an open cache while another thread cuts, overwrites, removes and replaces its files. Then opens the cache again.
// Prints what it read.
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { VarveError } from 'varve'
import { answerCases } from './batches.mjs'
import { askAll, heal, isHealed, open } from './caches.mjs'
import { judge } from './contents.mjs'
import { readFolder, writeFolder } from './folder.mjs'

/** @typedef {{ base: string, work: string }} Order */
/**
 * @typedef {object} Answer
 * @property {string[]} wrong
 * @property {string[]} states after each time of asking
 * @property {Record<string, number>} refused typed errors by code
 * @property {boolean} struck
 * @property {boolean} healed
 * @property {boolean} sound
 * @property {string[]} errors any other
 */

const attacker = new Worker(new URL('attack.mjs', import.meta.url))
attacker.unref()

/** @param {Order} order @param {string} text @param {number} index @returns {Promise<Answer>} */
async function meet({ base, work }, text, index) {
  const [engine = '', attack = '', target = '', seed = ''] = text.split(' ')
  const dir = join(work, String(index), 'cache')
  writeFolder(dir, readFolder(join(base, 'cache')))
  /** @type {Answer} */
  const answer = { wrong: [], states: [], refused: {}, struck: false, healed: false, sound: false, errors: [] }
  const name = /** @type {import('./caches.mjs').EngineName} */ (engine)
  await attempt(answer, () => suffer(answer, dir, name, { dir, attack, target, seed: Number(seed) }))
  if (existsSync(join(dir, 'v1'))) chmodSync(join(dir, 'v1'), 0o700)
  await attempt(answer, () => look(answer, dir, name, true))
  await attempt(answer, () => look(answer, dir, name, false))
  rmSync(join(work, String(index)), { recursive: true, force: true })
  return answer
}

/** A typed error is an answer; anything else is not. @param {Answer} answer @param {() => Promise<void>} work */
async function attempt(answer, work) {
  try {
    await work()
  } catch (error) {
    if (error instanceof VarveError && error.code !== 'INTERNAL')
      answer.refused[error.code] = (answer.refused[error.code] ?? 0) + 1
    else answer.errors.push(error instanceof Error ? `${error.message} ${error.stack?.split('\n')[1]}` : String(error))
  }
}

/** @param {Answer} answer @param {string} dir @param {import('./caches.mjs').EngineName} engine @param {object} strike */
async function suffer(answer, dir, engine, strike) {
  const cache = await open(dir, engine)
  const ask = () =>
    attempt(answer, async () => {
      const { rounds, wrong } = await askAll(cache, 'large', 'ours', dir)
      answer.wrong.push(...wrong)
      answer.states.push(judge(rounds))
    })
  // Every other round has nothing in memory yet.
  if (JSON.stringify(strike).length % 2 === 0) await ask()
  const flag = new SharedArrayBuffer(4)
  const state = new Int32Array(flag)
  attacker.postMessage({ ...strike, flag })
  for (let reads = 0; reads < 40 && Atomics.load(state, 0) === 0; reads++) await ask()
  while (Atomics.load(state, 0) === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  answer.struck = Atomics.load(state, 0) === 1
  await ask()
  await attempt(
    answer,
    async () => void (await cache.namespace('n', { version: '1' }).getManyAsync(['key 1', 'key 8'])),
  )
  await attempt(answer, () => heal(cache))
  await attempt(answer, async () => void (await cache.verify()))
  await attempt(answer, async () => void (await cache.compact({ full: true })))
  await ask()
  await attempt(answer, async () => void cache.refresh())
  await attempt(answer, async () => void (await cache.stats()))
  await ask()
  await attempt(answer, () => cache.close())
}

/**
 * The next processes: the first one commits, the second one finds that.
 * @param {Answer} answer
 * @param {string} dir
 * @param {import('./caches.mjs').EngineName} engine
 * @param {boolean} commits
 */
async function look(answer, dir, engine, commits) {
  const cache = await open(dir, engine)
  const { rounds, wrong } = await askAll(cache, 'large', 'ours', dir)
  answer.wrong.push(...wrong)
  answer.states.push(judge(rounds))
  if (commits) await heal(cache)
  answer.healed = isHealed(cache)
  answer.sound = (await cache.verify()).sound
  await cache.close()
}

await answerCases(meet)
