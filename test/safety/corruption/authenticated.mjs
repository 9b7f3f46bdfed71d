// @ts-check
// Caches with a secret, through the API, on both engines. With another secret or none, everything is a miss, and nothing is
// reported as damaged or changed. Files of a cache without a secret, or with another one, replace files of the cache one by
// one or all together; their values are never returned. The part `flips` flips bits of caches with a secret.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCases, inPieces, pieces } from './batches.mjs'
import { shapeOf, writeCache } from './caches.mjs'
import { KEYS as ENTRIES } from './contents.mjs'
import { withFolder } from './folder.mjs'
import { none, tallyOf, zeros } from './tally.mjs'

export const KEYS = { ours: 'a secret of thirty-two characters', other: 'another one of as many characters' }

const CHILD = fileURLToPath(new URL('authenticated-child.mjs', import.meta.url))
const SHAPES = ['logs-small', 'mixed-small', 'checkpointed-large', 'mixed-files', 'mixed-tasks']
const ENGINES = ['native>native', 'wasm>wasm', 'native>wasm', 'wasm>native']
const PIECE = 64

/** @type {import('../suite.mjs').Part} */
export const authenticated = {
  name: 'authenticated',
  run: (order) =>
    withFolder(async (root) => {
      const base = join(root, 'base')
      const cases = await prepare(base)
      const wanted = order.replay === undefined ? cases : [order.replay]
      const figures = zeros('cases', 'forged', 'believed', 'missedValues', 'deaths', 'unhealed', 'touched', 'wrong')
      /** @type {import('../suite.mjs').Violation[]} */
      const violations = []
      await inPieces(pieces(wanted, PIECE), root, order.say, async (piece, work) => {
        for (const met of await runCases({ program: CHILD, order: { base, work }, cases: piece }))
          judgeCase(figures, violations, met)
      })
      return {
        figures,
        goals: { forged: { min: 200 }, ...none('believed', 'deaths', 'unhealed', 'touched', 'wrong') },
        violations,
      }
    }),
}

/** Writes each cache with our key, and the same keys with other values without a key and with another one. @param {string} base */
async function prepare(base) {
  const cases = []
  for (const engine of /** @type {const} */ (['native', 'wasm'])) {
    for (const name of SHAPES) {
      const place = join(base, `${engine}-${name}`)
      const shape = shapeOf(name)
      await writeCache(join(place, 'ours'), engine, shape, 'ours', { secret: KEYS.ours })
      const unauthenticated = await writeCache(join(place, 'unauthenticated'), engine, shape, 'other')
      await writeCache(join(place, 'other-key'), engine, shape, 'other', { secret: KEYS.other })
      const files = ['*', ...unauthenticated.folder.keys()].filter((file) => !file.startsWith('used/'))
      const forged = ['unauthenticated', 'other-key'].flatMap((who) => files.map((file) => `${who} ${file}`))
      const texts = ['right-key', 'wrong-key', 'no-key', 'taken-for-open', ...forged]
      for (const engines of ENGINES.filter((pair) => pair.startsWith(engine)))
        cases.push(...texts.map((text) => `${engines}/${name} ${text}`))
    }
  }
  return cases
}

/**
 * @param {Record<string, number>} figures
 * @param {import('../suite.mjs').Violation[]} violations
 * @param {import('./batches.mjs').Met} met
 */
function judgeCase(figures, violations, { text, answer, death }) {
  const how = text.split(' ')[1] ?? ''
  const { add, violate } = tallyOf(figures, violations, text)
  add('cases')
  if (death !== undefined) return violate('deaths', death)
  if (answer.error !== undefined) return violate('unhealed', answer.error)
  for (const wrong of answer.wrong) violate('believed', wrong)
  if (!answer.healed) violate('unhealed', 'the entry put after it is not there')
  if (answer.state === 'stale' || answer.state === 'earlier') violate('wrong', answer.state)
  if (how === 'unauthenticated' || how === 'other-key') {
    add('forged')
    return add('missedValues', ENTRIES - answer.found)
  }
  const isRight = how === 'right-key'
  if (answer.found !== (isRight ? ENTRIES : 0))
    violate(isRight ? 'wrong' : 'believed', `${answer.found} entries are found`)
  // Files with a secret in place of files without one are damage for a cache without a secret, and invisible to the others.
  if (how !== 'taken-for-open' && (!answer.sound || answer.damage > 0)) violate('touched', 'damage is reported')
  if (how !== 'taken-for-open' && answer.again !== ENTRIES)
    violate('touched', `with the secret, ${answer.again} entries are left`)
}
