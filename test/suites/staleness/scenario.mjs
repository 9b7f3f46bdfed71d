// @ts-check
// A scenario is a project that changes step by step. After each step it is built without a cache and with Varve, and both
// must come to the same: the same files, errors and warnings.

/**
 * One change of a project. Paths are relative to its folder.
 * @typedef {readonly ['write', file: string, text: string]
 *   | readonly ['replace', file: string, text: string, replacement: string]
 *   | readonly ['replaceKeepingTime', file: string, text: string, replacement: string]
 *   | readonly ['age', file: string]
 *   | readonly ['touch', file: string]
 *   | readonly ['remove', file: string]
 *   | readonly ['rename', file: string, target: string]
 *   | readonly ['install', name: string, version: string]
 *   | readonly ['move']
 *   | readonly ['serve', text: string]
 *   | readonly ['link', file: string, target: string]
 *   | readonly ['env', name: string, value?: string]} Change
 */

/** @typedef {'webpack' | 'vite' | 'vite-serve' | 'vitest' | 'rollup' | 'rolldown' | 'esbuild' | 'rspack'} Tool */

/**
 * @typedef {object} Scenario
 * @property {string} name
 * @property {string} [tool] a Tool; webpack if it is left out
 * @property {string} [folder] where the build runs, below the folder of the project
 * @property {string} [config] of webpack; `webpack.config.cjs` if it is left out
 * @property {Readonly<Record<string, string>>} files
 * @property {readonly Change[]} [start] changes before the first build
 * @property {Readonly<Record<string, readonly Change[]>>} steps
 * @property {Readonly<Record<string, string>>} [limits] steps that Varve cannot see, each with the reason; the suite fails
 * too if one of them is right after all
 * @property {string} [ownLimit] why a step may be wrong after which webpack's own cache is wrong, too
 */

/** The first two steps of every scenario. The second one changes nothing: there the cache has to answer. */
export const FIRST = 'first build'
export const AGAIN = 'again'

/**
 * All steps of a scenario, in their order.
 * @param {Scenario} scenario
 * @returns {[name: string, changes: readonly Change[]][]}
 */
export const stepsOf = ({ start = [], steps }) => [[FIRST, start], [AGAIN, []], ...Object.entries(steps)]
