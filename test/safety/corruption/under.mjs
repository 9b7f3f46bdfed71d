// @ts-check
// Files of an open cache that change (P10): cut, overwritten, removed, replaced, made unreadable, or the whole directory
// removed, while another thread reads, commits and compacts. The process does not crash. Every answer is correct, a miss or a
// typed error, and the next open works.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ATTACKS, SWEEPS, TARGETS } from './attack.mjs'
import { inPieces, pieces, runCases } from './batches.mjs'
import { shapeOf, writeCache } from './caches.mjs'
import { withFolder } from './folder.mjs'
import { randomOf } from '../random.mjs'
import { none, tallyOf, zeros } from './tally.mjs'

const CHILD = fileURLToPath(new URL('under-child.mjs', import.meta.url))
const ROUNDS = 510
const HANG_MS = 20_000

/** @typedef {import('../suite.mjs').Violation} Violation */

/** @type {import('../suite.mjs').Part} */
export const under = {
  name: 'under-open-handle',
  run: (order) =>
    withFolder(async (base) => {
      await writeCache(join(base, 'cache'), 'native', shapeOf('mixed-large'), 'ours')
      const all = rounds(randomOf(order.seed), order.isLong ? ROUNDS * 40 : ROUNDS)
      const cases = order.replay === undefined ? all : Array.from({ length: 20 }, () => order.replay ?? '')
      const figures = zeros(
        'rounds',
        'struck',
        'reads',
        'refused',
        'earlier',
        'deaths',
        'hangs',
        'wrong',
        'stale',
        'errors',
        'unhealed',
      )
      /** @type {Violation[]} */
      const violations = []
      await inPieces(pieces(cases, 30), base, order.say, async (piece, work) => {
        for (const met of await runCases({ program: CHILD, order: { base, work }, cases: piece, hangMs: HANG_MS }))
          count(figures, violations, met)
      })
      const goals = {
        rounds: { min: 500 },
        struck: { min: 450 },
        ...none('deaths', 'hangs', 'wrong', 'stale', 'errors', 'unhealed'),
      }
      return { figures, goals, violations }
    }),
}

/** @param {import('../random.mjs').Random} random @param {number} most */
function rounds(random, most) {
  const forms = [
    ...ATTACKS.flatMap((attack) => Object.keys(TARGETS).map((target) => `${attack} ${target}`)),
    ...SWEEPS.map((sweep) => `${sweep} all`),
  ]
  return Array.from(
    { length: most },
    (_, index) => `${index % 2 === 0 ? 'native' : 'wasm'} ${forms[(index >> 1) % forms.length]} ${random(2 ** 31)}`,
  )
}

/** @param {Record<string, number>} figures @param {Violation[]} violations @param {import('./batches.mjs').Met} met */
function count(figures, violations, { text, death, answer }) {
  const { add, violate, died } = tallyOf(figures, violations, text)
  add('rounds')
  if (death !== undefined) return died(death)
  /** @type {import('./under-child.mjs').Answer} */
  const { wrong, states, refused, struck, healed, sound, errors } = answer
  if (struck) add('struck')
  add('reads', states.length)
  add(
    'refused',
    Object.values(refused).reduce((sum, number) => sum + number, 0),
  )
  for (const one of wrong) violate('wrong', one)
  for (const one of errors) violate('errors', one)
  // The end of a log that is gone is what a loss of power leaves; see `api.mjs`.
  const mayBeEarlier = / (log|all) /.test(text)
  if (states.includes('stale') && !mayBeEarlier) violate('stale', 'values of different rounds')
  if (states.includes('earlier') && !mayBeEarlier) violate('stale', 'values of an earlier round')
  else if (states.includes('earlier')) add('earlier')
  if (!healed || !sound)
    violate(
      'unhealed',
      `put in the next process and found after it: ${healed}; verify: ${sound}; ${JSON.stringify(refused)}`,
    )
  return undefined
}
