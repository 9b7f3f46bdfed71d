/**
 * What loaders read, and what a change of it means: modules that depend on it are built again, and a build without a change takes everything
 * from the cache. All builds of a test run in this process, and each loader is loaded again before the next one.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import { afterEach, describe, expect, it } from 'vitest'
import type { Configuration } from 'webpack'
import { makeFolder } from '../../folders.ts'
import { buildOnce } from './compile.ts'

const { cache: loaded } = createRequire(import.meta.url)
const VARIABLE = 'VARVETEST_WORD'

interface Project {
  readonly folder: string
  write(files: Readonly<Record<string, string>>): void
  /** Builds as a process of its own would: without what loaders hold in memory, and with this value of the variable. */
  build(config?: Configuration, variable?: string): Promise<number>
  /** The text of everything that was emitted. */
  output(): string
}

/** A project whose loader puts into each module what `body` sets as `word`. */
function makeProject(body: string, files: Readonly<Record<string, string>> = {}): Project {
  const folder = makeFolder()
  const write = (all: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(all)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
  }
  const sources = {
    'main.js': "import './a.js'\nimport './b.js'\n",
    'a.js': 'console.log(1)\n',
    'b.js': 'console.log(2)\n',
  }
  const code = `const fs = require('node:fs'), { join } = require('node:path')
let held
module.exports = function (source) { let word; ${body}; return source + ';console.log(' + JSON.stringify(word) + ')' }`
  write({ 'package.json': '{}', ...sources, 'loader.cjs': code, ...files })
  return {
    folder,
    write,
    async build(config = {}, variable) {
      await setTimeout(30) // so that files are no longer young
      for (const path of Object.keys(loaded)) if (path.endsWith('loader.cjs')) delete loaded[path]
      if (variable === undefined) delete process.env[VARIABLE]
      else process.env[VARIABLE] = variable
      return (await buildOnce(folder, { module: { rules: [{ test: /[ab]\.js$/, use: './loader.cjs' }] }, ...config }))
        .counts.built
    },
    output: () =>
      readdirSync(join(folder, 'dist'))
        .map((name) => readFileSync(join(folder, 'dist', name), 'utf8'))
        .join('\n'),
  }
}

afterEach(() => void delete process.env[VARIABLE])

describe('a variable that the loaders of a build', () => {
  it('read, set and read again counts with the value that they found', async () => {
    const project = makeProject(`word = process.env.${VARIABLE} ??= 'of the loader'`)
    expect(await project.build()).toBe(3)
    expect(await project.build()).toBe(0)
    expect(await project.build({}, 'of the shell')).toBe(3)
    expect(project.output()).toContain('of the shell')
    expect(await project.build({}, 'of the shell')).toBe(0)
    expect(await project.build({}, 'of the loader')).toBe(3)
    expect(await project.build()).toBe(0) // as the first time
  })

  it('set and read does not count', async () => {
    const project = makeProject(`process.env.${VARIABLE} = 'of the loader'; word = process.env.${VARIABLE}`)
    expect(await project.build()).toBe(3)
    expect(await project.build({}, 'of the shell')).toBe(0)
  })

  it('look for by Object.hasOwn counts', async () => {
    const project = makeProject(`word = Object.hasOwn(process.env, '${VARIABLE}') ? 'is set' : 'is not set'`)
    expect(await project.build()).toBe(3)
    expect(await project.build()).toBe(0)
    expect(await project.build({}, '')).toBe(3)
    expect(project.output()).not.toContain('is not set')
  })

  it('only list counts by its name', async () => {
    const project = makeProject('word = Object.keys(process.env).length > 0')
    expect(await project.build()).toBe(3)
    expect(await project.build({}, '')).toBe(3)
    expect(await project.build({}, 'of the shell')).toBe(0)
  })

  it('list with their values counts', async () => {
    const project = makeProject(`word = ({ ...process.env }).${VARIABLE}`)
    expect(await project.build()).toBe(3)
    expect(await project.build({}, 'one')).toBe(3)
    expect(await project.build({}, 'two')).toBe(3)
    expect(project.output()).toContain('two')
    expect(await project.build({}, 'two')).toBe(0)
  })

  it('set before they list all does not count', async () => {
    const project = makeProject(
      `process.env.${VARIABLE} = '1'; word = Object.keys(process.env).includes('${VARIABLE}')`,
    )
    expect(await project.build()).toBe(3)
    expect(await project.build()).toBe(0)
  })
})

it('a file of a package that is a link into the project is an input, although it is read by its path in node_modules', async () => {
  const body = "word = held ??= fs.readFileSync(join(__dirname, 'node_modules/words/word.txt'), 'utf8')"
  const project = makeProject(body, {
    'packages/words/package.json': '{ "name": "words", "version": "1.0.0" }',
    'packages/words/word.txt': 'first',
  })
  mkdirSync(join(project.folder, 'node_modules'))
  symlinkSync('../packages/words', join(project.folder, 'node_modules/words'))
  expect(await project.build()).toBe(3)
  expect(await project.build()).toBe(0)
  project.write({ 'packages/words/word.txt': 'second' })
  await project.build()
  expect(project.output()).toContain('second')
  expect(project.output()).not.toContain('first')
})

it.each<[string, Configuration['snapshot']]>([
  ['managedPaths', { managedPaths: [] }],
  ['unmanagedPaths', { unmanagedPaths: [/[\\/]node_modules[\\/]words[\\/]/] }],
])(
  'a file of a package that %s of webpack names as one that changes without its version is an input',
  async (_, snapshot = {}) => {
    const body = "word = held ??= fs.readFileSync(join(__dirname, 'node_modules/words/word.txt'), 'utf8')"
    const files = {
      'node_modules/words/package.json': '{ "name": "words", "version": "1.0.0" }',
      'node_modules/words/word.txt': 'first',
    }
    const project = makeProject(body, files)
    expect(await project.build({ snapshot })).toBe(3)
    expect(await project.build({ snapshot })).toBe(0)
    project.write({ 'node_modules/words/word.txt': 'second' })
    await project.build({ snapshot })
    expect(project.output()).toContain('second')
    expect(project.output()).not.toContain('first')
  },
)

it('a file that a loader holds in memory is an input of all modules, although another module depends on the directory around it', async () => {
  const body = "word = held ??= fs.readFileSync(join(__dirname, 'words/word.txt'), 'utf8')"
  const main =
    "import './a.js'\nimport './b.js'\nconst all = require.context('./words', false, /\\.js$/)\nconsole.log(all.keys())\n"
  const project = makeProject(body, { 'main.js': main, 'words/word.txt': 'first', 'words/one.js': '' })
  await project.build()
  expect(await project.build()).toBe(0)
  project.write({ 'words/word.txt': 'second' })
  await project.build()
  expect(project.output()).toContain('second')
  expect(project.output()).not.toContain('first')
})

it('files in a directory that a loader reports and reads are inputs of its module only', async () => {
  const body = `word = ''
  if (!/a\\.js$/.test(this.resourcePath)) return source
  this.addContextDependency(join(__dirname, 'words'))
  word = fs.readdirSync(join(__dirname, 'words')).map((name) => fs.readFileSync(join(__dirname, 'words', name), 'utf8'))`
  const project = makeProject(body, { 'words/one.txt': 'first' })
  expect(await project.build()).toBe(3)
  expect(await project.build()).toBe(0)
  project.write({ 'words/one.txt': 'second', 'words/two.txt': 'third' })
  expect(await project.build()).toBe(1)
  expect(project.output()).toContain('["second","third"]')
})

describe('a directory that a loader lists for one module', () => {
  const WAYS: Readonly<Record<string, string>> = {
    'by readdir': "fs.readdirSync(join(__dirname, 'pages'))",
    'with all below, by readdir': "fs.readdirSync(join(__dirname, 'pages'), { recursive: true })",
    'by opendir': `[]
  const folder = fs.opendirSync(join(__dirname, 'pages'))
  for (let one = folder.readSync(); one !== null; one = folder.readSync()) names.push(one.name)
  folder.closeSync()`,
    'by readdir of this.fs': "this.fs.readdirSync(join(__dirname, 'pages'))",
  }

  it.each(Object.entries(WAYS))(
    '%s, is an input of that module, although others of its files are imported',
    async (_, names) => {
      const body = `const names = ${names}
  return names.sort().map((name) => \`import './pages/\${name}'\`).join('\\n')`
      const project = makeProject(body, {
        'main.js': "import './routes.js'\nimport './a.js'\n",
        'routes.js': '',
        'pages/one.js': "console.log('the first page')\n",
      })
      const rules = [{ test: /routes\.js$/, use: './loader.cjs' }]
      const build = (): Promise<number> => project.build({ module: { rules } })
      expect(await build()).toBe(4)
      expect(await build()).toBe(0)
      project.write({ 'pages/two.js': "console.log('the second page')\n" })
      expect(await build()).toBe(2)
      expect(project.output()).toContain('the second page')
      renameSync(join(project.folder, 'pages/two.js'), join(project.folder, 'pages/three.js'))
      expect(await build()).toBe(2)
      rmSync(join(project.folder, 'pages/one.js'))
      expect(await build()).toBe(1)
      expect(project.output()).toContain('the second page')
      expect(project.output()).not.toContain('the first page')
      expect(await build()).toBe(0)
    },
  )

  it('and reports as a file, is an input of that module by its names', async () => {
    const body = `word = ''
  if (!/a\\.js$/.test(this.resourcePath)) return source
  this.addDependency(join(__dirname, 'words'))
  word = fs.readdirSync(join(__dirname, 'words'))`
    const project = makeProject(body, { 'words/one.txt': '' })
    expect(await project.build()).toBe(3)
    expect(await project.build()).toBe(0)
    project.write({ 'words/two.txt': '' })
    expect(await project.build()).toBe(1)
    expect(project.output()).toContain('["one.txt","two.txt"]')
  })
})

it('a file that a loader reads is an input of a config that has the plugin twice', async () => {
  const project = makeProject("word = held ??= fs.readFileSync(join(__dirname, '.wordrc'), 'utf8')", {
    '.wordrc': 'first',
  })
  const build = (): Promise<number> => project.build({ plugins: [new VarveWebpackPlugin({ dir: 'another' })] })
  expect(await build()).toBe(3)
  expect(await build()).toBe(0)
  project.write({ '.wordrc': 'second' })
  expect(await build()).toBe(3)
  expect(project.output()).not.toContain('first')
})

it('an asset that a build left as it was is no input, so that a later build may write it', async () => {
  const project = makeProject('word = 1')
  // The output directory contains the project, so it is not left out as a whole. webpack compares each asset before it writes.
  const config = { entry: { a: './a.js', b: './b.js' }, output: { path: project.folder, filename: 'public/[name].js' } }
  expect(await project.build(config)).toBe(2)
  project.write({ 'a.js': 'console.log(10)\n' })
  expect(await project.build(config)).toBe(1)
  project.write({ 'b.js': 'console.log(20)\n' })
  expect(await project.build(config)).toBe(1)
  expect(await project.build(config)).toBe(0)
})
