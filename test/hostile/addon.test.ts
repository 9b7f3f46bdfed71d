/**
 * A published package loads the addon of the package for this platform that its manifest declares, in exactly its own version,
 * and reports why it could not. Any user may own a `node_modules` directory further up, so it loads no other package.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache } from 'varve'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

const PACKAGE = fileURLToPath(new URL('../../packages/varve', import.meta.url))
const { version }: { version: string } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))
const { platform, arch } = process
const LIBC = JSON.stringify(process.report.getReport()).includes('glibcVersionRuntime') ? 'gnu' : 'musl'
const MACHINE = platform === 'linux' ? `${platform}-${arch}-${LIBC}` : `${platform}-${arch}`
const NAME = `@varve/${MACHINE}`
const OTHER = '@varve/plan9-mips'

/** A project with a package that has no addon of its own; `declared` is the version of the packages for platforms in its manifest. */
function project(root: string, declared: string | undefined): string {
  const folder = join(root, 'home/project')
  const to = join(folder, 'node_modules/varve')
  for (const part of ['dist', 'generated', 'package.json']) cpSync(join(PACKAGE, part), join(to, part), { recursive: true })
  const manifest = JSON.parse(readFileSync(join(to, 'package.json'), 'utf8'))
  const optionalDependencies = declared === undefined ? {} : { [NAME]: declared, [OTHER]: declared }
  writeFileSync(join(to, 'package.json'), JSON.stringify({ ...manifest, optionalDependencies }))
  return folder
}

/** A package whose main file has these contents. */
function plant(folder: string, name: string, of: string, main: string | Uint8Array, file = 'index.js'): void {
  const place = join(folder, 'node_modules', name)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name, version: of, main: file }))
  writeFileSync(join(place, file), main)
}

interface Loaded {
  readonly engine: string
  readonly reason: string
  readonly warnings: readonly string[]
}

/** The engine of the second of two caches, and the warnings of both. */
function load(cwd: string, ...flags: readonly string[]): Loaded {
  const program = `
    const { openCache } = await import('varve')
    const warnings = []
    const open = (dir) => openCache({ name: 'x', dir, onWarning: ({ code, message }) => warnings.push(code + ': ' + message) })
    await open('./c')
    const { engine, reason } = (await open('./d')).status()
    console.log(JSON.stringify({ engine, reason, warnings }))`
  const options = { cwd, encoding: 'utf8', env: { ...process.env, VARVE_ENGINE: '' } } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, '--input-type=module', '--eval', program], options)
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

const PLANTED = "process.stdout.write('code of another package'); module.exports = {}"

it.each([`varve-${MACHINE}`, NAME])('a package that nobody declared is not loaded, wherever it lies: %s', (name) => {
  const root = makeFolder()
  const folder = project(root, undefined)
  for (const where of [root, dirname(folder), folder]) plant(where, name, version, PLANTED)
  const reason = `WebAssembly: the addon could not be loaded: this package has no addon for ${MACHINE}`
  expect(load(folder)).toEqual({ engine: 'wasm', reason, warnings: [] })
})

it.each(['0.0.1', '^0.1.0', '*'])('a declaration of %s, which is not exactly this version, declares nothing', (declared) => {
  const folder = project(makeFolder(), declared)
  plant(folder, NAME, version, PLANTED)
  expect(load(folder).reason).toContain(`no addon for ${MACHINE}`)
})

/** Every reason is in the status of each cache, and one warning of the first cache. */
function expectReported(found: Loaded, reason: RegExp): void {
  expect(found).toEqual({ engine: 'wasm', reason: expect.stringMatching(reason), warnings: [expect.stringMatching(reason)] })
  expect(found.warnings[0]).toContain('ENGINE_UNAVAILABLE: Varve uses its WebAssembly engine')
}

it('a declared package of another version is not loaded, and both versions are named', () => {
  const folder = project(makeFolder(), version)
  plant(folder, NAME, '9.9.9', PLANTED)
  expectReported(load(folder), new RegExp(`has version 9.9.9, but varve ${version}; run 'npm install varve@${version}'`))
})

it('after an installation with --omit=optional, a warning names the missing package and the command that installs it', () => {
  const folder = project(makeFolder(), version)
  expectReported(load(folder), new RegExp(`'${NAME}' is not installed: .*; run 'npm install --include=optional'`))
})

it('node_modules of another platform, as Docker copies it, causes a warning that names both packages', () => {
  const folder = project(makeFolder(), version)
  plant(folder, OTHER, version, PLANTED)
  expectReported(load(folder), new RegExp(`'${NAME}' is not installed, but '${OTHER}' is: .* run 'npm ci' .* .dockerignore`))
})

it('an addon that the system cannot load causes a warning with the error, and WebAssembly runs', () => {
  const folder = project(makeFolder(), version)
  plant(folder, NAME, version, 'not a library', 'varve.node')
  expectReported(load(folder), new RegExp(`'${NAME}' does not load: .*varve.node.*; run 'npm ci'`))
})

it('a process that forbids addons gets no warning that one is missing', () => {
  const folder = project(makeFolder(), version)
  expect(load(folder, '--no-addons')).toEqual({ engine: 'wasm', reason: 'WebAssembly: node runs with --no-addons', warnings: [] })
})

it('a declared package of exactly this version is loaded, and its addon works', async () => {
  const cache = await openCache({ name: 'x', dir: join(makeFolder(), 'c') })
  const { engine } = cache.status()
  await cache.close()
  const folder = project(makeFolder(), version)
  plant(folder, NAME, version, readFileSync(join(PACKAGE, `native/varve.${MACHINE}.node`)), 'varve.node')
  expect([engine, load(folder)]).toEqual(['native', { engine: 'native', reason: 'native: the addon loaded', warnings: [] }])
})
