/** Compilers that build more than once in a process, with `@varve/plugins/loader` alone or with VarveRspackPlugin: no build is stale. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { runProgram } from '../programs.ts'

const PROGRAM = fileURLToPath(new URL('rebuild.mjs', import.meta.url))

/** A loader that puts in a word without reporting the file to the tool. */
const LOADER = `const { join } = require('node:path')
module.exports = (source) => source.replace('WORD', require('node:fs').readFileSync(join(__dirname, 'word.txt'), 'utf8'))`

const WORDS = ['one', 'one', 'two']

it.each([
  // The loader alone compared what loaders had read only once in a process.
  ['webpack', 'a change of a file that a loader reads', false, 3],
  ['webpack', 'a build that a change interrupts', true, 4],
  // A compiler skips its hook `done` for such a build, so the plugin took all later builds for this one.
  ['rspack', 'a build that a change interrupts', true, 3],
])(
  'a result of a compiler of %s that builds again is not stale after %s',
  async (tool, _, isInterrupted, statistics) => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'loader.cjs'), LOADER)
    const built = await runProgram(PROGRAM, { tool, isInterrupted, words: WORDS }, { cwd: folder })
    expect(built).toEqual({ modules: WORDS.map((word) => `"${word}"`), statistics })
  },
)
