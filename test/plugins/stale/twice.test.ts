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

it.each(Object.entries(PROJECTS))(
  '%s: a program that reads its first output, empties the folder and builds again has hits',
  async (tool, files) => {
    const project = new StaleProject(tool, files)
    expect((await project.build({ STALE_PLAIN_FIRST: '1' })).misses).toBeGreaterThan(0)
    expect((await project.build({ STALE_PLAIN_FIRST: '1' })).misses).toBe(0)
  },
)
