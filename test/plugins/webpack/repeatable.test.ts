/**
 * What loaders do besides their results: messages, files and modules in memory that plugins make of it. Each program is built without a cache
 * and with Varve: at first, again, and after a change. Both must agree in files, errors and warnings.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import webpack, { type Configuration, Stats } from 'webpack'
import { makeFolder } from '../../folders.ts'
import { makeHost } from './compile.ts'

const require = createRequire(import.meta.url)

interface Program {
  readonly files: Readonly<Record<string, string>>
  /** What the second build with Varve builds: all modules, or only some of them. */
  readonly again: number
}

interface Outcome {
  readonly files: Record<string, string>
  readonly errors: string[]
  readonly warnings: string[]
}

const SOURCES = {
  'package.json': '{}',
  'main.js': "import './a.txt'\nimport './b.txt'\n",
  'a.txt': 'a',
  'b.txt': 'b',
  'node_modules/tool/package.json': '{ "name": "tool", "version": "1.0.0" }',
}

/** A loader that gives the text of each module to `compiler.seen`, which a plugin of the config has made. */
const LOADER = `module.exports = function (text) {
  this._compiler.seen.set(require('node:path').basename(this.resourcePath), text)
  return 'console.log(' + JSON.stringify(text) + ')'
}`

/** A loader without effects, in a package. */
const PLAIN = "module.exports = (text) => 'console.log(' + JSON.stringify(text) + ')'\n"

/** A config whose plugin runs \`body\` for each compilation. */
function configOf(body: string, rules: string): string {
  return `module.exports = (folder) => ({
    module: { rules: [${rules}] },
    plugins: [{ apply(compiler) {
      compiler.seen = new Map()
      const { sources } = compiler.webpack
      const texts = () => [...compiler.seen].map(String).sort().join(' ')
      compiler.hooks.thisCompilation.tap('state', (compilation) => { ${body} })
    } }],
  })\n`
}

const OWN_RULE = "{ test: /\\.txt$/, use: folder + '/loader.cjs' }"
const PACKAGE_RULE = "{ test: /\\.txt$/, use: folder + '/node_modules/tool/loader.cjs' }"
const AT_ASSETS = (text: string): string => `compilation.hooks.processAssets.tap('state', () => { ${text} })`
const BUILT = "compilation.hooks.succeedModule.tap('state', (module) => compiler.seen.set(module.resource, ''));"

const PLUGIN_OF_PACKAGE = `module.exports = class { apply(compiler) {
  compiler.seen = new Map()
  compiler.hooks.afterCompile.tap('tool', (compilation) => {
    if (compilation.compiler !== compiler) return
    const texts = [...compiler.seen].map(String).sort().join(' ')
    if (/wrong/.test(texts)) compilation.errors.push(new compiler.webpack.WebpackError(texts))
    compilation.warnings.push(new Error('seen ' + texts))
    compilation.emitAsset('types/all.d.ts', new compiler.webpack.sources.RawSource(texts))
  })
} }`

const IMPORTING = `module.exports = () => {}
module.exports.pitch = function () {
  const done = this.async()
  this.importModule('!!' + __dirname + '/remarks.cjs!' + this.resourcePath, {}, (error, text) => done(error, 'export default ' + JSON.stringify(text)))
}`
const REMARKS = `module.exports = function (text) {
  if (text === 'a') this.emitWarning(new Error('an a'))
  if (text === 'b') this.emitError(new Error('a b'))
  return 'module.exports = ' + JSON.stringify(text)
}`
const CHILD = `module.exports = () => {}
module.exports.pitch = function () {
  const done = this.async()
  const { EntryPlugin } = this._compiler.webpack
  const child = this._compilation.createChildCompiler('child', { filename: 'child.js' }, [new EntryPlugin(__dirname, '!!' + __dirname + '/warning.cjs!' + this.resourcePath)])
  child.runAsChild((error) => done(error, 'export default 1'))
}`

const PROGRAMS: Readonly<Record<string, Program>> = {
  'an error that a plugin of the project makes of what its loader saw': {
    files: {
      'webpack.config.cjs': configOf(AT_ASSETS('if (texts()) compilation.errors.push(new Error(texts()))'), OWN_RULE),
      'loader.cjs': LOADER,
    },
    again: 3,
  },
  'a warning that a loader gives to the compilation': {
    files: {
      'webpack.config.cjs': configOf('', OWN_RULE),
      'loader.cjs': LOADER.replace('return', "this._compilation.warnings.push(new Error('seen ' + text)); return"),
    },
    again: 3,
  },
  'a warning that is a text': {
    files: {
      'webpack.config.cjs': configOf(AT_ASSETS('if (texts()) compilation.warnings.push(texts())'), OWN_RULE),
      'loader.cjs': LOADER,
    },
    again: 3,
  },
  'a build that a plugin fails': {
    files: {
      'webpack.config.cjs': configOf(AT_ASSETS('if (texts()) throw new Error(texts())'), OWN_RULE),
      'loader.cjs': LOADER,
    },
    again: 3,
  },
  'files, warnings and errors of a package with plugin and loader': {
    files: {
      'webpack.config.cjs': `const Tool = require('./node_modules/tool/plugin.cjs')
        module.exports = (folder) => ({ module: { rules: [${PACKAGE_RULE}] }, plugins: [new Tool()] })`,
      'node_modules/tool/plugin.cjs': PLUGIN_OF_PACKAGE,
      'node_modules/tool/loader.cjs': LOADER,
    },
    again: 3,
  },
  'a file of what a loader saw, which is always there': {
    files: {
      'webpack.config.cjs': configOf(
        AT_ASSETS("compilation.emitAsset('all.txt', new sources.RawSource(texts()))"),
        OWN_RULE,
      ),
      'loader.cjs': LOADER,
    },
    again: 3,
  },
  'a file that is assigned': {
    files: {
      'webpack.config.cjs': configOf(
        AT_ASSETS("if (texts()) compilation.assets['all.txt'] = new sources.RawSource(texts())"),
        OWN_RULE,
      ),
      'loader.cjs': LOADER,
    },
    again: 3,
  },
  'errors and warnings of modules that loaders execute': {
    files: {
      'webpack.config.cjs': configOf('', "{ test: /\\.txt$/, use: folder + '/import.cjs' }"),
      'import.cjs': IMPORTING,
      'remarks.cjs': REMARKS,
    },
    again: 2,
  },
  'warnings of a compiler that a loader runs': {
    files: {
      'webpack.config.cjs': configOf(
        '',
        "{ test: /a\\.txt$/, use: folder + '/child.cjs' }, { test: /b\\.txt$/, use: folder + '/plain.cjs' }",
      ),
      'child.cjs': CHILD,
      'plain.cjs': PLAIN,
      'warning.cjs': "module.exports = function () { this.emitWarning(new Error('from the child')); return '' }\n",
    },
    again: 1,
  },
}

/** Files and messages of a build. State that loaders keep in modules is new, as in another process. */
async function build(
  folder: string,
  isCached: boolean,
  options = {},
): Promise<Outcome & { built: number; complaints: string[] }> {
  for (const path of Object.keys(require.cache)) if (path.startsWith(folder)) delete require.cache[path]
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  const configure: (folder: string) => Configuration = require(join(folder, 'webpack.config.cjs'))
  const complete = (): Configuration => ({ ...configure(folder), optimization: { minimize: false } })
  const host = isCached ? makeHost(folder, complete(), options) : makeUncached(folder, complete())
  const stats = await host.run().catch((error: unknown) => ({ failure: String(error) }))
  await host.close()
  const { errors = [], warnings = [] } =
    'toJson' in stats ? stats.toJson({ all: false, errors: true, warnings: true, children: true }) : {}
  const texts = (all: readonly { message?: string }[]): string[] => all.map(({ message = '' }) => message).sort()
  const failures = 'failure' in stats ? [stats.failure] : []
  return {
    files: filesBelow(join(folder, 'dist')),
    errors: [...texts(errors), ...failures],
    warnings: texts(warnings),
    built: host.counts.built,
    complaints: host.complaints,
  }
}

function makeUncached(
  folder: string,
  config: Configuration,
): Pick<ReturnType<typeof makeHost>, 'run' | 'close' | 'counts' | 'complaints'> {
  const compiler = webpack({
    mode: 'production',
    context: folder,
    entry: './main.js',
    cache: false,
    output: { path: join(folder, 'dist') },
    ...config,
  })
  if (compiler === null) throw new Error('webpack made no compiler')
  return {
    counts: { built: 0 },
    complaints: [],
    run: () =>
      new Promise((resolve, reject) =>
        compiler.run((error, stats) => (stats instanceof Stats ? resolve(stats) : reject(error))),
      ),
    close: () => new Promise((resolve) => compiler.close(() => resolve())),
  }
}

function filesBelow(folder: string): Record<string, string> {
  try {
    const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    return Object.fromEntries(
      names.map(({ name, parentPath }) => [name, readFileSync(join(parentPath, name), 'utf8')]).sort(),
    )
  } catch {
    return {}
  }
}

function makeProgram(files: Readonly<Record<string, string>>): string {
  const folder = makeFolder()
  for (const [name, text] of Object.entries({ ...SOURCES, ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

/** Builds without a cache and with Varve, and expects the same. */
async function agree(folder: string): Promise<{ built: number; complaints: string[] }> {
  const { built: _, complaints: __, ...expected } = await build(folder, false)
  const { built, complaints, ...found } = await build(folder, true)
  expect(found).toEqual(expected)
  return { built, complaints }
}

describe('a build with modules from the cache repeats what loaders did besides', () => {
  it.each(Object.entries(PROGRAMS))('%s', async (_name, { files, again }) => {
    const folder = makeProgram(files)
    await agree(folder)
    expect((await agree(folder)).built).toBe(again)
    writeFileSync(join(folder, 'b.txt'), 'wrong')
    await agree(folder)
    await agree(folder)
  })
})

/** A loader that does something with a path in the project before it returns. */
const doing = (work: string): string => `const fs = require('node:fs')
const { execFileSync } = require('node:child_process')
module.exports = function (text) {
  const target = require('node:path').join(__dirname, 'gen', text + '.made')
  fs.mkdirSync(require('node:path').dirname(target), { recursive: true })
  ${work}
  return 'console.log(' + JSON.stringify(text) + ')'
}`

/** Builds twice with Varve, in a folder without what the first build made. */
async function buildTwice(
  loader: string,
  rule: string,
): Promise<{ made: string[]; built: number; complaints: string[] }> {
  const folder = makeProgram({
    'webpack.config.cjs': configOf('', rule),
    'loader.cjs': loader,
    'node_modules/tool/loader.cjs': loader.replace('__dirname', '__dirname, "../.."'),
  })
  await build(folder, true)
  rmSync(join(folder, 'gen'), { recursive: true, force: true })
  const { built, complaints } = await build(folder, true)
  return { made: Object.keys(filesBelow(join(folder, 'gen'))), built, complaints }
}

describe('a module whose loaders write files is built each time', () => {
  it.each([
    ['writes', 'fs.writeFileSync(target, text)'],
    ['appends', 'fs.appendFileSync(target, text)'],
    ['copies', 'fs.copyFileSync(this.resourcePath, target)'],
    ['renames', "fs.writeFileSync(target + '.part', text); fs.renameSync(target + '.part', target)"],
    ['links', 'fs.symlinkSync(this.resourcePath, target)'],
    ['has a process write', "execFileSync('cp', [this.resourcePath, target])"],
  ])('the file that a loader %s is there after a build from the cache', async (_, work) => {
    const { made, built, complaints } = await buildTwice(doing(work), OWN_RULE)
    expect(built).toBe(2)
    expect(made).toEqual(work.includes('symlink') ? [] : ['a.made', 'b.made']) // links are no files of the folder
    expect(complaints).toEqual([expect.stringMatching(/a\.txt is not stored, because its loaders (wrote|started)/)])
  })

  it('also if the loaders are those of a package', async () => {
    expect((await buildTwice(doing('fs.writeFileSync(target, text)'), PACKAGE_RULE)).built).toBe(2)
  })

  it.each([
    ['that only makes a folder', ''],
    ['that writes a temporary file', 'fs.writeFileSync(target, text); fs.rmSync(target)'],
    ['that writes into a cache', "fs.writeFileSync(require('node:path').join(__dirname, '.tool-cache'), text)"],
    ['that emits a file', "this.emitFile(text + '.made', text)"],
  ])('and that of a loader %s comes from the cache', async (_, work) => {
    expect(await buildTwice(doing(work), OWN_RULE)).toMatchObject({ built: 0, complaints: [] })
  })

  it('and a file that a plugin writes after the emit costs no miss', async () => {
    const writes =
      "compiler.hooks.afterEmit.tap('late', () => require('node:fs').writeFileSync(folder + '/stamp.txt', 'late'))"
    const folder = makeProgram({
      'webpack.config.cjs': configOf(writes, OWN_RULE),
      'loader.cjs': PLAIN,
    })
    expect((await agree(folder)).built).toBe(3)
    expect(await agree(folder)).toEqual({ built: 0, complaints: [] })
  })
})

describe('a plugin that needs no loader', () => {
  const EMITS = AT_ASSETS(
    "compilation.emitAsset('list.txt', new sources.RawSource([...compilation.modules].length + ' modules'))",
  )
  const WARNS = AT_ASSETS("compilation.warnings.push(new Error('a warning in each build'))")
  const config = configOf(`${EMITS}; ${WARNS}`, PACKAGE_RULE)

  it('costs no miss', async () => {
    const folder = makeProgram({ 'webpack.config.cjs': config, 'node_modules/tool/loader.cjs': PLAIN })
    expect(await agree(folder)).toEqual({ built: 3, complaints: [] })
    expect(await agree(folder)).toEqual({ built: 0, complaints: [] })
  })
})

it('stateless: true vouches for plugins, but not for modules that loaders execute', async () => {
  const folder = makeProgram({
    'webpack.config.cjs': configOf(
      AT_ASSETS("compilation.emitAsset('time.txt', new sources.RawSource('now'))"),
      "{ test: /\\.txt$/, use: folder + '/import.cjs' }",
    ),
    'import.cjs': IMPORTING,
    'remarks.cjs': REMARKS,
  })
  const options = { stateless: true }
  const { built: _, ...first } = await build(folder, true, options)
  expect(await build(folder, true, options)).toEqual({ ...first, built: 2, complaints: [] })
})

/** The body of a config whose compiler has files in memory, which a loader may add. */
function inMemory(files: Readonly<Record<string, string>>): string {
  return `const memory = new Map(Object.entries(${JSON.stringify(files)}).map(([name, text]) => [folder + '/' + name, text]))
    const addMemory = (compiler) => {
      compiler.memory = memory
      const input = compiler.inputFileSystem
      const time = new Date(1e12)
      const stats = { isFile: () => true, isDirectory: () => false, isSymbolicLink: () => false, mtime: time, mtimeMs: 1e12, birthtime: time }
      for (const name of ['stat', 'lstat', 'readFile', 'readlink', 'statSync']) {
        const original = input[name]
        input[name] = (path, ...rest) => {
          if (!memory.has(path)) return original.call(input, path, ...rest)
          if (name === 'statSync') return stats
          if (name === 'readlink') rest.at(-1)(Object.assign(new Error('no link'), { code: 'EINVAL' }))
          else rest.at(-1)(null, name === 'readFile' ? Buffer.from(memory.get(path)) : stats)
        }
      }
    }`
}

describe('a module that exists only in memory', () => {
  const programOf = (files: Readonly<Record<string, string>>, loader: string): string =>
    makeProgram({
      'main.js': "import './a.txt'\n",
      'loader.cjs': loader,
      'webpack.config.cjs': `module.exports = (folder) => {
        ${inMemory(files)}
        return { module: { rules: [${OWN_RULE}] }, plugins: [{ apply: addMemory }] }
      }`,
    })

  it('is built again if a loader writes it', async () => {
    const loader = `module.exports = function (text) {
      this._compiler.memory.set(this.resourcePath + '.meta.js', 'console.log(' + JSON.stringify('meta of ' + text) + ')')
      return "import './a.txt.meta.js'"
    }`
    const folder = programOf({}, loader)
    expect(await agree(folder)).toEqual({ built: 3, complaints: [] })
    const { built, complaints } = await agree(folder)
    expect([built, complaints.length, complaints[0]]).toEqual([3, 1, expect.stringContaining('a.txt.meta.js')])
    expect((await agree(folder)).built).toBe(3)
  })

  it('comes from the cache if it is there when the build begins', async () => {
    const folder = programOf({ 'meta.js': 'console.log(1)' }, `module.exports = () => "import './meta.js'"`)
    expect(await agree(folder)).toEqual({ built: 3, complaints: [] })
    expect(await agree(folder)).toEqual({ built: 0, complaints: [] })
  })
})

describe('a file that a plugin makes of the modules that webpack built', () => {
  const config = configOf(
    `${BUILT} ${AT_ASSETS("if (compiler.seen.size > 0) compilation.emitAsset('built.txt', new sources.RawSource('files'))")}`,
    PACKAGE_RULE,
  )

  it('is missing once, with a warning; from then on every build is whole', async () => {
    const folder = makeProgram({ 'webpack.config.cjs': config, 'node_modules/tool/loader.cjs': PLAIN })
    expect((await agree(folder)).complaints).toEqual([])
    const lacking = await build(folder, true)
    expect([lacking.built, lacking.complaints]).toEqual([0, [expect.stringContaining('lacks built.txt')]])
    for (const _ of [1, 2]) {
      const whole = await agree(folder)
      expect([whole.built, whole.complaints]).toEqual([3, [expect.stringContaining('built.txt')]])
    }
  })

  it('costs one whole build if the project has no such file any more', async () => {
    const files = { 'node_modules/tool/loader.cjs': PLAIN }
    const emits = "if (globalThis.hasExtra) compilation.emitAsset('extra.txt', new sources.RawSource('extra'))"
    const folder = makeProgram({ ...files, 'webpack.config.cjs': configOf(AT_ASSETS(emits), PACKAGE_RULE) })
    Reflect.set(globalThis, 'hasExtra', true)
    await agree(folder)
    Reflect.deleteProperty(globalThis, 'hasExtra')
    expect((await agree(folder)).complaints).toEqual([expect.stringContaining('lacks extra.txt')])
    expect(await agree(folder)).toEqual({ built: 3, complaints: [] })
    expect(await agree(folder)).toEqual({ built: 0, complaints: [] })
  })
})
