/** The published packages: their types, and what importing them loads. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const PROGRAM = fileURLToPath(new URL('loaded.mjs', import.meta.url))

it('the published types contain nothing that is marked internal', () => {
  const folders = ['packages/varve/dist', 'packages/plugins/dist'].map((path) => join(REPOSITORY, path))
  const all = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  )
  const paths = all.filter((path) => path.endsWith('.d.ts'))
  expect(paths.length).toBeGreaterThan(50)
  expect(paths.filter((path) => readFileSync(path, 'utf8').includes('@internal'))).toEqual([])
})

it('an uncaught error of a published package prints a line of code that a reader understands, not a page of it', () => {
  const program = "await (await import('varve')).openCache({ dri: 'cache' })"
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: REPOSITORY,
    encoding: 'utf8',
  })
  expect(status).toBe(1)
  expect(stderr).toContain("'dri'")
  expect(stderr).toMatch(/dist\/bundle\/\w+\.js:\d+\n\s*return new VarveError\(/)
  expect(stderr).toMatch(/at checkOptions \(/)
  expect(stderr.length).toBeLessThan(2000)
})

it('no published line of code has more than 500 characters', () => {
  const folders = [
    'varve/dist/bundle',
    'varve/generated',
    'plugins/dist/bundle',
    'remote/dist/bundle',
    'view/dist/bundle',
  ]
  const paths = folders.flatMap((name) => {
    const folder = join(REPOSITORY, 'packages', name)
    return readdirSync(folder).map((file) => join(folder, file))
  })
  expect(paths.length).toBeGreaterThan(50)
  const isLong = (path: string): boolean =>
    readFileSync(path, 'utf8')
      .split('\n')
      .some((line) => line.length > 500)
  expect(paths.filter((path) => /\.c?js$/.test(path) && isLong(path))).toEqual([])
})

it('no module of the plugins uses a property of import.meta that config loaders such as jiti do not support', () => {
  const folder = join(REPOSITORY, 'packages/plugins/dist/bundle')
  const paths = readdirSync(folder).filter((path) => path.endsWith('.js'))
  expect(paths).toContain('webpack.js')
  const unsupported = paths.filter((path) => /import\.meta(?!\.url\b)/.test(codeOf(join(folder, path))))
  expect(unsupported).toEqual([])
})

const ENTRIES = [
  'babel',
  'esbuild',
  'jest',
  'keyv',
  'loader',
  'metro',
  'parcel',
  'rolldown',
  'rollup',
  'rspack',
  'unstorage',
  'vite',
  'webpack',
]

// Tools load these by their paths, and a loader's path is part of what it makes.
const REQUIRED = ENTRIES.filter((tool) => tool !== 'jest' && tool !== 'loader')

// Vite 5 rejects a module that `require` of a config finds, unless it is CommonJS.
it.each(REQUIRED)(
  'a config that jiti translates does not have the %s plugin translated by Babel at each clean build',
  (tool) => {
    const path = createRequire(import.meta.url).resolve(`@varve/plugins/${tool}`)
    expect(path).toMatch(/\.cjs$/) // jiti 1 loads this extension natively
  },
)

it.each(REQUIRED)('a program that imports what require.resolve finds for %s gets the plugin', (tool) => {
  const program = `import(require('node:url').pathToFileURL(require.resolve('@varve/plugins/${tool}')))
    .then((found) => import('@varve/plugins/${tool}').then((named) => console.log(Object.keys(named).every((name) => name === 'default' || found[name] === named[name]))))`
  expect(execFileSync(process.execPath, ['-e', program], { cwd: REPOSITORY, encoding: 'utf8' })).toBe('true\n')
})

it.each(ENTRIES)('a CommonJS module gets what others import: %s', (tool) => {
  // Vitest would transform the import.
  const program = `import('@varve/plugins/${tool}').then((named) => {
    const found = require('@varve/plugins/${tool}')
    console.log(Object.keys(named).every((name) => found[name] === named[name]))
  })`
  expect(execFileSync(process.execPath, ['-e', program], { cwd: REPOSITORY, encoding: 'utf8' })).toBe('true\n')
})

it.each(ENTRIES)('importing the plugin for %s replaces functions of node:fs only if that records reads', (tool) => {
  const isSame = "console.log(readFileSync === require('fs').readFileSync)"
  const program = `const { readFileSync } = require('fs'); import('@varve/plugins/${tool}').then(() => ${isSame})`
  const isUnchanged =
    execFileSync(process.execPath, ['-e', program], { cwd: REPOSITORY, encoding: 'utf8' }) === 'true\n'
  expect(isUnchanged).toBe(['jest', 'keyv', 'metro', 'parcel', 'unstorage'].includes(tool))
})

/** The text of a module, without comments. */
function codeOf(path: string): string {
  return readFileSync(path, 'utf8').replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')
}

it.each(ENGINES)('a cache loads the code for files and for JSON at the first call that needs it: %s', (engine) => {
  const out = execFileSync(process.execPath, [PROGRAM, makeFolder(), engine], { encoding: 'utf8' })
  const { main, files, json }: Record<'main' | 'files' | 'json', readonly string[]> = JSON.parse(out)
  const isLazy = (path: string): boolean => /^(trees|native-files|wasm-files|transfer|streams)/.test(path)
  expect(main).toContain('index.js')
  expect(main.filter(isLazy)).toEqual([])
  expect(files.filter(isLazy)).toContain('trees.js')
  expect(files.filter((path) => path.startsWith('transfer'))).toEqual([])
  expect(json.filter(isLazy)).toContain('transfer.js')
  // Each module costs time: 4 with the native engine, 12 with WebAssembly.
  expect(main.length).toBeLessThanOrEqual(12)
})
