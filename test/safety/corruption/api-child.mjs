// @ts-check
// Uses damaged caches, one case after the other: opens, reads, verifies, commits. With `again` in its order it is the next
// process, which checks whether the commit repaired the cache. Prints its observations; `api.mjs` decides.
import { join } from 'node:path'
import { answerCases } from './batches.mjs'
import { askAll, heal, isHealed, open, shapeOf } from './caches.mjs'
import { judge } from './contents.mjs'
import { damageFolder } from './generations.mjs'

/** @typedef {{ base: string, work: string, again: boolean }} Order the folders of the undamaged and of the damaged caches */
/** @typedef {{ state: string, found: number, wrong: string[], sound: boolean, places: number, healed: boolean, error?: string }} Answer */

/** @param {Order} order @param {string} text @param {number} index @returns {Promise<Answer>} */
async function meet({ base, work, again }, text, index) {
  const [where = '', ...rest] = text.split(' ')
  const [engines = '', shape = ''] = where.split('/')
  const [writer, reader] = /** @type {import('./caches.mjs').EngineName[]} */ (engines.split('>'))
  const dir = join(work, String(index))
  if (!again) damageFolder(join(base, `${writer}-${shape}`), dir, rest.join(' '))
  const { kind } = shapeOf(shape)
  const cache = await open(dir, reader ?? 'native')
  const { rounds, wrong } = await askAll(cache, kind, 'ours', dir)
  const { sound, damage } = await cache.verify()
  if (!again) await heal(cache)
  const healed = isHealed(cache)
  await cache.close()
  return { state: judge(rounds), found: rounds.size, wrong, sound, places: damage.length, healed }
}

await answerCases((order, text, index) =>
  meet(order, text, index).catch((error) => ({
    state: 'right',
    found: 0,
    wrong: [],
    sound: false,
    places: 0,
    healed: false,
    error: `${error.code ?? error.name}: ${error.message}`,
  })),
)
