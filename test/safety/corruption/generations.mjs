// @ts-check
// A cache with its past and another one beside it, as folders; and damage that takes more than one file: `half SEED` is a
// folder half of whose files are gone, `mixed GENERATION SEED` one whose files are of two ages.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { damaged, flips, otherDamage } from './cases.mjs'
import { readFolder, writeFolder } from './folder.mjs'
import { randomOf } from '../random.mjs'

/** @typedef {import('./cases.mjs').Donors} Donors */

/** @type {Map<string, Donors>} */
const known = new Map()

/** What `place` holds: `cache`, `other`, `generation-0` and on, read once. @param {string} place @returns {Donors} */
export function donorsIn(place) {
  const found = known.get(place)
  if (found !== undefined) return found
  const at = (/** @type {string} */ part) => readFolder(join(place, part))
  const generations = readdirSync(place)
    .filter((name) => name.startsWith('generation-'))
    .sort()
  const donors = { folder: at('cache'), other: at('other'), generations: generations.map(at) }
  known.set(place, donors)
  return donors
}

/** Puts the cache of `place`, damaged, at `dir`. @param {string} place @param {string} dir @param {string} text */
export function damageFolder(place, dir, text) {
  const donors = donorsIn(place)
  const [kind, first = '', second = ''] = text.split(' ')
  if (kind === 'half') return writeFolder(dir, new Map([...donors.folder].filter(some(Number(first)))))
  if (kind === 'mixed')
    return writeFolder(
      dir,
      new Map([...donors.folder, ...[...(donors.generations[Number(first)] ?? [])].filter(some(Number(second)))]),
    )
  const folder = damaged(donors, text)
  if (folder === undefined) throw new Error(`case '${text}' changes nothing`)
  return writeFolder(dir, folder)
}

/** @param {number} seed */
function some(seed) {
  const random = randomOf(seed)
  return () => random(2) === 0
}

/** @param {Donors} donors @param {import('../random.mjs').Random} random @param {{ flips: number, others: number, whole: number }} counts */
export function damageCases(donors, random, counts) {
  const others = otherDamage(donors, random, { cuts: 12, pairs: 6 })
  const chosen = Array.from(
    { length: Math.min(counts.others, others.length) },
    () => others.splice(random(others.length), 1)[0] ?? '',
  )
  const whole = Array.from({ length: counts.whole }, (_, index) =>
    index % 2 === 0 ? `half ${random(2 ** 31)}` : `mixed ${random(2)} ${random(2 ** 31)}`,
  )
  return [...flips(donors.folder, random, counts.flips), ...chosen, ...whole]
}
