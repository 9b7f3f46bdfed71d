/**
 * Native addons that something else loaded. Nx loads a copy of its addon from the directory for temporary files, Vite+ brings one: no result
 * of any plugin or task was stored. An addon counts for the work that loads it or calls it.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installReads, ReadScope, uninstallReads } from 'varve/reads'
import { makeFolder } from '../folders.ts'
import { runProgram } from '../plugins/programs.ts'

const require = createRequire(import.meta.url)

/** A resolver with a class, and functions that give objects. It reads files. */
const ADDON = require.resolve('@unrs/resolver-binding-linux-x64-gnu')

interface Resolver {
  sync(folder: string, request: string): { readonly path?: string }
}

interface Addon {
  readonly sync: Resolver['sync']
  readonly ResolverFactory: { new (options?: object): Resolver; default(): Resolver }
}

/** A package with a copy of the addon, in a version that is not known. */
function packageWith(folder: string, name = 'other'): string {
  const own = join(folder, 'node_modules', name)
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'package.json'), JSON.stringify({ name, version: '1.0.0' }))
  copyFileSync(ADDON, join(own, 'other.node'))
  writeFileSync(join(own, 'index.js'), "module.exports = require('./other.node')")
  return own
}

const CALLED = /^called the native addon '.*other\.node', whose reads cannot be seen$/

function reasonAfter(work: () => unknown, trust: readonly string[] = []): string | undefined {
  const scope = new ReadScope({ name: 'test', root: makeFolder(), trust })
  scope.run(work)
  scope.end()
  return scope.reason
}

describe('an addon that the program loads while no work runs', () => {
  let addon: Addon
  let made: Resolver

  beforeAll(() => {
    installReads()
    addon = require(packageWith(makeFolder()))
    made = new addon.ResolverFactory()
  })
  afterAll(() => uninstallReads())

  it('results of work that does not call it are kept', () => {
    expect(reasonAfter(() => 1)).toBeUndefined()
  })

  it.each<[string, (taken: Addon) => unknown]>([
    ['a function', () => addon.sync('/', './a')],
    ['a function that a module took out', ({ sync }) => sync('/', './a')],
    ['a class', ({ ResolverFactory }) => new ResolverFactory()],
    ['a method of an object that was made before', () => made.sync('/', './a')],
    ['a function of a class', ({ ResolverFactory }) => ResolverFactory.default()],
  ])('results of work that calls it are not kept: %s', (_, call) => {
    const taken = { ...addon }
    expect(reasonAfter(() => call(taken))).toMatch(CALLED)
    expect(reasonAfter(() => call(taken), ['other'])).toBeUndefined()
    expect(reasonAfter(() => 1)).toBeUndefined()
  })

  it('a wrapped addon gives what it gives without the recorder', () => {
    const plain: Addon = require(packageWith(makeFolder(), 'plain'))
    for (const { sync, ResolverFactory } of [addon, plain]) {
      const resolver = new ResolverFactory()
      class Mine extends ResolverFactory {}
      expect(resolver).toBeInstanceOf(ResolverFactory)
      expect(new Mine()).toBeInstanceOf(ResolverFactory)
      expect(resolver.constructor).toBe(ResolverFactory)
      expect(ResolverFactory.name).toBe('ResolverFactory')
      expect(sync(process.cwd(), './package.json').path).toBe(join(process.cwd(), 'package.json'))
    }
  })
})

/** A program with a task whose work is `work`. Prints the reasons of its misses and the warnings. */
const PROGRAM = `import { openCache } from 'varve'
const warnings = []
const { dir, trust } = JSON.parse(process.argv[2])
const cache = await openCache({ name: 'addons', dir, onWarning: ({ message }) => void warnings.push(message) })
const task = cache.task('work', { codec: 'text', trackReads: true, trust })
await task.run({ id: 'id' }, () => globalThis.work?.() ?? 'made')
console.log(JSON.stringify({ hits: task.stats().hits, warnings }))
await cache.close()
`

/** A copy of the addon in another folder, as Nx makes one. */
const PRELOAD = `const fs = require('node:fs'), path = require('node:path')
const copy = path.join(fs.mkdtempSync(path.join(require('node:os').tmpdir(), 'native-')), 'copy.node')
fs.copyFileSync(${JSON.stringify(ADDON)}, copy)
const addon = require(copy)
if (process.env.CALL) globalThis.work = () => String(addon.sync('/', './a').error)
`

interface Answer {
  readonly hits: number
  readonly warnings: readonly string[]
}

describe('an addon that is loaded before the recorder', () => {
  async function runTwice(
    files: Readonly<Record<string, string>>,
    { nodeArgs = [], trust, env = {}, program = 'program.mjs' }: Options = {},
  ): Promise<Answer> {
    const folder = makeFolder()
    packageWith(folder)
    const varve = pathToFileURL(require.resolve('varve')).href
    const all = { 'package.json': '{}', 'program.mjs': PROGRAM.replace("'varve'", `'${varve}'`), ...files }
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(join(folder, path, '..'), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const run = (): Promise<Answer> =>
      runProgram<Answer>(join(folder, program), { dir: join(folder, 'cache'), trust }, { nodeArgs, cwd: folder, env })
    await run()
    return run()
  }
  interface Options {
    readonly nodeArgs?: readonly string[]
    readonly trust?: readonly string[]
    readonly env?: Readonly<Record<string, string>>
    readonly program?: string
  }

  it.each<[string, Readonly<Record<string, string>>, Options]>([
    ['a module that Node.js loads first', { 'first.cjs': PRELOAD }, { nodeArgs: ['--require', './first.cjs'] }],
    ['the same by NODE_OPTIONS', { 'first.cjs': PRELOAD }, { env: { NODE_OPTIONS: '--require ./first.cjs' } }],
    [
      'the package of the program',
      {
        'node_modules/tool/index.cjs': "require('./native.cjs'); import('../../program.mjs')",
        'node_modules/tool/native.cjs': PRELOAD,
      },
      { program: 'node_modules/tool/index.cjs' },
    ],
  ])('a result is used again although an addon was loaded by %s', async (_, files, options) => {
    expect(await runTwice(files, options)).toEqual({ hits: 1, warnings: [] })
    const { hits, warnings } = await runTwice(files, { ...options, env: { ...options.env, CALL: '1' } })
    expect(hits).toBe(0)
    expect(warnings.join()).toContain('called the native addon')
  })

  it('a result is not used again if the program imports a package with an addon, unless that is trusted', async () => {
    const files = {
      'program.mjs': `import 'other'\n${PROGRAM.replace("'varve'", `'${pathToFileURL(require.resolve('varve')).href}'`)}`,
    }
    const { hits, warnings } = await runTwice(files)
    expect(hits).toBe(0)
    expect(warnings.join()).toMatch(/loaded the native addon .* or name 'other' in option 'trust'/)
    expect(await runTwice(files, { trust: ['other'] })).toEqual({ hits: 1, warnings: [] })
  })
})
