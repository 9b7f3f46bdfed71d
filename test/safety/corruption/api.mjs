// @ts-check
// Damaged caches through the API (P7, P8, P29): flips, truncations, missing files, zeroed, copied and swapped pages, files of
// another cache and of older rounds. Every answer is correct or a miss, `verify` reports the damage, no process crashes or
// hangs, and after the next commit another process finds a sound cache.
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { inPieces, pieces, runCases } from './batches.mjs'
import { shapeOf, writeCache } from './caches.mjs'
import { flips, isOfLog, otherDamage } from './cases.mjs'
import { withFolder, writeFolder } from './folder.mjs'
import { randomOf } from '../random.mjs'
import { none, tallyOf, zeros } from './tally.mjs'

const CHILD = fileURLToPath(new URL('api-child.mjs', import.meta.url))
const SHAPES = [
  'logs-small',
  'checkpointed-small',
  'mixed-small',
  'mixed-large',
  'checkpointed-large',
  'mixed-files',
  'mixed-tasks',
]
/** The engine that writes, and the engine that reads the damaged cache. */
const ENGINES = ['native>native', 'wasm>wasm', 'native>wasm', 'wasm>native']
const FLIPS = 8192
/** Caches of one process. */
const PIECE = 128

/** @typedef {import('../suite.mjs').Violation} Violation */
/** @typedef {import('./api-child.mjs').Answer} Answer */

/** @type {import('../suite.mjs').Part} */
export const api = {
  name: 'api',
  run: (order) =>
    withFolder(async (root) => {
      const base = join(root, 'base')
      const cases = await prepare(base, order)
      const wanted = order.replay === undefined ? cases : [order.replay]
      const figures = zeros(
        'cases',
        'flips',
        'cuts',
        'others',
        'right',
        'missedValues',
        'earlier',
        'seen',
        'unseen',
        'deaths',
        'hangs',
        'wrong',
        'stale',
        'unhealed',
      )
      /** @type {Violation[]} */
      const violations = []
      await inPieces(pieces(wanted, PIECE), root, order.say, async (piece, work) => {
        const met = await runCases({ program: CHILD, order: { base, work, again: false }, cases: piece })
        const again = await runCases({ program: CHILD, order: { base, work, again: true }, cases: piece })
        met.forEach((one, index) => void count(figures, violations, one, again[index]))
      })
      const goals = { flips: { min: FLIPS }, ...none('unseen', 'deaths', 'hangs', 'wrong', 'stale', 'unhealed') }
      return { figures, goals, violations }
    }),
}

/** Writes the caches and makes the list of cases. @param {string} base @param {import('../suite.mjs').Order} order */
async function prepare(base, { seed, isLong }) {
  const random = randomOf(seed)
  const each = Math.ceil((isLong ? FLIPS * 32 : FLIPS) / (SHAPES.length * ENGINES.length))
  const most = isLong ? { cuts: 400, pairs: 200 } : { cuts: 6, pairs: 4 }
  const cases = []
  for (const engine of /** @type {const} */ (['native', 'wasm'])) {
    for (const name of SHAPES) {
      const place = join(base, `${engine}-${name}`)
      const { folder, generations } = await writeCache(join(place, 'cache'), engine, shapeOf(name), 'ours')
      const { folder: other } = await writeCache(join(place, 'other'), engine, shapeOf(name), 'other')
      generations.forEach((generation, number) => void writeFolder(join(place, `generation-${number}`), generation))
      for (const engines of ENGINES.filter((text) => text.startsWith(engine))) {
        const texts = [...flips(folder, random, each), ...otherDamage({ folder, other, generations }, random, most)]
        cases.push(...texts.map((text) => `${engines}/${name} ${text}`))
      }
    }
  }
  return cases
}

/**
 * @param {Record<string, number>} figures
 * @param {Violation[]} violations
 * @param {import('./batches.mjs').Met} met
 * @param {import('./batches.mjs').Met | undefined} again
 */
function count(figures, violations, met, again) {
  const kind = met.text.split(' ')[1]
  const { add, violate, died } = tallyOf(figures, violations, met.text)
  add('cases')
  add(kind === 'flip' ? 'flips' : kind === 'cut' ? 'cuts' : 'others')
  for (const [when, { death, answer }] of Object.entries({ meeting: met, again: again ?? met })) {
    if (death !== undefined) {
      died(death, `${when}: `)
      continue
    }
    judgeAnswer(when, met.text, answer, add, violate)
  }
}

/**
 * @param {string} when
 * @param {string} text
 * @param {Answer} answer
 * @param {(name: string, by?: number) => void} add
 * @param {(name: string, what: string) => void} violate
 */
function judgeAnswer(when, text, answer, add, violate) {
  const isMeeting = when === 'meeting'
  // The end of the newest log that is gone is what a loss of power leaves: the cache is what it was some commits before.
  const mayBeEarlier = isOfLog(text.slice(text.indexOf(' ') + 1)) && !/ (flip|copy|swap|foreign) /.test(text)
  if (answer.error !== undefined) return violate('unhealed', `${when}: ${answer.error}`)
  for (const wrong of answer.wrong) violate('wrong', `${when}: ${wrong}`)
  if (answer.state === 'stale' || (answer.state === 'earlier' && !mayBeEarlier))
    violate('stale', `${when}: ${answer.state}`)
  if (!answer.healed) violate('unhealed', `${when}: the entry put after the damage is not there`)
  if (!isMeeting) return answer.sound ? undefined : violate('unhealed', `${when}: verify still finds damage`)
  add(answer.state === 'earlier' ? 'earlier' : 'right')
  add('missedValues', 9 - answer.found)
  if (!answer.sound) add('seen')
  else if (!mayBeEarlier) violate('unseen', `verify finds nothing`)
}
