/**
 * A package without an addon for this machine loads only a package that its own manifest names, in its own version. Any user
 * may own a `node_modules` directory further up.
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

/** A project with a package that has no addon of its own; `declared` is the version of the package `@varve/<machine>` in its manifest. */
function project(root: string, declared: string | undefined): string {
  const folder = join(root, 'home/project')
  const to = join(folder, 'node_modules/varve')
  for (const part of ['dist', 'generated', 'package.json']) cpSync(join(PACKAGE, part), join(to, part), { recursive: true })
  const manifest = JSON.parse(readFileSync(join(to, 'package.json'), 'utf8'))
  const optionalDependencies = declared === undefined ? {} : { [`@varve/${MACHINE}`]: declared }
  writeFileSync(join(to, 'package.json'), JSON.stringify({ ...manifest, optionalDependencies }))
  return folder
}

/** A package that runs `code` when it is loaded. */
function plant(folder: string, name: string, of: string, code: string): void {
  const place = join(folder, 'node_modules', name)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name, version: of, main: 'index.js' }))
  writeFileSync(join(place, 'index.js'), code)
}

function load(cwd: string): { readonly engine: string; readonly reason: string } {
  const program = `
    const { openCache } = await import('varve')
    const { engine, reason } = (await openCache({ name: 'x', dir: './c' })).status()
    console.log(JSON.stringify({ engine, reason }))`
  const options = { cwd, encoding: 'utf8', env: { ...process.env, VARVE_ENGINE: '' } } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], options)
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

const PLANTED = "process.stdout.write('code of another package'); module.exports = {}"

it.each([`varve-${MACHINE}`, `@varve/${MACHINE}`])('a package that nobody declared is not loaded, wherever it lies: %s', (name) => {
  const root = makeFolder()
  const folder = project(root, undefined)
  for (const where of [root, dirname(folder), folder]) plant(where, name, version, PLANTED)
  expect(load(folder)).toEqual({ engine: 'wasm', reason: `WebAssembly: the addon could not be loaded: this package has no addon for ${MACHINE}` })
})

it.each(['0.0.1', '^0.1.0', '*'])('a declaration of %s, which is not exactly this version, declares nothing', (declared) => {
  const folder = project(makeFolder(), declared)
  plant(folder, `@varve/${MACHINE}`, version, PLANTED)
  expect(load(folder).reason).toContain(`no addon for ${MACHINE}`)
})

it('a declared package of another version is not loaded, and both versions are named', () => {
  const folder = project(makeFolder(), version)
  plant(folder, `@varve/${MACHINE}`, '9.9.9', PLANTED)
  expect(load(folder)).toEqual({ engine: 'wasm', reason: expect.stringMatching(`version 9.9.9, but varve ${version}`) })
})

it('a declared package of exactly this version is loaded, and its addon works', async () => {
  const cache = await openCache({ name: 'x', dir: join(makeFolder(), 'c') })
  const { engine } = cache.status()
  await cache.close()
  const folder = project(makeFolder(), version)
  plant(folder, `@varve/${MACHINE}`, version, "module.exports = require('./addon.node')")
  cpSync(join(PACKAGE, `native/varve.${MACHINE}.node`), join(folder, 'node_modules/@varve', MACHINE, 'addon.node'))
  expect([engine, load(folder)]).toEqual(['native', { engine: 'native', reason: 'native: the addon loaded' }])
})
