// @ts-check
// Opens caches with foreign files in their directory, one form after the other, and prints the results.
import { chownSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { VarveError } from 'varve'
import { answerCases } from './batches.mjs'
import { askAll, heal, isHealed, open, shapeOf } from './caches.mjs'
import { judge } from './contents.mjs'
import { readFolder, writeFolder } from './folder.mjs'
import { plant } from './plant.mjs'

/** @typedef {{ base: string, work: string, uid: number }} Order */
/**
 * @typedef {object} Answer
 * @property {number} openMs @property {string} state @property {number} found @property {string[]} wrong
 * @property {boolean} healed whether the entry put beside the form is there in the next open cache
 * @property {string} [refused] code of the typed error @property {string} [error] any other @property {string} [skipped]
 */

/** @param {Order} order @param {string} text @param {number} index @returns {Promise<Answer>} */
async function meet({ base, work, uid }, text, index) {
  const [engine = '', ...words] = text.split(' ')
  const dir = join(work, `${engine}-${index}`, 'cache')
  const folder = readFolder(join(base, 'cache'))
  const answer = { openMs: 0, state: 'right', found: 0, wrong: /** @type {string[]} */ ([]), healed: false }
  writeFolder(dir, folder)
  const skipped = plant(dir, [...folder.keys()], words.join(' '), join(base, 'outside'))
  if (skipped !== undefined) return { ...answer, skipped }
  const isRoot = process.getuid?.() === 0
  if (words[0] === 'unreadable') {
    if (!isRoot || uid === 0) return { ...answer, skipped: 'not root: the test cannot become another user' }
    becomeAnother(dir, uid)
  }
  try {
    await use(answer, dir, /** @type {import('./caches.mjs').EngineName} */ (engine))
    return answer
  } catch (error) {
    return {
      ...answer,
      ...(error instanceof VarveError && error.code !== 'INTERNAL'
        ? { refused: error.code }
        : { error: String(error) }),
    }
  } finally {
    if (words[0] === 'unreadable') process.seteuid?.(0)
    rmSync(join(dir, '..'), { recursive: true, force: true })
  }
}

/** @param {Answer} answer @param {string} dir @param {import('./caches.mjs').EngineName} engine */
async function use(answer, dir, engine) {
  const startMs = performance.now()
  const cache = await open(dir, engine)
  answer.openMs = performance.now() - startMs
  const { rounds, wrong } = await askAll(cache, shapeOf('mixed-large').kind, 'ours', dir)
  Object.assign(answer, { state: judge(rounds), found: rounds.size, wrong })
  await cache.verify()
  await heal(cache)
  await cache.close()
  const next = await open(dir, engine)
  answer.healed = isHealed(next)
  await next.close()
}

/** Root may read everything, so the cache gets another owner, whose rights this process takes. @param {string} dir @param {number} uid */
function becomeAnother(dir, uid) {
  for (const path of ['', ...readdirSync(dir, { recursive: true, encoding: 'utf8' })])
    chownSync(join(dir, path), uid, uid)
  process.seteuid?.(uid)
}

await answerCases(meet)
