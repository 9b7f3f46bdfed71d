/** Every plugin and adapter shares its results through VARVE_REMOTE alone: one machine publishes, and a fresh one makes nothing again. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { makeFolder } from '../folders.ts'
import { runProgram } from '../plugins/programs.ts'
import { buildWith, makeApplication } from '../plugins/scenarios.ts'
import { slow } from '../slow.ts'
import { KEYS } from './machines.ts'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** What a run took from the cache, and what it made. */
interface Counts {
  readonly hits: number
  readonly misses: number
}

/** A tool: what it builds, and a run whose cache is in `cache` of that folder. */
interface Tool {
  readonly make: () => string
  readonly run: (folder: string) => Promise<Counts>
}

/** A bundler that builds the application of the other tests. */
function bundler(name: string, isAddon: boolean): Tool {
  const build = buildWith(at(`../plugins/${name}/build.mjs`), isAddon)
  return {
    make: () => {
      const folder = makeApplication()
      const loader = at(`../plugins/${name}/loader.cjs`)
      if (existsSync(loader)) copyFileSync(loader, join(folder, 'loader.cjs'))
      return folder
    },
    run: async (folder) => {
      const { failure, hits, ran } = await build(folder)
      if (failure !== null) throw new Error(failure)
      return { hits, misses: ran.length }
    },
  }
}

/** An adapter for a cache or a store of another tool. */
function adapter(name: string): Tool {
  const run = (folder: string): Promise<Counts> => {
    return runProgram(
      at(`../plugins/${name}/program.mjs`),
      { options: { dir: join(folder, 'cache') }, first: 0, count: 40 },
      { cwd: folder },
    )
  }
  return { make: makeFolder, run }
}

const JEST = createRequire(import.meta.url).resolve('jest/bin/jest')

const jest: Tool = {
  make: () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'package.json'), '{"name": "project", "version": "1.0.0"}')
    writeFileSync(join(folder, 'module.js'), 'exports.double = (x) => x * 2\n')
    writeFileSync(join(folder, 'one.test.js'), "test('2', () => expect(require('./module').double(1)).toBe(2))\n")
    return folder
  },
  run: async (folder) => {
    const [own, runs] = [join(folder, 'jest-cache'), join(folder, '.runs-cache')]
    for (const path of [own, runs]) rmSync(path, { recursive: true, force: true })
    const options = { transformer: at('../plugins/jest/transformer.cjs'), dir: join(folder, 'cache') }
    const transform = { '\\.js$': [at('../../packages/plugins/dist/bundle/jest.js'), options] }
    writeFileSync(
      join(folder, 'jest.config.json'),
      JSON.stringify({ cacheDirectory: own, testEnvironment: 'node', transform }),
    )
    const { status, stderr } = spawnSync(process.execPath, [JEST, '--ci', '--watchman=false', '--runInBand'], {
      cwd: folder,
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(stderr)
    const misses = existsSync(runs) ? readFileSync(runs, 'utf8').trim().split('\n').length : 0
    return { hits: 2 - misses, misses }
  },
}

const TOOLS: Readonly<Record<string, Tool>> = {
  esbuild: bundler('esbuild', false),
  Rollup: bundler('rollup', false),
  Rolldown: bundler('rolldown', true),
  'Rspack and the loader': bundler('rspack', true),
  Jest: jest,
  Metro: adapter('metro'),
  Parcel: adapter('parcel'),
  Keyv: adapter('keyv'),
  unstorage: adapter('unstorage'),
}

afterEach(() => void vi.unstubAllEnvs())

async function share({ make, run }: Tool): Promise<void> {
  const folder = make()
  mkdirSync(folder, { recursive: true })
  const store = pathToFileURL(join(makeFolder(), 'store')).href
  const env = {
    VARVE_REMOTE: store,
    VARVE_TRUSTED_KEYS: KEYS.publicKey,
    VARVE_LAYERS: '',
    VARVE_OFFLINE: '',
    NODE_ENV: '',
  }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  vi.stubEnv('VARVE_REMOTE_MODE', 'read-write')
  vi.stubEnv('VARVE_SIGNING_KEY', KEYS.signingKey)
  const cold = await run(folder)
  expect([cold.hits, cold.misses > 0]).toEqual([0, true])
  for (const name of ['cache', '.remote', 'dist']) rmSync(join(folder, name), { recursive: true, force: true })
  vi.stubEnv('VARVE_REMOTE_MODE', '')
  vi.stubEnv('VARVE_SIGNING_KEY', '')
  for (const name of ['TMPDIR', 'TEMP']) vi.stubEnv(name, makeFolder())
  const fresh = await run(folder)
  expect(fresh).toMatchObject({ misses: 0 })
  expect(fresh.hits).toBeGreaterThanOrEqual(cold.misses)
}

/** Tools that share their code with another one of the table. */
const LIKE_OTHERS = ['Rollup', 'Rolldown', 'Metro', 'unstorage']
const cases = Object.entries(TOOLS).map(([name, tool]) => [name, LIKE_OTHERS.includes(name) ? slow : {}, tool] as const)

describe.each(cases)('%s', (_, options, tool) => {
  it('publishes by VARVE_REMOTE on one machine, and makes nothing again on a fresh one', options, () => share(tool))
})
