// @ts-check
// Damaged caches in builds (P8): a bundler with our plugin builds a small application over a damaged cache.
// - The build that reads the damage succeeds with the same output. It reports the damage at most once, through the logger of
//   the bundler, and not as a warning about the code.
// - After it every byte of the cache is sound, and the next build takes everything from the cache.
// Both engines, also in turns; caches of logs, and caches of tables. Proof that it can fail: it found a plugin that did not
// commit after damage was reported, damage that was an error, and damage that esbuild did not report.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache } from 'varve'
import { inPieces, pieces, runCases } from './batches.mjs'
import { buildWith } from './build-child.mjs'
import { withFolder } from './folder.mjs'
import { damageCases, donorsIn } from './generations.mjs'
import { randomOf } from '../random.mjs'
import { none, tallyOf, zeros } from './tally.mjs'

const CHILD = fileURLToPath(new URL('build-child.mjs', import.meta.url))
const MODULES = 12
/** Builds that have a process of their own. */
const ALONE = 4
/** No build may lose more time, however busy the machine is. */
const HANG_MS = 30_000
const SLOWEST_MS = 10_000

const ENGINES = /** @type {const} */ (['native', 'wasm'])
const FORMS = /** @type {const} */ (['logs', 'checkpointed'])

/** @typedef {import('../suite.mjs').Violation} Violation */
/** Of each pair of engines and each form. @typedef {{ flips: number, others: number, whole: number }} Counts */

/**
 * @param {string} tool @param {Counts} counts of the short form
 * @returns {import('../suite.mjs').Part}
 */
export function throughBuilds(tool, counts) {
  const each = counts.flips + counts.others + counts.whole
  return {
    name: tool,
    run: (order) =>
      withFolder(async (base) => {
        const digest = await prepare(tool, base)
        const cases = order.replay === undefined ? casesOf(base, counts, order) : [order.replay]
        const bad = /** @type {const} */ ([
          'deaths',
          'hangs',
          'failures',
          'otherOutputs',
          'complaints',
          'wrongReports',
          'unsound',
          'unhealed',
        ])
        const figures = zeros(
          'caches',
          'flips',
          'sameOutput',
          'worked',
          'reports',
          'sound',
          'healed',
          'slowestMs',
          ...bad,
        )
        /** @type {Violation[]} */
        const violations = []
        await inPieces(inProcesses(cases), base, order.say, async (piece, work) => {
          const round = (/** @type {'meet' | 'again'} */ name) =>
            runCases({ program: CHILD, order: { tool, base, work, round: name }, cases: piece, hangMs: HANG_MS })
          const met = await round('meet')
          const again = await round('again')
          met.forEach((one, index) => void count(figures, violations, digest, one, again[index] ?? one))
        })
        const goals = {
          caches: { min: each * ENGINES.length ** 2 * FORMS.length },
          sameOutput: { min: cases.length },
          slowestMs: { max: SLOWEST_MS },
          ...none(...bad),
        }
        return { figures, goals, violations }
      }),
  }
}

/**
 * The application, and its cache by each engine in each form: of the present, of two earlier rounds, and of another
 * application. Returns the digest of what is built without a cache.
 * @param {string} tool @param {string} base
 */
async function prepare(tool, base) {
  const app = join(base, 'app')
  for (const engine of ENGINES) {
    for (const form of FORMS) {
      const place = join(base, `${engine}-${form}`)
      const fill = async (/** @type {string} */ name, /** @type {string} */ text) => {
        const cache = { dir: join(place, name), engine }
        writeApplication(app, text)
        const { failure } = await buildWith(tool, app, cache)
        if (failure !== null) throw new Error(failure)
        if (form === 'checkpointed') await checkpoint(tool, cache)
      }
      // After three rounds in one folder the engine would checkpoint the logs by itself.
      await fill(form === 'logs' ? 'generation-0' : 'cache', 'round 0')
      if (form === 'checkpointed') cpSync(join(place, 'cache'), join(place, 'generation-0'), { recursive: true })
      await fill('cache', 'round 1')
      cpSync(join(place, 'cache'), join(place, 'generation-1'), { recursive: true })
      await fill('cache', 'round 2')
      await fill('other', 'other')
    }
  }
  writeApplication(app, 'round 2')
  return (await buildWith(tool, app, undefined)).digest
}

/** @param {readonly string[]} cases */
const inProcesses = (cases) => [...cases.slice(0, ALONE).map((one) => [one]), ...pieces(cases.slice(ALONE), 40)]

/** @param {string} tool @param {import('./build-child.mjs').CacheOptions} options */
async function checkpoint(tool, options) {
  const cache = await openCache({ name: tool, ...options })
  await cache.compact({ full: true })
  await cache.close()
}

/** @param {string} folder @param {string} text */
function writeApplication(folder, text) {
  mkdirSync(folder, { recursive: true })
  const names = Array.from({ length: MODULES }, (_, index) => `module-${index}.js`)
  for (const [index, name] of names.entries()) {
    const code = `export const value = '${text} ${index} '.repeat(${index * 10})\n// ${'x'.repeat(index * 100)}\n`
    writeFileSync(join(folder, name), code)
  }
  const imports = names.map((name, index) => `import { value as v${index} } from './${name}'`)
  const values = names.map((_, index) => `v${index}`).join(', ')
  writeFileSync(join(folder, 'main.js'), `${imports.join('\n')}\nconsole.log('${text}', ${values})\n`)
  writeFileSync(join(folder, 'package.json'), '{"name": "application", "version": "1.0.0", "type": "module"}')
}

/** @param {string} base @param {Counts} counts @param {import('../suite.mjs').Order} order */
function casesOf(base, counts, { seed, isLong }) {
  const random = randomOf(seed)
  const times = isLong ? 20 : 1
  const pairs = ENGINES.flatMap((writer) => ENGINES.map((reader) => [writer, reader]))
  return pairs.flatMap(([writer, reader]) =>
    FORMS.flatMap((form) => {
      const donors = donorsIn(join(base, `${writer}-${form}`))
      const { flips, others, whole } = counts
      const cases = damageCases(donors, random, { flips: flips * times, others: others * times, whole: whole * times })
      return cases.map((text) => `${writer}>${reader} ${form} ${text}`)
    }),
  )
}

/**
 * @param {Record<string, number>} figures @param {Violation[]} violations @param {string} digest
 * @param {import('./batches.mjs').Met} met @param {import('./batches.mjs').Met} again
 */
function count(figures, violations, digest, met, again) {
  const { add, violate, died } = tallyOf(figures, violations, met.text)
  add('caches')
  const isFlip = met.text.includes(' flip ')
  if (isFlip) add('flips')
  for (const [when, { death, answer }] of Object.entries({ meeting: met, again })) {
    if (death !== undefined) return died(death, `${when}: `)
    /** @type {import('./build-child.mjs').Answer} */
    const { failure, complaints, ms } = answer
    if (failure !== null) return violate('failures', `${when}: ${failure}`)
    if (answer.digest !== digest) violate('otherOutputs', `${when}: another output`)
    if (complaints.length > 0) violate('complaints', `${when}: ${complaints.join('; ')}`)
    figures['slowestMs'] = Math.max(figures['slowestMs'] ?? 0, Math.round(ms))
  }
  /** @type {import('./build-child.mjs').Answer} */
  const { reports, worked, digest: output } = met.answer
  if (output === digest) add('sameOutput')
  add('worked', worked)
  add('reports', reports.length)
  // A flipped bit never looks like an incomplete append, so a build that misses entries because of it reports the damage.
  const isUnreported = isFlip && worked > 0 && reports.length === 0
  if (reports.length > 1 || isUnreported)
    violate('wrongReports', `${worked} worked, reports: ${reports.join('; ') || 'none'}`)
  if (again.answer.reports.length > 0) violate('wrongReports', `again: ${again.answer.reports.join('; ')}`)
  // Builds do not read entries that they do not need.
  if (again.answer.sound) add('sound')
  else if (reports.length > 0) violate('unsound', `reports: ${reports.join('; ')}`)
  if (again.answer.worked > 0) violate('unhealed', `the next build works on ${again.answer.worked} modules`)
  else add('healed')
  return undefined
}
