// @ts-check
// A generated program: a small project, a plugin that does what plugins do to it, and edits. All of it follows from the seed.
import { pick, randomOf, seedOf } from '../../safety/random.mjs'
import { randomEdits } from './edits.mjs'
import { chance } from './choice.mjs'
import { FILES, KINDS, LINKS } from './subjects.mjs'

/** @typedef {'webpack' | 'rspack' | 'vite' | 'rollup' | 'rolldown' | 'esbuild' | 'task'} Tool */

/** @type {readonly Tool[]} */
export const TOOLS = ['task', 'esbuild', 'rollup', 'rolldown', 'rspack', 'vite', 'webpack']

/**
 * What a plugin does once: each time that it is called for a module, or the first time and then keeps the result in memory.
 * @typedef {object} Operation
 * @property {string} kind a function of project/operations.cjs
 * @property {string} subject a path, a variable or an address
 * @property {boolean} isKept
 */

/**
 * A report of what a call depends on.
 * @typedef {readonly [kind: 'File' | 'Folder', path: string]} Declaration
 */

/**
 * @typedef {object} Program
 * @property {number} seed
 * @property {Tool} tool
 * @property {'cjs' | 'mjs'} format of the plugin
 * @property {'transform' | 'load'} hook the one that is given the code, or the one that reads it; of Rollup and its relatives
 * @property {boolean} isParallel whether tasks run at the same time
 * @property {'none' | 'file' | 'warning'} collects how the plugin emits at the end what its calls have collected
 * @property {'none' | 'memory' | 'file'} virtual whether modules import one that only the plugin can load, and what that is made of
 * @property {readonly string[]} modules names
 * @property {readonly Operation[]} config what the config does
 * @property {readonly Operation[]} load what the plugin does when it is loaded
 * @property {readonly Operation[]} start what it does when a build starts
 * @property {Readonly<Record<string, readonly Operation[]>>} calls what it does for each module
 * @property {Readonly<Record<string, readonly Declaration[]>>} declared
 * @property {readonly (readonly import('../staleness/scenario.mjs').Change[])[]} edits between two builds each
 */

/** Operations of one module. */
const CALLS_MAX = 3

/** Builds after the first one and its repetition. */
const EDITS_MAX = 5

/** @type {readonly Program['collects'][]} */
const COLLECTED = ['file', 'warning']
/** @type {readonly Program['virtual'][]} */
const VIRTUAL = ['memory', 'file']

/**
 * @param {number} seed
 * @param {Tool} tool
 * @returns {Program}
 */
export function generateProgram(seed, tool) {
  const random = randomOf(seedOf(seed, tool))
  const modules = Array.from({ length: 2 + random(3) }, (_, index) => `m${index}`)
  /** @type {Operation[]} */
  const chosen = []
  const operation = (/** @type {readonly string[]} */ kinds) => {
    // Two modules for which a plugin does the same: it may have the result in memory.
    if (kinds === all && chosen.length > 0 && chance(random, 20)) return pick(random, chosen)
    const kind = pick(random, kinds)
    const subject = pick(random, KINDS[kind] ?? [])
    // A write that is kept is that of the module which happens to come first.
    const isKept = chance(random, 30) && !kind.startsWith('write')
    const one = { kind, subject, isKept }
    if (kinds === all) chosen.push(one)
    return one
  }
  const several = (/** @type {number} */ percent, /** @type {readonly string[]} */ kinds) =>
    chance(random, percent) ? [operation(kinds)] : []
  const early = Object.keys(KINDS).filter((kind) => EARLY.test(kind) && !(kind === 'variable' && tool === 'task'))
  const all = Object.keys(KINDS).filter((kind) => !isRare(kind) || chance(random, 15))
  const calls = modules.map((name) => [name, Array.from({ length: random(CALLS_MAX + 1) }, () => operation(all))])
  const isBundler = tool !== 'task'
  /** @type {Program} */
  const program = {
    seed,
    tool,
    format: chance(random, 15) ? 'mjs' : 'cjs',
    hook: chance(random, 30) ? 'load' : 'transform',
    isParallel: chance(random, 50),
    // In Rspack, a loader that passes something to a plugin is documented: nothing can see it.
    collects: isBundler && tool !== 'rspack' && chance(random, 10) ? pick(random, COLLECTED) : 'none',
    virtual: isBundler && tool !== 'rspack' && chance(random, 10) ? pick(random, VIRTUAL) : 'none',
    modules,
    config: several(15, early),
    load: several(15, early),
    start: several(isBundler ? 15 : 0, all),
    calls: withOneTaker(Object.fromEntries([...calls, ['e0', several(80, all)]])),
    declared: Object.fromEntries(modules.map((name) => [name, chance(random, 20) ? [declaration(random)] : []])),
    edits: [],
  }
  return { ...program, edits: randomEdits(random, program, 2 + random(EDITS_MAX - 1)) }
}

/**
 * If two calls took the same, it would be that of the module which happens to come first.
 * @param {Readonly<Record<string, readonly Operation[]>>} calls
 * @returns {Program['calls']}
 */
function withOneTaker(calls) {
  const isTake = (/** @type {Operation} */ { kind }) => kind.startsWith('take')
  const taker = Object.keys(calls).find((name) => calls[name]?.some(isTake))
  return Object.fromEntries(
    Object.entries(calls).map(([name, operations]) => [
      name,
      name === taker ? operations : operations.filter((one) => !isTake(one)),
    ]),
  )
}

/**
 * What a program does, in words: its operations, what it collects, virtual modules and edits.
 * @param {Program} program
 * @returns {string[]}
 */
export function featuresOf({ config, load, start, calls, collects, virtual, edits }) {
  return [
    ...[...config, ...load, ...start].map(wordsOf),
    ...Object.entries(calls).flatMap(([name, operations]) => operations.map((one) => `${name}: ${wordsOf(one)}`)),
    `collects: ${collects}`,
    `virtual: ${virtual}`,
    ...edits.flat().map((change) => `edit: ${change.join(' ')}`),
  ]
}

/** @param {Operation} operation */
export const wordsOf = ({ kind, subject, isKept }) => `${kind} ${subject}${isKept ? ' (kept in memory)' : ''}`

/**
 * The program without the operations that match, nor, by their names, what its plugin collects and virtual modules: to look for
 * other faults than those that are known.
 * @param {Program} program
 * @param {RegExp} kinds
 * @returns {Program}
 */
export function withoutKinds(program, kinds) {
  const rest = (/** @type {readonly Operation[]} */ operations) => operations.filter(({ kind }) => !kinds.test(kind))
  return {
    ...program,
    config: rest(program.config),
    load: rest(program.load),
    start: rest(program.start),
    calls: Object.fromEntries(Object.entries(program.calls).map(([name, operations]) => [name, rest(operations)])),
    collects: kinds.test('collects') ? 'none' : program.collects,
    virtual: kinds.test('virtual') ? 'none' : program.virtual,
  }
}

/**
 * Operations that a plugin may do before the first call: those that do not wait, and start no process, which Varve sees in calls only.
 * Variables are found by their names in the text of plugins and configs, not in that of programs with tasks.
 */
const EARLY =
  /^(?!exec|spawn).*Sync$|^require|^resolve|^read(Buffer|Url|Descriptor|Pointer|Upward|Extension|dir)|^walk|^size|^variable$/

/** Operations after which nothing is stored: too many of them, and no program has hits. @param {string} kind */
const isRare = (kind) => /^(exec|spawn|worker|fetch|http|connect|write|copy|emit)/.test(kind)

/** @param {import('../../safety/random.mjs').Random} random @returns {Declaration} */
function declaration(random) {
  if (chance(random, 50)) return ['File', pick(random, [...Object.keys(FILES), ...Object.keys(LINKS), 'pages', 'data'])]
  return ['Folder', pick(random, ['data', 'data/deep', 'pages', 'src'])]
}
