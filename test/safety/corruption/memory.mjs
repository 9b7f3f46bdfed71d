// @ts-check
// Hostile lengths (P22, T12): folders with correct checksums and false lengths, counts and offsets. No process aborts or
// needs more than 256 MiB and four times the bytes of the folder, on either engine. Proof that it can fail: it found entries
// that took seven times their bytes in memory, attached tables that were each compared with all earlier ones, and entries
// that were copied for sorting although they were in order.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inPieces, pieces, runCases } from './batches.mjs'
import { withFolder } from './folder.mjs'
import { HOSTILE } from './hostile.mjs'
import { hostileBytes, writeHostile } from './hostile-folder.mjs'
import { none, tallyOf, zeros } from './tally.mjs'

const CHILD = fileURLToPath(new URL('memory-child.mjs', import.meta.url))
const PEAK_BYTES = 256 * 2 ** 20
/** Of one case: compaction of a million entries takes its time on a machine that does other things. */
const HANG_MS = 60_000
/** What Node may reserve, most of it never used. WebAssembly reserves 10 GiB for one memory, so it is held by its peak alone. */
const ADDRESS_BYTES = 4 * 2 ** 30
/**
 * Folders of more bytes have a process of their own, and so has each case of WebAssembly: what an earlier one needed is not
 * given back.
 */
const ALONE_BYTES = 2 ** 20
const PRLIMIT = '/usr/bin/prlimit'

/** @typedef {import('../suite.mjs').Violation} Violation */

/** @type {import('../suite.mjs').Part} */
export const memory = {
  name: 'memory',
  run: (order) =>
    withFolder(async (base) => {
      const names = Object.keys(HOSTILE)
      const ofEngine = (/** @type {string} */ engine) => names.map((name) => `${engine} ${name}`)
      // No process has both engines: one of them lives under a limit.
      const cases = order.replay === undefined ? [ofEngine('native'), ofEngine('wasm')] : [[order.replay]]
      const isLimited = existsSync(PRLIMIT)
      const figures = zeros(
        'cases',
        'answered',
        'refused',
        'healed',
        'peakMiB',
        'underLimit',
        'deaths',
        'hangs',
        'errors',
        'tooMuch',
        'unread',
        'unhealed',
      )
      figures['folders'] = names.length
      /** @type {Violation[]} */
      const violations = []
      const bytes = new Map(cases.flat().map((text) => [text, hostileBytes(nameIn(text))]))
      await inPieces(
        cases.flatMap((some) => inProcesses(some, bytes)),
        base,
        order.say,
        async (piece, work) => {
          const isUnderLimit = isLimited && piece[0]?.startsWith('native') === true
          const wrapper = isUnderLimit ? [PRLIMIT, `--as=${ADDRESS_BYTES}`] : []
          const folders = Object.fromEntries(piece.map((text, index) => [text, String(index)]))
          // The test forges this file, so its memory does not count for the engine.
          piece.forEach((text, index) => void writeHostile(join(work, String(index)), nameIn(text)))
          const all = await runCases({
            program: CHILD,
            order: { work, folders },
            cases: piece,
            wrapper,
            hangMs: HANG_MS,
          })
          figures['underLimit'] = (figures['underLimit'] ?? 0) + (isUnderLimit ? piece.length : 0)
          const peak = { bytes: 0 }
          all.forEach((met) => void count(figures, violations, met, bytes.get(met.text) ?? 0, peak))
        },
      )
      const goals = { folders: { min: 100 }, ...none('deaths', 'hangs', 'errors', 'tooMuch', 'unread', 'unhealed') }
      return { figures, goals, violations }
    }),
}

/** @param {string} text a case */
const nameIn = (text) => text.slice(text.indexOf(' ') + 1)

/** @param {readonly string[]} cases @param {ReadonlyMap<string, number>} bytes */
function inProcesses(cases, bytes) {
  const isAlone = (/** @type {string} */ text) => text.startsWith('wasm ') || (bytes.get(text) ?? 0) > ALONE_BYTES
  return [
    ...cases.filter(isAlone).map((text) => [text]),
    ...pieces(
      cases.filter((text) => !isAlone(text)),
      25,
    ),
  ]
}

/**
 * `peak` is what the process had needed before.
 * @param {Record<string, number>} figures @param {Violation[]} violations @param {import('./batches.mjs').Met} met
 * @param {number} fileBytes @param {{ bytes: number }} peak
 */
function count(figures, violations, { text, death, answer }, fileBytes, peak) {
  const { add, violate, died } = tallyOf(figures, violations, text)
  add('cases')
  if (death !== undefined) return died(death)
  /** @type {import('./memory-child.mjs').Answer} */
  const { found, codes, errors, healed, peakBytes } = answer
  add(codes.length === 0 ? 'answered' : 'refused')
  figures['peakMiB'] = Math.max(figures['peakMiB'] ?? 0, Math.ceil(peakBytes / 2 ** 20))
  const limit = PEAK_BYTES + 4 * fileBytes
  if (peakBytes > limit && peakBytes > peak.bytes * 1.1)
    violate('tooMuch', `${Math.ceil(peakBytes / 2 ** 20)} MiB at the most, for ${fileBytes} bytes of files`)
  peak.bytes = Math.max(peak.bytes, peakBytes)
  for (const error of errors) violate('errors', error)
  if (/ sound /.test(text) && found !== 'value') violate('unread', `a sound forged cache answers ${found}`)
  // In some folders all sequence numbers are used; opening them is a typed error.
  if (healed) add('healed')
  else if (!codes.includes('EXHAUSTED')) violate('unhealed', `refused with ${codes.join(', ')}`)
  return undefined
}
