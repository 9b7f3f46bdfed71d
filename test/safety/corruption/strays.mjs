// @ts-check
// Foreign files in the cache directory (P9): FIFOs, folders, sockets, devices, links and sparse files under every name,
// 100,000 strays, other formats, unreadable files. Opening never blocks and takes at most a second. Answers are correct or
// misses, the next commit works, and nothing outside of the directory is read or changed. The same holds for `varve`.
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inLanes } from '../lanes.mjs'
import { inPieces, LANES, pieces, runCases } from './batches.mjs'
import { shapeOf, writeCache } from './caches.mjs'
import { withFolder } from './folder.mjs'
import { FORMS, mayRefuse } from './plant.mjs'
import { commandForms, runCommands } from './strays-command.mjs'
import { none, tallyOf, zeros } from './tally.mjs'

const CHILD = fileURLToPath(new URL('strays-child.mjs', import.meta.url))
/** The promise is a second; more is a machine that does other things. */
const OPEN_MS_MAX = 5_000
const HANG_MS = 20_000
const NOBODY = 65_534

/** @typedef {import('../suite.mjs').Violation} Violation */

/** @type {import('../suite.mjs').Part} */
export const strays = {
  name: 'strays',
  run: (order) =>
    withFolder(async (base) => {
      chmodSync(base, 0o755)
      await writeCache(join(base, 'cache'), 'native', shapeOf('mixed-large'), 'ours')
      const outside = makeOutside(join(base, 'outside'))
      const all = FORMS.flatMap((form) => [`native ${form}`, `wasm ${form}`])
      const cases = order.replay === undefined ? all : [order.replay]
      const figures = zeros(
        'cases',
        'skipped',
        'right',
        'misses',
        'refused',
        'slowestOpenMs',
        'hangs',
        'deaths',
        'wrong',
        'unhealed',
        'followed',
        'commands',
        'badCommands',
      )
      figures['forms'] = new Set(cases.map((text) => text.slice(text.indexOf(' ') + 1))).size
      /** @type {Violation[]} */
      const violations = []
      const opened = cases.filter((text) => !text.startsWith('command '))
      await inPieces(pieces(opened, 60), base, order.say, async (piece, work) => {
        for (const met of await runCases({
          program: CHILD,
          order: { base, work, uid: NOBODY },
          cases: piece,
          hangMs: HANG_MS,
        }))
          count(figures, violations, met)
      })
      const commands = order.replay === undefined ? commandForms() : cases.filter((text) => text.startsWith('command '))
      await inLanes(commands, (text) => runCommands(base, text, figures, violations), LANES)
      if (outside() !== '') {
        figures['followed'] = 1
        violations.push({ what: `outside of the cache: ${outside()}`, replay: cases[0] ?? '' })
      }
      const goals = {
        forms: { min: 25 },
        slowestOpenMs: { max: OPEN_MS_MAX },
        ...none('hangs', 'deaths', 'wrong', 'unhealed', 'followed', 'badCommands'),
      }
      return { figures, goals, violations }
    }),
}

/** A folder that looks like a cache, and a question whether it is still as it was. @param {string} folder */
function makeOutside(folder) {
  mkdirSync(folder)
  for (const name of ['manifest-1', '0.log', '1-1.table', 'secret.txt'])
    writeFileSync(join(folder, name), `${name} outside`)
  const state = () =>
    JSON.stringify(
      readdirSync(folder)
        .sort()
        .map((name) => [name, statSync(join(folder, name)).mtimeMs, readFileSync(join(folder, name), 'latin1')]),
    )
  const before = state()
  return () => (state() === before ? '' : state())
}

/** @param {Record<string, number>} figures @param {Violation[]} violations @param {import('./batches.mjs').Met} met */
function count(figures, violations, { text, death, answer }) {
  const { add, violate, died } = tallyOf(figures, violations, text)
  add('cases')
  if (death !== undefined) return died(death)
  /** @type {import('./strays-child.mjs').Answer} */
  const { openMs, state, found, wrong, healed, refused, error, skipped } = answer
  if (skipped !== undefined) return add('skipped')
  figures['slowestOpenMs'] = Math.max(figures['slowestOpenMs'] ?? 0, Math.ceil(openMs))
  if (error !== undefined) return violate('deaths', error)
  if (refused !== undefined)
    return mayRefuse(text.slice(text.indexOf(' ') + 1))
      ? add('refused')
      : violate('unhealed', `refused with ${refused}`)
  for (const one of wrong) violate('wrong', one)
  if (state !== 'right' && !text.endsWith('-log')) violate('wrong', `${state} values`)
  add(found === 9 ? 'right' : 'misses')
  if (!healed) violate('unhealed', 'the next open cache has not what was put')
  return undefined
}
