/**
 * A published package loads the addon of the package for this platform that its release lists, in exactly its own version, and
 * reports why it could not. Any user may own a `node_modules` directory further up, so it loads no other package.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache } from 'varve'
import { expect, it } from 'vitest'
import { writeRelease } from '../../scripts/build/embed.mjs'
import { makeFolder } from '../folders.ts'

const PACKAGE = fileURLToPath(new URL('../../packages/varve', import.meta.url))
const { version }: { version: string } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))
const { platform, arch } = process
const LIBC = JSON.stringify(process.report.getReport()).includes('glibcVersionRuntime') ? 'gnu' : 'musl'
const MACHINE = platform === 'linux' ? `${platform}-${arch}-${LIBC}` : `${platform}-${arch}`
const NAME = `@varve/${MACHINE}`
const OTHER = 'plan9-mips'

/** A project with a package that has no addon of its own; `platforms` are those of its release, undefined if it is none. */
function project(root: string, platforms?: readonly string[]): string {
  const folder = join(root, 'home/project')
  const to = join(folder, 'node_modules/varve')
  for (const part of ['dist', 'generated', 'package.json'])
    cpSync(join(PACKAGE, part), join(to, part), { recursive: true })
  writeRelease(platforms === undefined ? undefined : { version, platforms }, join(to, 'generated'))
  return folder
}

/** A package with this addon. */
function plant(folder: string, name: string, of: string, addon: string | Uint8Array): void {
  const place = join(folder, 'node_modules', name)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name, version: of, main: 'varve.node' }))
  writeFileSync(join(place, 'varve.node'), addon)
}

interface Loaded {
  readonly engine: string
  readonly reason: string
  readonly warnings: readonly string[]
}

/** The engine of the second of two caches, and the warnings of both. */
function load(cwd: string, ...flags: readonly string[]): Loaded {
  return loadWith({}, cwd, ...flags)
}

function loadWith(variables: NodeJS.ProcessEnv, cwd: string, ...flags: readonly string[]): Loaded {
  const program = `
    const { openCache } = await import('varve')
    const warnings = []
    const open = (dir) => openCache({ name: 'x', dir, onWarning: ({ code, message }) => warnings.push(code + ': ' + message) })
    await open('./c')
    const { engine, reason } = (await open('./d')).status()
    console.log(JSON.stringify({ engine, reason, warnings }))`
  const options = { cwd, encoding: 'utf8', env: { ...process.env, VARVE_ENGINE: '', ...variables } } as const
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...flags, '--input-type=module', '--eval', program],
    options,
  )
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

/** A working addon: a package that is loaded makes the engine native. */
const ADDON = readFileSync(join(PACKAGE, `native/varve.${MACHINE}.node`))

const UNLISTED: readonly [name: string, of: string, platforms?: readonly string[]][] = [
  [`varve-${MACHINE}`, 'a release', [MACHINE, OTHER]],
  [NAME, 'a release without this platform', [OTHER]],
  [NAME, 'a checkout'],
]
it.each(UNLISTED)(
  'a package that is not in the release is not loaded, wherever it lies: %s of %s',
  (name, _, platforms) => {
    const root = makeFolder()
    const folder = project(root, platforms)
    for (const where of [root, dirname(folder), folder]) plant(where, name, version, ADDON)
    expect(load(folder)).toMatchObject({ engine: 'wasm', reason: expect.stringMatching(/^WebAssembly: /) })
  },
)

/** Every reason is in the status of each cache, and one warning of the first cache. */
function expectReported(found: Loaded, reason: RegExp): void {
  expect(found).toEqual({
    engine: 'wasm',
    reason: expect.stringMatching(reason),
    warnings: [expect.stringMatching(reason)],
  })
  expect(found.warnings[0]).toContain('ENGINE_UNAVAILABLE: Varve uses its WebAssembly engine')
}

it('a package of another version is not loaded, and both versions are named', () => {
  const folder = project(makeFolder(), [MACHINE, OTHER])
  plant(folder, NAME, '9.9.9', ADDON)
  expectReported(
    load(folder),
    new RegExp(`has version 9.9.9, but varve ${version}; run 'npm install varve@${version}'`),
  )
})

it('after an installation with --omit=optional, a warning names the missing package and the command that installs it', () => {
  const folder = project(makeFolder(), [MACHINE, OTHER])
  expectReported(load(folder), new RegExp(`'${NAME}' is not installed: .*; run 'npm install --include=optional'`))
})

it('node_modules of another platform, as Docker copies it, causes a warning that names both packages', () => {
  const folder = project(makeFolder(), [MACHINE, OTHER])
  plant(folder, `@varve/${OTHER}`, version, ADDON)
  expectReported(
    load(folder),
    new RegExp(`'${NAME}' is not installed, but '@varve/${OTHER}' is: .* run 'npm ci' .* .dockerignore`),
  )
})

it('an addon that the system cannot load causes a warning with the error, and WebAssembly runs', () => {
  const folder = project(makeFolder(), [MACHINE, OTHER])
  plant(folder, NAME, version, 'not a library')
  expectReported(load(folder), new RegExp(`'${NAME}' does not load: .*varve.node.*; run 'npm ci'`))
})

it('a process that forbids addons gets no warning that one is missing', () => {
  const folder = project(makeFolder(), [MACHINE, OTHER])
  expect(load(folder, '--no-addons')).toEqual({
    engine: 'wasm',
    reason: 'WebAssembly: node runs with --no-addons',
    warnings: [],
  })
})

/** A package whose files are directories with a program, which Node.js would run for `require`. */
function plantProgram(nodeModules: string, name: string, files: readonly string[]): void {
  const place = join(nodeModules, name)
  for (const file of ['package.json', 'varve.node', 'index.js', ...files]) {
    const isProgram = files.includes(file)
    mkdirSync(isProgram ? join(place, file) : place, { recursive: true })
    const content = file === 'package.json' ? JSON.stringify({ name, version, main: 'index.js' }) : PROGRAM
    writeFileSync(isProgram ? join(place, file, 'index.js') : join(place, file), isProgram ? PROGRAM : content)
  }
}

const PROGRAM = "require('node:fs').writeSync(1, 'a program of another folder runs')\n"

it.each([
  ['NODE_PATH', 'np', (root: string) => ({ NODE_PATH: join(root, 'np') })],
  ['HOME', 'home/.node_modules', (root: string) => ({ HOME: join(root, 'home') })],
  ['HOME', 'home/.node_libraries', (root: string) => ({ HOME: join(root, 'home') })],
])('an addon in a folder that belongs to no project is not loaded: %s, %s', (_, folder, env) => {
  const root = makeFolder()
  const at = project(root, [MACHINE])
  plantProgram(join(root, folder), NAME, ['varve.node'])
  expectReported(loadWith(env(root), at), new RegExp(`'${NAME}' is not installed`))
})

it.each(['varve.node', 'package.json'])('%s that is a directory with a program is not run', (file) => {
  const at = project(makeFolder(), [MACHINE])
  plantProgram(join(at, 'node_modules'), NAME, [file])
  expectReported(load(at), new RegExp(`'${NAME}' is not`))
})

const isRoot = process.getuid?.() === 0
it.skipIf(!isRoot).each([
  ['a sticky parent of the project', 0o1777],
  ['a parent that only its owner may write to', 0o755],
])('an addon in node_modules of another user is not loaded: %s', (_, mode) => {
  const root = makeFolder()
  const at = project(root, [MACHINE])
  const shared = join(root, 'home')
  plantProgram(join(shared, 'node_modules'), NAME, ['varve.node'])
  chmodSync(shared, mode)
  for (const path of ['', '@varve', NAME, `${NAME}/package.json`])
    chownSync(join(shared, 'node_modules', path), 3002, 3002)
  expectReported(load(at), /belongs to user 3002/)
})

it.skipIf(!isRoot)('a command does not run @varve/remote in node_modules of another user', () => {
  const root = makeFolder()
  const at = project(root, [MACHINE])
  const elsewhere = join(root, 'home/project/node_modules/@varve')
  plantProgram(join(at, 'node_modules'), '@varve/remote', [])
  chownSync(elsewhere, 3002, 3002)
  const cli = join(at, 'node_modules/varve/dist/bundle/cli.js')
  mkdirSync(join(at, 'caches'))
  const run = (...args: readonly string[]): string => {
    const { stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
      cwd: at,
      encoding: 'utf8',
      env: { ...process.env, VARVE_ENGINE: 'wasm', VARVE_REMOTE: 'file:///nowhere' },
    })
    return stdout + stderr
  }
  expect(run('remote', 'keygen')).toMatch(/'@varve\/remote' is not used: .* belongs to user 3002/)
})

it('a worker thread whose program is a text, and so has a global __filename, loads the addon', () => {
  const folder = project(makeFolder(), [MACHINE])
  plant(folder, NAME, version, ADDON)
  const worker =
    "import('varve').then(({ openCache }) => openCache({ name: 'x', dir: './c' })).then((cache) => console.log(cache.status().reason))"
  const program = `new (require('node:worker_threads').Worker)(${JSON.stringify(worker)}, { eval: true })`
  const { stdout } = spawnSync(process.execPath, ['--eval', program], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, VARVE_ENGINE: '' },
  })
  expect(stdout.trim()).toBe('native: the addon loaded')
})

it('a package of exactly this version is loaded, and its addon works', async () => {
  const cache = await openCache({ name: 'x', dir: join(makeFolder(), 'c') })
  const { engine } = cache.status()
  await cache.close()
  const folder = project(makeFolder(), [MACHINE, OTHER])
  plant(folder, NAME, version, ADDON)
  expect([engine, load(folder)]).toEqual([
    'native',
    { engine: 'native', reason: 'native: the addon loaded', warnings: [] },
  ])
})

it('a method of an open store that is called on anything else throws an error', () => {
  const addon: { openSmall(order: string, secret: undefined, scratch: Uint8Array, cells: Int32Array): Store } =
    createRequire(import.meta.url)(join(PACKAGE, `native/varve.${MACHINE}.node`))
  interface Store {
    readonly constructor: new () => object
    pendingBytes(): number
  }
  const open = (name: string): Store =>
    addon.openSmall(
      JSON.stringify({
        folder: join(makeFolder(), name),
        durability: 'relaxed',
        readOnly: false,
        bytesMax: 1e9,
        layers: [],
      }),
      undefined,
      new Uint8Array(1024),
      new Int32Array(3),
    )
  const [store, second] = [open('c'), open('d')]
  for (const other of [{}, undefined, 1, Object.create(store), new Uint8Array(8)])
    expect(() => Reflect.apply(store.pendingBytes, other, [])).toThrow(/not an open store|Illegal invocation/)
  expect(() => new store.constructor()).toThrow(/no `constructor`/)
  expect(Reflect.apply(store.pendingBytes, second, [])).toBe(0)
})

it('opens natively, small or not, in a program that added setters that throw to Object.prototype', () => {
  const folder = project(makeFolder(), [MACHINE])
  plant(folder, NAME, version, ADDON)
  const program = `
    const { openCache } = await import('varve')
    const filled = await openCache({ name: 'x', dir: './large' })
    const entries = filled.namespace('n', { version: '1', codec: 'text' })
    for (let i = 0; i < 40_000; i++) entries.put('key' + i, String(i).repeat(20))
    await filled.close()
    const set = () => { throw new Error('a setter of the program ran') }
    for (const name of ['scratch', 'openSmall', 'pendingBytes']) Object.defineProperty(Object.prototype, name, { configurable: true, set })
    for (const dir of ['./small', './large']) {
      const cache = await openCache({ name: 'x', dir })
      const values = cache.namespace('n', { version: '1', codec: 'text' })
      values.put('key', 'value')
      console.log(cache.status().engine, values.get('key'))
    }`
  const options = { cwd: folder, encoding: 'utf8', env: { ...process.env, VARVE_ENGINE: '' } } as const
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], options)
  expect([stdout, stderr]).toEqual(['native value\nnative value\n', ''])
})
