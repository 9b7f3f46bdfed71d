/**
 * Files that change while a process has them in memory, before it has recorded what its results depend on: the next process builds these
 * modules again. Each test changes a file by another process, as an editor does.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import type { Configuration } from 'webpack'
import { makeFolder } from '../../folders.ts'
import { buildOnce, makeHost } from './compile.ts'

const RULES: Configuration = {
  module: {
    rules: [
      { test: /[ab]\.js$/, use: './loader.cjs' },
      { test: /\.txt$/, type: 'asset/source', use: './other.cjs' },
    ],
  },
}

/** Writes by another process, after the time stamps of a file system have advanced. */
const EDIT = `const edit = (path, text) => require('node:child_process').execFileSync(process.execPath, ['-e',
  \`setTimeout(() => require('node:fs').writeFileSync(\${JSON.stringify(path)}, \${JSON.stringify(text)}), 30)\`])
`

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

function makeProject(loader: string): string {
  const folder = makeFolder()
  const sources = {
    'main.js': "import './a.js'\nimport './b.js'\n",
    'a.js': 'console.log(1)\n',
    'b.js': 'console.log(2)\n',
  }
  write(folder, {
    'package.json': '{}',
    ...sources,
    'loader.cjs': loader,
    'other.cjs': 'module.exports = (source) => source',
    'words/one': '',
  })
  execFileSync(process.execPath, ['-e', 'setTimeout(() => undefined, 30)'])
  return folder
}

/** A loader that keeps in memory what it found first, and changes it later in the build. */
const holding = (find: string, edited: string, text: string): string => `${EDIT}
const { existsSync, readdirSync, readFileSync } = require('node:fs')
const { join } = require('node:path')
let held
module.exports = function (source) {
  held ??= ${find}
  if (this.resourcePath.endsWith('b.js')) edit(join(__dirname, '${edited}'), ${JSON.stringify(text)})
  return source + ';' + JSON.stringify(held)
}`

// The first test: what is loaded in the others remains loaded in this process, and counts.
it('a build that nothing changes during is a hit, although it lists a directory that it writes to', async () => {
  const folder = makeProject(`const { join } = require('node:path')
const fs = require('node:fs')
module.exports = function (source) {
  fs.readdirSync(join(__dirname, 'words'))
  fs.writeFileSync(join(__dirname, 'words/.tool-cache'), '')
  return source
}`)
  await buildOnce(folder, RULES)
  expect((await buildOnce(folder, RULES)).counts.built).toBe(0)
})

it.each([
  ['a file that a loader has read', holding(`readFileSync(join(__dirname, 'words/one'), 'utf8')`, 'words/one', 'two')],
  ['a directory that a loader has listed', holding(`readdirSync(join(__dirname, 'words'))`, 'words/two', '')],
  ['a file that a loader has missed', holding(`existsSync(join(__dirname, 'words/two'))`, 'words/two', '')],
])('everything is built again after a build during which this changed: %s', async (_, loader) => {
  const folder = makeProject(loader)
  await buildOnce(folder, RULES)
  // Module main.js has no loader; the first of the two others reports the file to webpack.
  expect((await buildOnce(folder, RULES)).counts.built).toBe(3)
})

it('everything is built again if a loader was edited in a process that then used another loader for the first time', async () => {
  const folder = makeProject('module.exports = (source) => source')
  const host = makeHost(folder, RULES)
  await host.run()
  write(folder, { 'loader.cjs': 'module.exports = () => ""' })
  write(folder, { 'main.js': "import './a.js'\nimport './b.js'\nimport './c.txt'\n", 'c.txt': 'c' })
  await host.run()
  await host.close()
  expect((await buildOnce(folder, RULES)).counts.built).toBe(4)
})

it('everything is built again if a package was installed while the process had the old one in memory', async () => {
  const folder = makeProject(`require('plug'); module.exports = (source) => source`)
  const plug = (version: string): Readonly<Record<string, string>> => ({
    'node_modules/plug/package.json': JSON.stringify({ name: 'plug', version }),
    'node_modules/plug/index.js': '',
  })
  write(folder, plug('1.0.0'))
  execFileSync(process.execPath, ['-e', 'setTimeout(() => undefined, 30)'])
  const host = makeHost(folder, RULES)
  await host.run()
  write(folder, plug('1.1.0'))
  write(folder, { 'main.js': "import './a.js'\nimport './b.js'\nimport './c.txt'\n", 'c.txt': 'c' })
  await host.run()
  await host.close()
  expect((await buildOnce(folder, RULES)).counts.built).toBe(4)
})

it('modules that were built with another state of an input than the environment has are not used with that one', async () => {
  const folder = makeProject(holding(`readFileSync(join(__dirname, 'words/one'), 'utf8')`, 'other', ''))
  write(folder, { 'words/one': 'first' })
  execFileSync(process.execPath, ['-e', 'setTimeout(() => undefined, 30)'])
  await buildOnce(folder, RULES)
  const { cache } = createRequire(import.meta.url)
  Reflect.deleteProperty(cache, join(folder, 'loader.cjs'))
  const host = makeHost(folder, RULES)
  await host.run()
  write(folder, { 'words/one': 'second', 'a.js': 'console.log(10)\n', 'b.js': 'console.log(20)\n' })
  await host.run()
  await host.close()
  write(folder, { 'words/one': 'first' })
  Reflect.deleteProperty(cache, join(folder, 'loader.cjs'))
  await buildOnce(folder, RULES)
  const output = readFileSync(join(folder, 'dist/main.js'), 'utf8')
  expect(output).toContain('first')
  expect(output).not.toContain('second')
})
