// @ts-check
// Defects planted in TypeScript: each file of `edits/` exports a list of them. Each edit names a test, which must pass
// without it and fail with it. The edit is made in memory while vitest loads the source (`vitest.config.ts`), or while a
// program that a test starts loads `dist` (`dist-hooks.mjs`), so no file changes.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { at, root } from '../../../scripts/common/root.mjs'
import { toolPath } from '../../../scripts/common/tools.mjs'
import { inLanes } from '../lanes.mjs'
import { randomOf } from '../random.mjs'
import { plantedFiles } from '../../../scripts/build/planted.mjs'
import { applyEdit } from './apply.mjs'
import { runDefective, runProgram } from './limited.mjs'

/** The variable that names the edit to make. */
export const EDIT_VARIABLE = 'VARVE_PLANTED_EDIT'

/**
 * One defect.
 * @typedef {object} Edit
 * @property {string} name unique among all edits
 * @property {string} file the source, relative to the root
 * @property {string} find a text that occurs in it exactly once
 * @property {string} replace the defective text
 * @property {string} test path of the vitest file that has to fail, relative to the root
 * @property {string} [only] a part of the names of the tests to run: vitest's `-t`
 */

/** @typedef {import('../suite.mjs').Order} Order */
/** @typedef {import('../suite.mjs').Outcome} Outcome */
/** @typedef {{ passed: number, failed: number, isEnded: boolean, ms: number }} Run `isEnded`: vitest reported at its end */

/** All edits, of every file in the folder. @returns {Promise<readonly Edit[]>} */
export async function allEdits() {
  const folder = at('test/safety/mutation/edits')
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.mjs'))
    .sort()
  const lists = await Promise.all(files.map((name) => import(join(folder, name))))
  return lists.flatMap((list) => list.default)
}

/** How many edits the sample runs. */
const SAMPLED = 3

/** Makes every edit, and runs the tests of a few that the seed chooses. @param {Order} order @returns {Promise<Outcome>} */
export async function someEdits({ seed, ...order }) {
  const all = await allEdits()
  const impossible = []
  for (const edit of all) {
    const why = await whyImpossible(edit)
    if (why !== undefined) impossible.push({ what: `${edit.name}: ${why}`, replay: edit.name })
  }
  try {
    plantedFiles()
  } catch (error) {
    impossible.push({ what: String(error), replay: '' })
  }
  const random = randomOf(seed)
  const chosen = Array.from({ length: order.replay === undefined ? SAMPLED : 0 }, () => all[random(all.length)]?.name)
  const outcome = await edits({ seed, ...order }, ({ name }) => order.replay === name || chosen.includes(name))
  const figures = { made: all.length - impossible.length, ...outcome.figures }
  return { ...outcome, figures, violations: [...impossible, ...outcome.violations] }
}

/**
 * Runs the test of each edit, or of those that a sample takes.
 * @param {Order} order
 * @param {(edit: Edit) => boolean} [isTaken]
 * @returns {Promise<Outcome>}
 */
export async function edits({ replay, say }, isTaken = ({ name }) => replay === undefined || replay === name) {
  const all = await allEdits()
  const chosen = all.filter(isTaken)
  if (chosen.length === 0) throw new Error(`no such edit: ${replay}`)
  const repeated = all.filter(({ name }, index) => all.findIndex((other) => other.name === name) !== index)
  /** @type {Map<string, Promise<Run>>} Runs without an edit, by what is run. */
  const sound = new Map()
  const failures = await inLanes(chosen, async (edit) => {
    const failure = await failureOf(edit, sound)
    say(`${edit.name}: ${failure ?? 'caught'}`)
    return failure
  })
  const missed = chosen.flatMap(({ name }, index) =>
    failures[index] === undefined ? [] : [{ what: `${name}: ${failures[index]}`, replay: name }],
  )
  const violations = [
    ...missed,
    ...repeated.map(({ name }) => ({ what: `two edits are named '${name}'`, replay: name })),
  ]
  const caught = failures.filter((failure) => failure === undefined).length
  return { figures: { defects: chosen.length, caught }, goals: { caught: { min: chosen.length } }, violations }
}

/** Why an edit does not count as caught; undefined if it does. @param {Edit} edit @param {Map<string, Promise<Run>>} sound */
async function failureOf(edit, sound) {
  const impossible = await whyImpossible(edit)
  if (impossible !== undefined) return impossible
  const command = JSON.stringify([edit.test, edit.only])
  const without = sound.get(command) ?? runTest(edit)
  sound.set(command, without)
  const { passed, failed, ms } = await without
  if (passed === 0 || failed > 0) return `${edit.test}: ${passed} tests passed and ${failed} failed without the edit`
  const found = await runTest(edit, ms)
  return found.isEnded && found.failed === 0 ? `${edit.test} does not detect it` : undefined
}

/** Why the sources do not allow an edit; undefined if they do. @param {Edit} edit */
async function whyImpossible(edit) {
  try {
    await transform(applyEdit(edit, await readFile(at(edit.file), 'utf8')), { loader: 'ts' })
    return undefined
  } catch (error) {
    return `cannot be made: ${error instanceof Error ? error.message : String(error)}`
  }
}

/**
 * Runs the test of an edit.
 * @param {Edit} edit
 * @param {number} [soundMs] how long it takes without the edit; undefined = run it without the edit
 * @returns {Promise<Run>}
 */
async function runTest({ name, test, only }, soundMs) {
  const folder = await mkdtemp(join(tmpdir(), 'varve-edit-'))
  const counts = join(folder, 'counts.json')
  const config = at('test/safety/mutation/vitest.config.ts')
  const filter = only === undefined ? [] : ['--testNamePattern', only.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')]
  const args = [
    toolPath('vitest'),
    'run',
    '--root',
    root,
    '--config',
    config,
    `--reporter=${at('scripts/test/counts.mjs')}`,
    ...filter,
    test,
  ]
  /** @param {string} edit @returns {import('./limited.mjs').Program} */
  const programOf = (edit) => {
    const env = {
      ...process.env,
      [EDIT_VARIABLE]: edit,
      VARVE_COUNTS: counts,
      VARVE_SEED: process.env.VARVE_SEED ?? '1',
    }
    return { command: process.execPath, args, cwd: root, env }
  }
  try {
    const { ms, isCut } = await (soundMs === undefined
      ? runProgram(programOf(''))
      : runDefective(programOf, name, soundMs))
    const found = isCut ? undefined : await readFile(counts, 'utf8').then(JSON.parse, () => undefined)
    return { passed: 0, failed: 0, ...found, isEnded: found !== undefined, ms }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
