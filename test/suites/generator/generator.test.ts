/** A sample of the generator, and what it must be able to find. */
import { describe, expect, it } from 'vitest'
import { runSeed } from '../../random.ts'
import { slow } from '../../slow.ts'
import { runGenerator } from './main.mjs'
import { featuresOf, generateProgram, TOOLS, type Tool } from './program.mjs'
import { KINDS } from './subjects.mjs'

/** Programs of each tool in `npm test`, and in the slow form. */
const QUICK_COUNT = 2
const SLOW_COUNT = 25

const PROGRAM_MS = 120_000

const seed = runSeed('generated programs')

/** Faults that are known and open: operations that programs of a tool do without. */
const OPEN = {
  all: 'requirePackage', // another copy of one version of a package, in another checkout
}

/** The reports of programs that were built differently with Varve. */
async function faultsOf(tool: Tool, count: number): Promise<string[]> {
  const lines: string[] = []
  const order = { tools: [tool], seed, count, lanes: 1, isShrunk: false }
  const without = tool === 'webpack' ? {} : { without: new RegExp(`^(${OPEN.all})`) }
  await runGenerator({ ...order, ...without }, (line) => void lines.push(line))
  return lines.filter((line) => line.startsWith('WRONG'))
}

describe('generated programs are built with Varve as without', () => {
  it.each(TOOLS)('%s: no edit of a few programs is missed', { timeout: QUICK_COUNT * PROGRAM_MS }, async (tool) => {
    expect(await faultsOf(tool, QUICK_COUNT)).toEqual([])
  })

  it.each(TOOLS)(
    '%s: no edit of more programs is missed',
    { ...slow, timeout: SLOW_COUNT * PROGRAM_MS },
    async (tool) => {
      expect(await faultsOf(tool, SLOW_COUNT)).toEqual([])
    },
  )
})

describe('programs', () => {
  it('follow from their seed', () => {
    expect(generateProgram(seed, 'rollup')).toEqual(generateProgram(seed, 'rollup'))
    expect(generateProgram(seed, 'rollup')).not.toEqual(generateProgram(seed + 1, 'rollup'))
  })

  it.each(TOOLS)('%s: do all that the table of operations has, and every edit', (tool) => {
    const features = Array.from({ length: 2000 }, (_, index) => featuresOf(generateProgram(index, tool))).flat()
    const done = new Set(features.flatMap((feature) => feature.split(/:? /)))
    expect(Object.keys(KINDS).filter((kind) => !done.has(kind))).toEqual([])
    const edits = 'write replace touch remove rename link install env serve move'.split(' ')
    expect(edits.filter((kind) => !features.some((feature) => feature.startsWith(`edit: ${kind}`)))).toEqual([])
  })
})
