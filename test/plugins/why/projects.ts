/** A project of two modules that all tools build, with everything that `why` may have to name. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** What may differ from build to build. */
export interface Choices {
  /** `version` of Varve's plugin. */
  readonly version?: string | undefined
  /** The value of `__STAMP__`. */
  readonly stamp?: string | undefined
}

/** Builds the project, and returns the lines of Varve. */
export type Build = (folder: string, choices?: Choices) => Promise<string[]>

/** What the loader does for `src/page.js`: it reads a variable, a secret and a file that need not exist. */
const WORK = `
  const { existsSync, readFileSync } = require('node:fs')
  const { join } = require('node:path')
  void process.env.TEST_MODE
  void process.env.NODE_ENV
  void process.env.TEST_TOKEN
  const rc = join(folder, '.pagerc')
  if (existsSync(rc)) readFileSync(rc)`

export function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
}

/** The lock file and the package with this version of `compiler`. */
export function install(folder: string, version: string): void {
  const packages = {
    '': { name: 'project' },
    'node_modules/@org/compiler': { version },
    'node_modules/other': { version: '3.0.0' },
  }
  write(folder, {
    'package-lock.json': JSON.stringify({ name: 'project', lockfileVersion: 3, packages }, null, 2),
    'node_modules/@org/compiler/package.json': JSON.stringify({ name: '@org/compiler', version }),
    'node_modules/@org/compiler/index.js': 'module.exports = (text) => text\n',
  })
}

export function writeProject(folder: string): void {
  install(folder, '7.29.13')
  write(folder, {
    'package.json': '{ "name": "project", "version": "1.0.0", "type": "module" }',
    'index.html': '<script type="module" src="/src/main.js"></script>',
    'src/main.js': "import { page } from './page.js'\nconsole.log(page())\n",
    'src/page.js': 'export const page = () => [Math.random(), __STAMP__]\n',
    'src/theme.css': 'a { color: red }',
    'node_modules/page-loader/package.json': '{ "name": "page-loader", "version": "1.0.0" }',
    'node_modules/page-loader/index.js': `const folder = ${JSON.stringify(folder)}
module.exports = function (text) {${WORK}
  this.addDependency(join(folder, 'src/theme.css'))
  return require('@org/compiler')(text)
}
`,
  })
}

const BUILD = fileURLToPath(new URL('build.mjs', import.meta.url))

/** Builds in a process of its own, because a plugin depends on what its process has read. */
async function build(tool: string, folder: string, choices: Choices = {}): Promise<string[]> {
  const child = spawn(process.execPath, [BUILD, tool, JSON.stringify(choices)], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`the build failed: ${err}`)
  return out.split('\n').filter((line) => line.includes('varve: '))
}

/** A tool, with what it calls the value of `__STAMP__` and the changed option. */
interface Tool {
  readonly build: Build
  readonly stamp: string
  readonly option: string
}

/** The tools that define `__STAMP__`. */
export const TOOLS: Readonly<Record<string, Tool>> = {
  webpack: { build: build.bind(undefined, 'webpack'), stamp: 'define __STAMP__ "1" -> "2"', option: 'version a -> b' },
  vite: { build: build.bind(undefined, 'vite'), stamp: 'define.__STAMP__ "1" -> "2"', option: 'level a -> b' },
}

/** The other tools, in which it is an option of the plugin or the loader. */
export const OTHER_TOOLS: Readonly<Record<string, Tool>> = {
  rollup: { build: build.bind(undefined, 'rollup'), stamp: 'stamp 1 -> 2', option: 'level a -> b' },
  rolldown: { build: build.bind(undefined, 'rolldown'), stamp: 'stamp 1 -> 2', option: 'level a -> b' },
  esbuild: { build: build.bind(undefined, 'esbuild'), stamp: 'stamp 1 -> 2', option: 'level a -> b' },
  rspack: { build: build.bind(undefined, 'rspack'), stamp: 'page-loader.stamp 1 -> 2', option: 'version a -> b' },
}
