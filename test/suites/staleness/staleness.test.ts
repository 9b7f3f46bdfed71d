/** The staleness suite in its short form: scenarios that need no other packages than the repository itself. */
import { afterAll, describe, expect, it } from 'vitest'
import { slow } from '../../slow.ts'
import { Lane } from '../generator/run.mjs'
import type { Tool } from '../generator/program.mjs'
import { ROWS, type Row } from './rows.mjs'
import { differenceOf, runScenario } from './run.mjs'
import { SCENARIOS } from './scenarios.mjs'
import { differenceIn, toolsOf } from './table.mjs'

/** For webpack what a loader and the config read by themselves, and one scenario for each other bundler. */
const SHORT = [
  'a loader that reads files and the environment',
  'environment variables that the config reads',
  'Rollup: options and the source',
  'Rolldown: options and the source',
  'esbuild: watched files and build options',
  'Rspack: a loader and its options',
  'Vite: options, functions and imports of the config',
  'Vite dev server: options, functions and imports of the config',
  'Vitest: options, functions and imports of the config',
]

/** A scenario builds some ten times, each in a separate process. */
const SCENARIO_MS = 240_000

describe('after every change a build from the cache is what a build without a cache is', () => {
  it.each(SHORT)(
    'no build is stale after the changes of scenario %s',
    { ...slow, timeout: SCENARIO_MS },
    async (name) => {
      const scenario = SCENARIOS.find((one) => one.name === name)
      if (scenario === undefined) throw new Error(`there is no scenario '${name}'`)
      const results = await runScenario(scenario, { isOwnIncluded: false })
      expect(results.length).toBe(Object.keys(scenario.steps).length + 2)
      for (const { step, difference, limit } of results)
        expect([step, difference === undefined]).toEqual([step, limit === undefined])
    },
  )
})

const named = (tool: Tool, row: Row) => ({ row, tool, name: `${tool}: ${row.name}` })
const CASES = ROWS.flatMap((row) => toolsOf(row).map((tool) => named(tool, row)))

/** One row of each tool, of another kind each. */
const QUICK = [
  'task: a file that a call reads',
  'rspack: a variable',
  'esbuild: the own file of another module, kept in memory',
  'rolldown: a file that a call makes with writeFile',
  'rollup: a module that only the plugin can load, made of its memory',
  'webpack: a file that a call looks for',
  'vite: a package that was not there when the config was loaded',
]
const isQuick = ({ name }: { readonly name: string }): boolean => QUICK.includes(name)

/**
 * Stale if esbuild loads the module that declares the file before the other one. A plugin that keeps a file for several modules has to declare
 * it for each: docs/tasks.md.
 */
const BY_ORDER = 'esbuild: settings that are kept in memory'

/** Each row with one tool, which is another one for the next row. `npm run test:suites` builds each row with all of its tools. */
const isTurn = ({ row, tool }: { readonly row: Row; readonly tool: Tool }): boolean =>
  toolsOf(row)[ROWS.indexOf(row) % toolsOf(row).length] === tool

describe('a row of the table', () => {
  const lane = new Lane(`test-${process.pid}`)

  it('has all rows of the quick form', () => {
    expect(CASES.filter(isQuick).length).toBe(QUICK.length)
  })

  afterAll(() => lane.close())

  it.each(CASES.filter(isQuick))('no build is stale: $name', { timeout: SCENARIO_MS }, async ({ row, tool }) => {
    expect(await differenceIn(row, tool, lane)).toBe(undefined)
  })

  const inTurn = CASES.filter((one) => isTurn(one) && !isQuick(one) && one.name !== BY_ORDER)

  it.each(inTurn)('no build is stale: $name', { ...slow, timeout: SCENARIO_MS }, async ({ row, tool }) => {
    expect(await differenceIn(row, tool, lane)).toBe(undefined)
  })
})

describe('the comparison of two builds', () => {
  const built = { files: { 'a.js': '1', 'b.js': '2' }, errors: [], warnings: ['one'], hits: 0 }

  it('two builds with the same files, errors and warnings count as equal', () => {
    expect(differenceOf(built, { ...built, hits: 7 })).toBe(undefined)
  })

  it.each([
    ['a file that differs', { ...built, files: { 'a.js': '1', 'b.js': '3' } }, 'b.js'],
    ['a file that is missing', { ...built, files: { 'a.js': '1' } }, 'b.js'],
    ['a file too many', { ...built, files: { ...built.files, 'c.js': '3' } }, 'c.js'],
    ['an error', { ...built, errors: ['bad'] }, 'errors: bad instead of '],
    ['a warning that is gone', { ...built, warnings: [] }, 'warnings:  instead of one'],
  ])('finds %s', (_, other, difference) => {
    expect(differenceOf(built, other)).toBe(difference)
  })
})
