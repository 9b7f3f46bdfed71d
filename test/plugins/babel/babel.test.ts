/** `cachedBabel`: the results of Babel itself, in less time. Each run is a process of its own. */
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as core from '@babel/core'
import { cachedBabel } from '@varve/plugins/babel'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { slow } from '../../slow.ts'
import { runProgram } from '../programs.ts'

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url))
const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url))
const FILES = ['one.js', 'two.js']

interface Ran {
  readonly runs: number
  readonly results: readonly unknown[]
  readonly uncacheable: Readonly<Record<string, number>>
}

/** A plugin that reads a file which it does not name, and one that it names. */
const PLUGIN = `const { readFileSync } = require('node:fs')
const { join } = require('node:path')
module.exports = function (api) {
  api.cache.using(() => readFileSync(join(__dirname, 'named.txt'), 'utf8'))
  api.addExternalDependency(join(__dirname, 'named.txt'))
  return { visitor: { Program(path, state) {
    const word = readFileSync(join(__dirname, 'word.txt'), 'utf8').trim()
    state.file.metadata.word = word
    path.addComment('leading', ' ' + word + ' ' + (process.env.SPELL ?? '') + ' ')
  } } }
}\n`

function makeProject(): string {
  const folder = makeFolder()
  const files = {
    'package.json': '{"name": "app", "version": "1.0.0"}',
    'one.js': 'export const one = () => 1 ?? 2\n',
    'two.js': 'export class Two { #two = 2; get() { return this.#two } }\n',
    'word.txt': 'old\n',
    'named.txt': 'named\n',
    'plugin.cjs': PLUGIN,
    'babel.config.json': JSON.stringify({ presets: ['@babel/preset-env'], plugins: ['./plugin.cjs'] }),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  symlinkSync(MODULES, join(folder, 'node_modules'))
  return folder
}

const run = (cwd: string, order: object = {}, env: Record<string, string> = {}): Promise<Ran> =>
  runProgram<Ran>(
    PROGRAM,
    { files: FILES, options: { sourceMaps: true }, cache: { dir: 'cache' }, ...order },
    { cwd, env },
  )

/** Runs with the cache, expects the results of Babel alone, and returns how often Babel ran. */
async function runsIn(folder: string, order: object = {}, env: Record<string, string> = {}): Promise<number> {
  const { results } = await run(folder, { ...order, isCached: false }, env)
  const cached = await run(folder, order, env)
  expect(cached.results).toEqual(results)
  return cached.runs
}

describe('a second process', () => {
  it('gets every result from the cache: code, map, metadata and dependencies', async () => {
    const folder = makeProject()
    expect([await runsIn(folder), await runsIn(folder)]).toEqual([2, 0])
    expect([await runsIn(folder, {}, { VARVE_ENGINE: 'wasm' })]).toEqual([0])
  })

  it('gets results that a process left uncommitted when it ended', async () => {
    const folder = makeProject()
    expect([await runsIn(folder, { isLeftOpen: true }), await runsIn(folder)]).toEqual([2, 0])
  })

  it('in a copy of the project elsewhere, gets every result from the cache', slow, async () => {
    const [folder, other] = [makeProject(), `${makeFolder()}-copy`]
    onTestFinished(() => rmSync(other, { recursive: true }))
    await runsIn(folder, { options: {} })
    cpSync(folder, other, { recursive: true, verbatimSymlinks: true })
    expect(await runsIn(other, { options: {} })).toBe(0)
  })
})

describe('what makes Babel run again', slow, () => {
  it.each<[what: string, change: (folder: string) => void, runs: number]>([
    ['the code of one file', (folder) => writeFileSync(join(folder, 'one.js'), 'export const one = 11\n'), 1],
    ['a file that a plugin reads', (folder) => writeFileSync(join(folder, 'word.txt'), 'new\n'), 2],
    ['a file that a plugin names', (folder) => writeFileSync(join(folder, 'named.txt'), 'new\n'), 2],
    [
      'the code of a plugin',
      (folder) => writeFileSync(join(folder, 'plugin.cjs'), PLUGIN.replace("' + word", ": ' + word")),
      2,
    ],
    ['the config', (folder) => writeFileSync(join(folder, 'babel.config.json'), '{"plugins": ["./plugin.cjs"]}'), 2],
    ['a config that appears', (folder) => writeFileSync(join(folder, '.babelrc.json'), '{"comments": false}'), 2],
    ['a browserslist that appears', (folder) => writeFileSync(join(folder, '.browserslistrc'), 'chrome 120\n'), 2],
  ])('%s', async (_, change, runs) => {
    const folder = makeProject()
    await runsIn(folder)
    change(folder)
    expect([await runsIn(folder), await runsIn(folder)]).toEqual([runs, 0])
  })

  it('an environment variable that a plugin reads, and NODE_ENV', async () => {
    const folder = makeProject()
    await runsIn(folder)
    for (const env of [{ SPELL: 'magic' }, { NODE_ENV: 'production' }]) {
      expect([await runsIn(folder, {}, env), await runsIn(folder, {}, env)]).toEqual([2, 0])
    }
  })

  it('another option of the call is a miss', async () => {
    const folder = makeProject()
    await runsIn(folder)
    expect(await runsIn(folder, { options: { sourceMaps: true, comments: false } })).toBe(2)
  })
})

describe('what is not stored', () => {
  it('an error of Babel, which rejects each time', async () => {
    const folder = makeProject()
    writeFileSync(join(folder, 'one.js'), 'export const = \n')
    expect([await runsIn(folder), await runsIn(folder)]).toEqual([2, 1])
  })

  it('a call that returns a syntax tree is not stored', async () => {
    const folder = makeProject()
    const order = { options: { ast: true } }
    await run(folder, order)
    expect(await run(folder, order)).toMatchObject({ runs: 2, uncacheable: { 'returns a syntax tree': 2 } })
  })

  it('a result of options with a function, unless cacheKey names them', async () => {
    const folder = makeFolder()
    let runs = 0
    const counting = { version: '1', transformAsync: async (code: string) => (runs++, { code }) }
    const plugins = [() => ({ visitor: {} })]
    for (const cacheKey of [undefined, 'plugin 1']) {
      const babel = await cachedBabel(counting, { root: folder, dir: 'cache', cacheKey })
      for (const code of ['a', 'a', 'a']) expect(await babel.transformAsync(code, { plugins })).toMatchObject({ code })
      await babel.close()
    }
    expect(runs).toBe(4)
  })
})

it('a file that Babel ignores is null from the cache, too', async () => {
  const folder = makeProject()
  const order = { options: { ignore: ['one.js'] } }
  await run(folder, order)
  expect(await run(folder, order)).toMatchObject({ runs: 0, results: [null, { code: expect.any(String) }] })
})

it('a cache that cannot be opened costs misses and no error', async () => {
  const folder = makeProject()
  mkdirSync(join(folder, 'cache'))
  writeFileSync(join(folder, 'cache/v1'), 'a file\n')
  expect([await runsIn(folder), await runsIn(folder)]).toEqual([2, 2])
})

it('accepts @babel/core as it is, with its types', async () => {
  const babel = await cachedBabel(core, { root: makeFolder(), dir: 'cache' })
  expect(await babel.transformAsync('a ?? b', { configFile: false, comments: false })).toMatchObject({
    code: 'a ?? b;',
    map: null,
  })
  await babel.close()
})

it('an unknown option is an error that names the right one', async () => {
  await expect(cachedBabel(core, Object.assign({ maxBytes: '1MB' }, { directory: 'x' }))).rejects.toThrow(/directory/)
})

it('after close, Babel runs for each call', async () => {
  const folder = makeFolder()
  let runs = 0
  const babel = await cachedBabel(
    { version: '1', transformAsync: async (code: string) => (runs++, { code }) },
    { root: folder, dir: 'cache' },
  )
  for (let turn = 0; turn < 3; turn++) {
    expect(await babel.transformAsync('code')).toMatchObject({ code: 'code' })
    if (turn === 1) await babel.close()
  }
  expect(runs).toBe(2)
})
