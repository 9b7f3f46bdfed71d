// @ts-check
// Splits a suite of webpack into slices, each for a process of its own: a process that made hundreds of compilers is
// slower with each further one, because every compiler looks at all that the process has loaded.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** The suites that are split, and the folder with their categories of cases. @type {Readonly<Record<string, string>>} */
const CATEGORIES = { 'ConfigCacheTestCases.basictest.js': 'test/configCases' }

/** How many cases a slice has; a category is never split. */
const CASES = 120

/**
 * Patterns of test names that together match all tests of a suite; undefined: all in one.
 * @param {string} checkout
 * @param {string} suite
 * @returns {Promise<readonly (string | undefined)[]>}
 */
export async function slicesOf(checkout, suite) {
  const folder = CATEGORIES[suite]
  if (folder === undefined) return [undefined]
  /** @type {string[][]} */
  const slices = []
  let cases = CASES
  for (const category of (await readdir(join(checkout, folder))).sort()) {
    if (cases >= CASES) {
      slices.push([])
      cases = 0
    }
    slices.at(-1)?.push(category)
    cases += (await readdir(join(checkout, folder, category))).length
  }
  return slices.map((names) => `^\\S+ (?:${names.join('|')}) `)
}
