/**
 * Packages with native code. Each known one runs as in a build: results are kept, and what the entry says of its reads holds. Those that
 * read files themselves are shown to do so, and results are not kept.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, it } from 'vitest'
import { installReads, ReadScope, uninstallReads } from 'varve/reads'
import { makeFolder } from '../folders.ts'

installReads()
const require = createRequire(import.meta.url)

/** A scope that notes what it cannot see into. */
class Watched extends ReadScope {
  readonly events: string[] = []

  override opaque(event: Parameters<ReadScope['opaque']>[0]): void {
    this.events.push(event.what)
    super.opaque(event)
  }
}

async function scopeAfter(
  work: (scope: Watched) => unknown,
  { name = 'test', isDeclared = false } = {},
): Promise<Watched> {
  const scope = new Watched({ name, root: makeFolder(), isDeclared })
  await scope.run(() => work(scope))
  return scope
}

/** The file of an addon in a package of this version. */
function addonOf(name: string, version: string): string {
  const folder = join(makeFolder(), 'node_modules', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version }))
  return join(folder, 'addon.node')
}

const reasonOf = async (what: string, name = 'test'): Promise<string | undefined> =>
  (await scopeAfter((scope) => scope.opaque({ kind: 'addon', what }), { name })).reason

afterAll(() => uninstallReads())

describe('results are kept after work that uses', () => {
  it.each([
    ['esbuild', /esbuild/, () => require('esbuild').transform('let a: 1', { loader: 'ts' })],
    [
      'lightningcss',
      /lightningcss/,
      () => require('lightningcss').transform({ filename: 'a.css', code: Buffer.from('a{color:red}') }),
    ],
    ['oxc-parser', /oxc-parser/, () => require('oxc-parser').parseSync('a.ts', 'let a: 1')],
    ['oxc-transform', /oxc-transform/, () => require('oxc-transform').transformSync('a.ts', 'let a: 1')],
    ['oxc-minify', /oxc-minify/, () => require('oxc-minify').minifySync('a.js', 'let a = 1')],
    ['rollup', /@rollup/, () => require('rollup/parseAst').parseAst('let a = 1')],
    ['rolldown', /@rolldown/, () => require('rolldown/parseAst').parseAst('let a = 1')],
    ['@rspack/core', /@rspack/, () => require('@rspack/core').rspackVersion],
  ])('results of work that uses %s are kept, and its process or addon was seen', async (_, path, work) => {
    const { events, reason } = await scopeAfter(work)
    expect(events).toContainEqual(expect.stringMatching(path))
    expect(reason).toBeUndefined()
  })

  it('results of work that uses @vitejs/plugin-react-swc are kept, because swc reads no configuration for it', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'a.jsx'), '')
    const codes: string[] = []
    const work = async (): Promise<void> => {
      const { default: react } = require('@vitejs/plugin-react-swc')
      const all: { name: string; apply?: string; transform(code: string, id: string): Promise<{ code: string }> }[] =
        react({ plugins: [] })
      const plugin = all.find(({ name, apply }) => name === 'vite:react-swc' && apply === 'build')
      if (plugin === undefined) throw new Error('the plugin has another name now')
      const { code } = await plugin.transform('export const a = async () => <b/>', join(folder, 'a.jsx'))
      codes.push(code)
    }
    const { events, reason } = await scopeAfter(work, { name: 'vite:react-swc' })
    expect(events).toContainEqual(expect.stringMatching(/@swc/))
    expect(reason).toBeUndefined()
    for (const [name, text] of Object.entries(CONFIGURATIONS)) writeFileSync(join(folder, name), text)
    await work()
    expect(codes[1]).toBe(codes[0])
  })

  /**
   * `npm install varve` brings the addon under another name than a build of the checkout. The recorder took it for an unknown one, so a
   * published Varve stored no result of a task with `trackReads`, nor of a plugin after the program had opened a cache.
   */
  const OWN = ['@varve/linux-x64-gnu/varve.node', 'varve/native/varve.linux-x64-gnu.node']
  it.each(OWN)("results are kept after Varve's own addon %s has loaded", async (name) => {
    expect(await reasonOf(join(makeFolder(), 'node_modules', name))).toBeUndefined()
  })

  it.each([
    ['@rollup/rollup-linux-x64-gnu', '3.9.0', '4.0.0-1', '5.0.0'],
    ['@esbuild/linux-x64', '0.20.2', '0.21.5', '1.0.0'],
    ['lightningcss-linux-x64-gnu', '1.19.0', '1.33.0', '2.0.0'],
  ])('results of work that loads %s are kept for known versions only', async (name, older, known, newer) => {
    expect(await reasonOf(addonOf(name, known))).toBeUndefined()
    for (const version of [older, newer, 'none'])
      expect(await reasonOf(addonOf(name, version)), version).toContain('cannot be seen')
  })
})

/** Files that swc reads itself. */
const CONFIGURATIONS = { '.swcrc': '{ "jsc": { "target": "es5" } }', '.browserslistrc': 'ie 11' }

describe('results are not kept after work that', () => {
  it('results of work that uses @swc/core are not kept: it reads its configuration unseen', async () => {
    const folder = makeFolder()
    const options = { filename: join(folder, 'a.js'), cwd: folder, root: folder }
    writeFileSync(options.filename, '')
    const codes: string[] = []
    const work = (): void => void codes.push(require('@swc/core').transformSync('const a = () => 1', options).code)
    writeFileSync(join(folder, '.swcrc'), '{ "jsc": { "target": "es2022" } }')
    const scope = await scopeAfter(work)
    writeFileSync(join(folder, '.swcrc'), CONFIGURATIONS['.swcrc'])
    await scopeAfter(work)
    expect(codes[1]).not.toBe(codes[0])
    expect(scope.recorded().files.filter((file) => file.includes('swcrc'))).toEqual([])
    expect(await reasonOf(addonOf('@swc/core-linux-x64-gnu', '1.16.22'))).toContain("swc itself reads '.swcrc'")
  })

  it('results of work that uses sass-embedded are not kept: its process reads imported files unseen', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, '_part.scss'), 'a { color: red }')
    const scope = await scopeAfter(() =>
      expect(require('sass-embedded').compileString('@use "part"', { loadPaths: [folder] }).css).toContain('red'),
    )
    expect(scope.recorded().files.filter((file) => file.includes('part'))).toEqual([])
    expect(scope.reason).toContain('Sass itself reads imported files')
  })

  it('results of work that loads an unknown addon are not kept, unless files are declared', async () => {
    const what = join(makeFolder(), 'node_modules/other/other.node')
    expect(await reasonOf(what)).toBe(`loaded the native addon '${what}', whose reads cannot be seen`)
    expect(
      (await scopeAfter((scope) => scope.opaque({ kind: 'addon', what }), { isDeclared: true })).reason,
    ).toBeUndefined()
  })

  // Node.js loads an addon once, so other work of the process saw nothing of it.
  it('results of work that uses an unknown addon are not kept, also if other work of the process has loaded it before', async () => {
    const folder = join(makeFolder(), 'node_modules/other')
    mkdirSync(folder, { recursive: true })
    expect(require('rollup/parseAst').parseAst('1').type).toBe('Program')
    copyFileSync(
      Object.keys(require.cache).find((path) => /@rollup.*\.node$/.test(path)) ?? '',
      join(folder, 'other.node'),
    )
    writeFileSync(join(folder, 'index.js'), "module.exports = require('./other.node')")
    const reasons = []
    for (const _ of [1, 2]) reasons.push((await scopeAfter(() => require(folder).parse('1', false, false))).reason)
    expect(reasons).toEqual([
      expect.stringMatching(/^loaded .*other.node/),
      expect.stringMatching(/^called .*other.node/),
    ])
  })

  it.each([
    [
      'of the project',
      'program.cjs',
      { '/': '/' },
      /^gave folders to the WASI program of '.*program.cjs', whose reads cannot be seen$/,
    ],
    ['of the project, without folders', 'program.cjs', {}, /^kept$/],
    ['of an unknown package', 'node_modules/other/program.cjs', { '/': '/' }, /^gave folders to the WASI program of/],
    ['of a known package', 'node_modules/@oxc-parser/binding-wasm32-wasi/program.cjs', { '/': '/' }, /^kept$/],
  ])(
    'results of work that starts a program of WASI which may read files are not kept: one %s',
    async (_, name, preopens, expected) => {
      const path = join(makeFolder(), name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(join(dirname(path), 'package.json'), '{ "version": "0.99.0" }')
      writeFileSync(
        path,
        `new (require('node:wasi').WASI)({ version: 'preview1', preopens: ${JSON.stringify(preopens)} })`,
      )
      const { reason } = await scopeAfter(() => require(path))
      expect(reason ?? 'kept').toMatch(expected)
    },
  )

  it('results of work that starts a worker thread are not kept', async () => {
    let worker: Worker | undefined
    const { reason } = await scopeAfter(() => (worker = new Worker('', { eval: true })))
    expect(worker).toBeInstanceOf(Worker)
    await worker?.terminate()
    expect(reason).toContain('started the worker thread')
  })
})
