/**
 * What the generator can find: programs that do a thing of one kind. `test/safety/mutation/edits/inputs.mjs` makes Varve miss each kind, and
 * these programs have to show it.
 */
import { expect, it } from 'vitest'
import { slow } from '../../slow.ts'
import { runGenerator } from './main.mjs'
import type { Tool } from './program.mjs'

/** The programs of one kind: their tool, what they do, the first seed, and how many programs. */
const KINDS: readonly (readonly [kind: string, tool: Tool, including: RegExp, seed: number, count: number])[] = [
  ['that keep what they emit at the end', 'rollup', /^collects: (?:file|warning)/, 1, 8],
  ['that connect', 'task', /(?:fetch|httpGet|connect) /, 1, 8],
  ['that start processes', 'task', /(?:execFileSync|spawn|worker) /, 1, 8],
  ['that write files', 'rollup', /(?:write(?:File|More|Stream|Renamed)|copyFile) /, 1, 8],
  ['that take requests', 'rollup', /^takeSync /, 100_021, 1],
  ['that use sizes', 'task', /size /, 1, 8],
  ['that keep their own files in memory', 'rollup', /read\w+ src\/.*kept/, 431, 1],
  ['that read variables', 'task', /variable(?:In|Spread|Own)? /, 1, 8],
  ['that list variables', 'task', /variableNames /, 1, 8],
  ['that list folders', 'webpack', /(?:readdir\w*|opendir|walk) /, 1, 10],
  ['that require packages', 'webpack', /requirePackage gen-three/, 1, 10],
  ['that warn at the end', 'webpack', /^collects: warning/, 1, 10],
  ['that emit at the end', 'webpack', /^collects: file/, 1, 10],
]

it.each(KINDS)('programs %s are built with Varve as without', { ...slow, timeout: 600_000 }, async (...kind) => {
  const [, tool, including, seed, count] = kind
  const lines: string[] = []
  const order = { tools: [tool], seed, count, lanes: 1, isShrunk: false, including }
  await runGenerator(order, (line) => void lines.push(line))
  expect(lines.filter((line) => line.startsWith('WRONG'))).toEqual([])
})
