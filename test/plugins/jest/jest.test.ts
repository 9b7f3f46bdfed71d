/** The transformer with the real Jest and babel-jest, each run in a separate process, without Jest's own cache. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTransformer } from '@varve/plugins/jest'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { damage, keepFolder } from '../programs.ts'
import { slow } from '../../slow.ts'

const JEST = createRequire(import.meta.url).resolve('jest/bin/jest')
const VARVE = fileURLToPath(new URL('../../../packages/plugins/dist/bundle/jest.js', import.meta.url))
const TRANSFORMER = fileURLToPath(new URL('transformer.cjs', import.meta.url))
const MODULES = 30
const FILES = MODULES + 3 // and the files of tests
const WORKERS = ['--runInBand=false', '--maxWorkers=3']

interface Ran {
  /** Numbers of tests, and whether all of them went well. */
  readonly passed: number
  readonly failed: number
  /** Lines that the tests covered, if coverage is on. */
  readonly covered: number
  /** Files that the transformer transformed. */
  readonly transformed: string[]
}

/** `MODULES` modules and three files of tests. */
function makeProject(): string {
  const folder = makeFolder()
  const numbers = Array.from({ length: MODULES }, (_, index) => index)
  for (const number of numbers)
    writeFileSync(join(folder, `module-${number}.js`), `exports.double = (x = ${number}) => x * 2\n`)
  for (const part of [0, 1, 2]) {
    const mine = numbers.filter((number) => number % 3 === part)
    const tests = mine.map(
      (number) => `test('${number}', () => expect(require('./module-${number}').double()).toBe(${2 * number}))`,
    )
    writeFileSync(join(folder, `part-${part}.test.js`), `${tests.join('\n')}\n`)
  }
  writeFileSync(join(folder, 'package.json'), '{"name": "project", "version": "1.0.0"}')
  return folder
}

/** One run of Jest on a machine whose cache of Jest is empty, and was not cleared: its directory for temporary files is new. */
async function run(folder: string, options: object = {}, args: readonly string[] = [], engine = 'auto'): Promise<Ran> {
  const own = join(folder, 'jest-cache')
  const temporary = join(folder, 'temporary')
  const runs = join(folder, '.runs-cache')
  const results = join(folder, 'results.json')
  for (const path of [own, temporary, runs, results]) rmSync(path, { recursive: true, force: true })
  mkdirSync(temporary)
  const transform = { '\\.js$': [VARVE, { transformer: TRANSFORMER, dir: join(folder, 'cache'), ...options }] }
  writeFileSync(
    join(folder, 'jest.config.json'),
    JSON.stringify({ cacheDirectory: own, testEnvironment: 'node', transform }),
  )
  const jestArgs = ['--ci', '--watchman=false', '--json', `--outputFile=${results}`, '--runInBand', ...args]
  const child = spawn(process.execPath, [JEST, ...jestArgs], {
    cwd: folder,
    env: { ...process.env, VARVE_ENGINE: engine, TMPDIR: temporary, TEMP: temporary, TMP: temporary },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => void (errors += chunk.toString()))
  await once(child, 'close')
  if (!existsSync(results)) throw new Error(`Jest died: ${errors}`)
  const found = JSON.parse(readFileSync(results, 'utf8'))
  const coverage: { s: Record<string, number> }[] = Object.values(found.coverageMap ?? {})
  return {
    passed: found.numPassedTests,
    failed: found.numFailedTests + found.numRuntimeErrorTestSuites,
    covered: coverage.flatMap(({ s }) => Object.values(s)).filter((count) => count > 0).length,
    transformed: existsSync(runs) ? readFileSync(runs, 'utf8').trim().split('\n') : [],
  }
}

const good = { passed: MODULES, failed: 0 }

describe('the transformer in Jest', () => {
  it(
    'a second Jest run transforms nothing, then one changed file, and everything after another option, mode or version',
    slow,
    async () => {
      const folder = makeProject()
      const cold = await run(folder)
      expect(cold).toMatchObject(good)
      expect(cold.transformed.length).toBe(FILES)
      expect(await run(folder)).toMatchObject({ ...good, transformed: [] })

      appendFileSync(join(folder, 'module-7.js'), 'exports.more = 1\n')
      expect(await run(folder)).toMatchObject({ ...good, transformed: ['module-7.js'] })
      expect((await run(folder, { transformerConfig: { comments: false } })).transformed.length).toBe(FILES)
      expect((await run(folder, { version: '2' })).transformed.length).toBe(FILES)
    },
  )

  it('Jest coverage has its own entries, and is the same from the cache', slow, async () => {
    const folder = makeProject()
    await run(folder)
    const cold = await run(folder, {}, ['--coverage', '--coverageReporters=json'])
    expect(cold).toMatchObject(good)
    expect(cold.transformed.length).toBeGreaterThanOrEqual(MODULES)
    const warm = await run(folder, {}, ['--coverage', '--coverageReporters=json'])
    expect(warm).toMatchObject({ ...good, transformed: [], covered: cold.covered })
    expect(cold.covered).toBeGreaterThan(MODULES)
  })

  // Jest itself does not run with --no-addons: its resolver is one.
  it.each([
    ['native', 'wasm'],
    ['wasm', 'native'],
  ])('concurrent Jest workers (%s) lose nothing, and %s reads it', slow, async (writer, reader) => {
    const folder = makeProject()
    expect(await run(folder, {}, WORKERS, writer)).toMatchObject(good)
    expect(await run(folder, {}, WORKERS, reader)).toMatchObject({ ...good, transformed: [] })
  })

  it('a damaged cache costs Jest time and never fails a test', slow, async () => {
    const folder = makeProject()
    await run(folder)
    const restore = keepFolder(join(folder, 'cache'), join(makeFolder(), 'kept'))
    for (const part of [0.02, 0.5, 0.9]) {
      restore()
      damage(join(folder, 'cache'), part)
      expect(await run(folder), `at ${part}`).toMatchObject(good)
      expect(await run(folder), `at ${part}, again`).toMatchObject({ ...good, transformed: [] })
    }
  })

  it('many Jest runs leave few cache files', slow, async () => {
    const folder = makeProject()
    for (let round = 0; round < 5; round++) {
      writeFileSync(join(folder, `module-${round}.js`), `exports.double = (x = ${round}) => x + x\n`)
      expect((await run(folder, {}, WORKERS)).failed).toBe(0)
    }
    expect(readdirSync(join(folder, 'cache', 'v1')).length).toBeLessThanOrEqual(16)
  })
})

describe('createTransformer', () => {
  const options = { configString: '{}', instrument: false }

  /** A transformer of its own file, with a count of its runs. */
  function makeTransformer(body: string): string {
    const folder = makeFolder()
    mkdirSync(join(folder, 'package'))
    writeFileSync(join(folder, 'package', 'package.json'), '{"name": "mine", "version": "1.0.0"}')
    writeFileSync(join(folder, 'package', 'index.cjs'), `let runs = 0\nmodule.exports = { ${body} }\n`)
    return join(folder, 'package', 'index.cjs')
  }

  it('createTransformer wraps process, processAsync, canInstrument and cache keys', async () => {
    const dir = makeFolder()
    const both = 'canInstrument: true, process: (text) => ({ code: `${text} ${++runs}` })'
    const sync = await createTransformer({ dir, transformer: makeTransformer(both) })
    expect([sync.canInstrument, sync.processAsync]).toEqual([true, undefined])
    expect(sync.process?.('a', '/a.js', options)).toEqual({ code: 'a 1' })
    expect(sync.process?.('a', '/a.js', options)).toEqual({ code: 'a 1' })
    expect(sync.process?.('a', '/b.js', options)).toEqual({ code: 'a 2' })
    expect(sync.process?.('a', '/a.js', { ...options, instrument: true })).toEqual({ code: 'a 3' })
    expect(sync.process?.('a', '/a.js', { ...options, supportsStaticESM: true })).toEqual({ code: 'a 4' })

    const body =
      'getCacheKeyAsync: async (text) => text[0], processAsync: async (text) => ({ code: `${text} ${++runs}`, map: null })'
    const later = await createTransformer({ dir, transformer: makeTransformer(body) })
    expect(later.process).toBeUndefined()
    expect(await later.processAsync?.('ab', '/a.js', options)).toEqual({ code: 'ab 1', map: null })
    expect(await later.processAsync?.('ac', '/a.js', options)).toEqual({ code: 'ab 1', map: null }) // by its own key they are the same
    expect(await later.processAsync?.('bc', '/a.js', options)).toEqual({ code: 'bc 2', map: null })
  })

  it('a changed transformer misses; its errors pass through and are not cached', async () => {
    const dir = makeFolder()
    const file = makeTransformer(
      'process: (text) => { if (++runs === 1) throw new Error("no"); return { code: text } }',
    )
    const failing = await createTransformer({ dir, transformer: file })
    expect(() => failing.process?.('a', '/a.js', options)).toThrow('no')
    expect(failing.process?.('a', '/a.js', options)).toEqual({ code: 'a' })
    const keys = [failing.getCacheKey?.('a', '/a.js', options)]
    writeFileSync(join(file, '..', 'package.json'), '{"name": "mine", "version": "1.0.1"}')
    keys.push((await createTransformer({ dir, transformer: file })).getCacheKey?.('a', '/a.js', options))
    keys.push(
      (await createTransformer({ dir, transformer: file, transformerConfig: { x: 1 } })).getCacheKey?.(
        'a',
        '/a.js',
        options,
      ),
    )
    expect(new Set(keys).size).toBe(3)
  })

  it('what a transformer of the project requires, and patterns in its options, are part of the key', async () => {
    const dir = makeFolder()
    const file = makeTransformer('process: (text) => ({ code: text + require("./helper.cjs") })')
    const helper = join(file, '../helper.cjs')
    const keyWith = async (transformerConfig: object): Promise<string | undefined> =>
      (await createTransformer({ dir, transformer: file, transformerConfig })).getCacheKey?.('a', '/a.js', options)
    writeFileSync(helper, 'module.exports = 1')
    const keys = [await keyWith({ match: /a/ }), await keyWith({ match: /b/ })]
    writeFileSync(helper, 'module.exports = 2')
    keys.push(await keyWith({ match: /a/ }))
    expect(new Set(keys).size).toBe(3)
  })

  /** Jest passes an empty object, and Varve passed undefined. */
  it('a transformer that takes its options apart fails, because it has none', async () => {
    const file = makeTransformer("createTransformer: ({ word = 'none' }) => ({ process: () => ({ code: word }) })")
    const transformer = await createTransformer({ dir: makeFolder(), transformer: file })
    expect(transformer.process?.('', '/a.js', {})).toEqual({ code: 'none' })
  })

  it('createTransformer names a wrong option', async () => {
    const make = (given: object): Promise<unknown> => createTransformer({ transformer: 'babel-jest', ...given })
    await expect(make({ transform: 'x' })).rejects.toThrow(
      "@varve/plugins/jest has no option 'transform'; did you mean 'transformer'?",
    )
    await expect(make({ transformer: undefined })).rejects.toThrow("option 'transformer' is ''")
    await expect(make({ transformer: 'not-there' })).rejects.toThrow("'not-there' is not found from")
    await expect(make({ transformer: makeTransformer('') })).rejects.toThrow(
      'exports neither process, processAsync nor createTransformer',
    )
  })
})
