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

const readsEarly = `import fs from 'node:fs'\nconst word = fs.readFileSync('word.txt', 'utf8')`
const plugOf = (word: string, name: string): string =>
  PLUG.replace('export const plug = ', '')
    .replace("'none'", word)
    .replace("'plug'", `'${name}'`)
    .replace('word =', 'text =')
    .replace("'WORD', word", "'WORD', text")

/** Configs whose plugin has a word that they read when they are loaded, or a constant. */
const CONFIGS: Readonly<Record<string, (word: string, imports: string, name: string) => Record<string, string>>> = {
  vite: (word, imports, name) => viteFiles(`(${plugOf(word, name)})()`, imports, name),
  rollup: (word, imports, name) => wrappedFiles('rollup', `(${plugOf(word, name)})()`, imports),
  rolldown: (word, imports, name) => wrappedFiles('rolldown', `(${plugOf(word, name)})()`, imports),
  esbuild: (word, imports, name) => {
    const plugin = loadsWord.replace(`fs.readFileSync('word.txt', 'utf8')`, word).replace("'plug'", `'${name}'`)
    return wrappedFiles('esbuild', plugin, imports)
  },
}

it.each(Object.entries(CONFIGS))(
  '%s: what a config reads that is loaded after another build of the process is an input',
  async (tool, filesOf) => {
    const config = tool === 'vite' ? 'vite.config.mjs' : 'build.config.mjs'
    const project = new StaleProject(tool, filesOf('word', readsEarly, 'plug'))
    project.write('other.config.mjs', filesOf("'other'", `import fs from 'node:fs'`, 'other')[config] ?? '')
    project.write('word.txt', 'one')
    const env = { STALE_OTHER_FIRST: '1' }
    await project.build(env)
    const { misses } = await project.build(env)
    expect(WITHOUT_OUTPUT.has(tool) || misses === 0).toBe(true)
    project.write('word.txt', 'two')
    expect((await project.build(env)).misses).toBeGreaterThan(0)
  },
)
