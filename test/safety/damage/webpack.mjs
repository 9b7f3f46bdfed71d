// @ts-check
// Damage met by builds (P8): a small application through webpack over damaged caches. The very build that meets the damage
// succeeds with the same bundle, and the next one takes everything from the cache again. Both engines, also in turns.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inPieces, pieces, runCases } from './batches.mjs'
import { withFolder } from './folder.mjs'
import { damageCases, donorsIn } from './generations.mjs'
import { randomOf } from '../random.mjs'
import { build } from './webpack-build.mjs'
import { none, tallyOf, zeros } from './tally.mjs'

const CHILD = fileURLToPath(new URL('webpack-child.mjs', import.meta.url))
const MODULES = 12
/** Builds that have a process of their own. */
const ALONE = 6
const HANG_MS = 30_000

/** @typedef {import('../suite.mjs').Violation} Violation */

/** @type {import('../suite.mjs').Part} */
export const throughWebpack = {
  name: 'webpack',
  run: (order) =>
    withFolder(async (base) => {
      const digest = await prepare(base)
      const cases = order.replay === undefined ? casesOf(base, order) : [order.replay]
      const figures = zeros(
        'caches', 'flips', 'sameBundle', 'rebuiltModules', 'healed', 'deaths', 'hangs', 'failures',
        'otherBundles', 'unhealed',
      )
      /** @type {Violation[]} */
      const violations = []
      const batches = [...pieces(cases.slice(0, ALONE), 1), ...pieces(cases.slice(ALONE), 40)]
      await inPieces(batches, base, order.say, async (piece, work) => {
        const met = await runCases({ program: CHILD, order: { base, work, again: false }, cases: piece, hangMs: HANG_MS })
        const again = await runCases({ program: CHILD, order: { base, work, again: true }, cases: piece, hangMs: HANG_MS })
        met.forEach((one, index) => void count(figures, violations, digest, one, again[index] ?? one))
      })
      const goals = {
        caches: { min: 500 },
        sameBundle: { min: cases.length },
        ...none('deaths', 'hangs', 'failures', 'otherBundles', 'unhealed'),
      }
      return { figures, goals, violations }
    }),
}

/** The application, and its cache by each engine: of the present, of two earlier rounds, and of another application. @param {string} base */
async function prepare(base) {
  const app = join(base, 'app')
  let digest = ''
  for (const engine of /** @type {const} */ (['native', 'wasm'])) {
    const cache = join(base, engine, 'cache')
    for (const round of [0, 1, 2]) {
      writeApplication(app, `round ${round}`)
      digest = (await build(app, cache, engine)).digest
      if (round < 2) cpSync(cache, join(base, engine, `generation-${round}`), { recursive: true })
    }
    writeApplication(app, 'other')
    await build(app, join(base, engine, 'other'), engine)
  }
  writeApplication(app, 'round 2')
  return digest
}

/** @param {string} folder @param {string} text */
function writeApplication(folder, text) {
  mkdirSync(folder, { recursive: true })
  const names = Array.from({ length: MODULES }, (_, index) => `module-${index}.js`)
  names.forEach(
    (name, index) =>
      void writeFileSync(
        join(folder, name),
        `export const value = '${text} ${index} '.repeat(${index * 10})\n// ${'x'.repeat(index * 100)}\n`,
      ),
  )
  const imports = names.map((name, index) => `import { value as v${index} } from './${name}'`)
  writeFileSync(
    join(folder, 'main.js'),
    `${imports.join('\n')}\nconsole.log('${text}', ${names.map((_, index) => `v${index}`).join(', ')})\n`,
  )
  writeFileSync(join(folder, 'package.json'), '{"name": "application", "version": "1.0.0"}')
}

/** @param {string} base @param {import('../suite.mjs').Order} order */
function casesOf(base, { seed, isLong }) {
  const random = randomOf(seed)
  const times = isLong ? 20 : 1
  return ['native>native', 'wasm>wasm', 'native>wasm', 'wasm>native'].flatMap((engines) => {
    const donors = donorsIn(join(base, engines.split('>')[0] ?? ''))
    return damageCases(donors, random, { flips: 70 * times, others: 48 * times, whole: 12 * times }).map((text) => `${engines} ${text}`)
  })
}

/**
 * @param {Record<string, number>} figures @param {Violation[]} violations @param {string} digest
 * @param {import('./batches.mjs').Met} met @param {import('./batches.mjs').Met} again
 */
function count(figures, violations, digest, met, again) {
  const { add, violate } = tallyOf(figures, violations, met.text)
  add('caches')
  if (met.text.includes(' flip ')) add('flips')
  for (const [when, { death, answer }] of Object.entries({ meeting: met, again })) {
    if (death !== undefined) {
      violate(death.startsWith('hung') ? 'hangs' : 'deaths', `${when}: ${death}`)
      continue
    }
    /** @type {import('./webpack-build.mjs').Answer} */
    const { failure, digest: bundle, built } = answer
    if (failure !== null) violate('failures', `${when}: ${failure}`)
    else if (bundle !== digest) violate('otherBundles', `${when}: another bundle`)
    else if (when === 'meeting') {
      add('sameBundle')
      add('rebuiltModules', built)
    } else if (built > 0) violate('unhealed', `the next build builds ${built} modules`)
    else add('healed')
  }
}
