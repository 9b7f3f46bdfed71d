/** Programs that build twice in one process: what they do to the first output decides nothing. */
import { expect, it } from 'vitest'
import { loadsWord, PLUG, rspackFiles, viteFiles, wrappedFiles } from './files.ts'
import { StaleProject } from './project.ts'

const fromPlug = `import { plug } from './plug.mjs'`
const loadsConstant = loadsWord.replace(`fs.readFileSync('word.txt', 'utf8')`, `'one'`)

const PROJECTS = {
  vite: { ...viteFiles('plug()', fromPlug), 'plug.mjs': PLUG },
  rollup: { ...wrappedFiles('rollup', 'plug()', fromPlug), 'plug.mjs': PLUG },
  rolldown: { ...wrappedFiles('rolldown', 'plug()', fromPlug), 'plug.mjs': PLUG },
  esbuild: wrappedFiles('esbuild', loadsConstant, `import fs from 'node:fs'`),
  rspack: { ...rspackFiles(`'./loader.cjs'`), 'loader.cjs': `module.exports = (code) => code.replace('WORD', 'one')` },
}

/** Their output directory is known only after the build. */
const WITHOUT_OUTPUT = new Set(['rollup', 'rolldown'])

it.each(Object.entries(PROJECTS).filter(([tool]) => !WITHOUT_OUTPUT.has(tool)))(
  '%s: a program that reads its first output, empties the folder and builds again has hits',
  async (tool, files) => {
    const project = new StaleProject(tool, files)
    expect((await project.build({ STALE_PLAIN_FIRST: '1' })).misses).toBeGreaterThan(0)
    expect((await project.build({ STALE_PLAIN_FIRST: '1' })).misses).toBe(0)
  },
)

it.each(Object.entries(PROJECTS).filter(([tool]) => WITHOUT_OUTPUT.has(tool)))(
  '%s: a program that reads its first output, empties the folder and builds again stores nothing, because that output may be an input',
  async (tool, files) => {
    const project = new StaleProject(tool, files)
    for (const _ of [1, 2]) expect((await project.build({ STALE_PLAIN_FIRST: '1' })).misses).toBeGreaterThan(0)
  },
)
