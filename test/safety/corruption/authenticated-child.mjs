// @ts-check
// Reads caches with a secret into which files without the secret were put, and reports the answers; `authenticated.mjs` decides.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from 'varve'
import { answerCases } from './batches.mjs'
import { askAll, heal, isHealed, open, shapeOf } from './caches.mjs'
import { judge } from './contents.mjs'
import { readFolder, writeFolder } from './folder.mjs'
import { KEYS } from './authenticated.mjs'

/** @typedef {{ state: string, found: number, wrong: string[], sound: boolean, damage: number, healed: boolean, again: number }} Answer */

/** The folder of a cache inside its directory. @param {string} dir */
export const homeOf = (dir) => readdirSync(dir).find((name) => name.startsWith('v1')) ?? 'v1'

/** @param {{ base: string, work: string }} order @param {string} text @param {number} index @returns {Promise<Answer>} */
async function meet({ base, work }, text, index) {
  const [where = '', how = '', file = ''] = text.split(' ')
  const [engines = '', shape = ''] = where.split('/')
  const [writer, reader = 'native'] = /** @type {import('./caches.mjs').EngineName[]} */ (engines.split('>'))
  const place = join(base, `${writer}-${shape}`)
  const dir = join(work, String(index))
  forge(place, dir, how, file)
  const { kind } = shapeOf(shape)
  const key = how === 'no-key' || how === 'taken-for-open' ? undefined : how === 'wrong-key' ? KEYS.other : KEYS.ours
  const cache = await openCache({
    name: 'damage',
    dir,
    engine: reader,
    version: '1',
    ...(key === undefined ? {} : { secret: key }),
  })
  const { rounds, wrong } = await askAll(cache, kind, 'ours', dir)
  const { sound } = await cache.verify()
  const damage = cache.status().damage.length
  await heal(cache)
  const healed = isHealed(cache)
  await cache.close()
  const mine = await open(dir, reader, { secret: KEYS.ours })
  const again = await askAll(mine, kind, 'ours', dir)
  await mine.close()
  return {
    state: judge(rounds),
    found: rounds.size,
    wrong: [...wrong, ...again.wrong],
    sound,
    damage,
    healed,
    again: again.rounds.size,
  }
}

/**
 * Writes the cache of `place` to `dir`, with the forged files.
 * @param {string} place @param {string} dir @param {string} how @param {string} file
 */
function forge(place, dir, how, file) {
  const home = homeOf(join(place, 'ours'))
  const ours = readFolder(join(place, 'ours'), home)
  if (how === 'taken-for-open') return writeFolder(dir, ours)
  if (how !== 'unauthenticated' && how !== 'other-key') return writeFolder(dir, ours, home)
  const from = join(place, how)
  const theirs = readFolder(from, homeOf(from))
  const chosen = [...theirs].filter(([name]) => file === '*' || name === file)
  return writeFolder(dir, file === '*' ? theirs : new Map([...ours, ...chosen]), home)
}

await answerCases((order, text, index) =>
  meet(order, text, index).catch((error) => ({ error: `${error.code ?? error.name}: ${error.message}` })),
)
