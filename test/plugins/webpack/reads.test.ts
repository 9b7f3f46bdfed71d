/** What loaders read without reporting it to webpack. Each build runs in a separate process. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { runProgram } from '../programs.ts'
import { slow } from '../../slow.ts'

const BUILD = fileURLToPath(new URL('build.mjs', import.meta.url))

/** A loader that notes the modules it builds; `body` makes `word`, which it puts into each. */
const loaderOf = (body: string): string => `const fs = require('node:fs')
const { basename, join } = require('node:path')
let held
module.exports = function (source) {
  fs.appendFileSync('.runs-cache', basename(this.resourcePath) + '\\n')
  let word = ''
  ${body}
  return source + '\\nconsole.log(' + JSON.stringify(word) + ')'
}
`

interface Project {
  readonly folder: string
  /** Builds, and returns the modules that were built, sorted, and the inputs that had changed. */
  build(options?: object, output?: string): Promise<{ readonly built: string[]; readonly changed: readonly string[] }>
  write(file: string, text: string): void
}

/** `at`: the path of the loader. */
function makeProject(loader: string, files: Readonly<Record<string, string>> = {}, at = 'loader.cjs'): Project {
  const folder = makeFolder()
  const write = (file: string, text: string): void => {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  const common = {
    'package.json': '{}',
    'main.js': "import './a.js'\nimport './b.js'\n",
    'a.js': 'console.log(1)\n',
    'b.js': 'console.log(2)\n',
  }
  for (const [file, text] of Object.entries({ ...common, [at]: loaderOf(loader), ...files })) write(file, text)
  const log = join(folder, '.runs-cache')
  return {
    folder,
    write,
    async build(options = {}, output = 'dist') {
      rmSync(log, { force: true })
      const config = { optimization: { minimize: false } } // to load the minimiser takes longer than all else
      const order = { folder, cache: 'varve', options, config, output, loader: at }
      const { failure, changed } = await runProgram<{ failure: string | null; changed: string[] }>(BUILD, order, {
        cwd: folder,
      })
      expect(failure).toBe(null)
      return { built: existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').sort() : [], changed }
    },
  }
}

const SEVERAL = fileURLToPath(new URL('several.mjs', import.meta.url))
const CACHES = fileURLToPath(new URL('caches.mjs', import.meta.url))
const ALL = ['a.js', 'b.js', 'main.js']
const NOTHING = { built: [], changed: [] }

afterEach(() => {
  delete process.env['WORD']
})

/** Puts what a server answers into each module, which it asks once. */
const asksServer = (url: string): string => `const fs = require('node:fs')
const { basename, join } = require('node:path')
let held
module.exports = function (source) {
  const done = this.async()
  fs.appendFileSync('.runs-cache', basename(this.resourcePath) + '\\n')
  held ??= fetch('${url}').then((answer) => answer.text())
  held.then((word) => done(null, source + '\\nconsole.log(' + JSON.stringify(word) + ')'), done)
}
`

it('what a loader asks a server is asked in each build, and other loaders get their modules from the cache', async () => {
  const server = createServer((_, answer) => answer.end('answer'))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  try {
    const files = { 'loader.cjs': asksServer(`http://127.0.0.1:${port}/`) }
    const project = makeProject('', files)
    expect((await project.build()).built).toEqual(ALL)
    expect((await project.build()).built).toEqual(ALL)
    project.write('loader.cjs', loaderOf(''))
    expect((await project.build()).built).toEqual(ALL)
    expect((await project.build()).built).toEqual([])
  } finally {
    server.close()
  }
})

describe('after a change everything is built again, and the reason is named:', () => {
  it(
    'everything is built after a link leads elsewhere, and after a directory takes the place of a file',
    slow,
    async () => {
      const looks =
        "word = held ??= [fs.realpathSync(join(__dirname, 'current')), fs.statSync(join(__dirname, 'thing')).isFile()]"
      const project = makeProject(looks, { 'one/x': '', 'two/x': '', thing: '' })
      const current = join(project.folder, 'current')
      symlinkSync('one', current)
      expect(await project.build()).toEqual({ built: ALL, changed: [] })
      expect(await project.build()).toEqual(NOTHING)
      rmSync(current)
      symlinkSync('two', current)
      expect(await project.build()).toEqual({ built: ALL, changed: ['current'] })
      rmSync(join(project.folder, 'thing'))
      mkdirSync(join(project.folder, 'thing'))
      expect(await project.build()).toEqual({ built: ALL, changed: ['thing'] })
      expect(await project.build()).toEqual(NOTHING)
    },
  )

  it('everything is built after a change of a file that a loader reads once and keeps in memory', slow, async () => {
    const project = makeProject("word = held ??= fs.readFileSync(join(__dirname, '.wordrc'), 'utf8')", {
      '.wordrc': 'one',
    })
    expect(await project.build()).toEqual({ built: ALL, changed: [] })
    expect(await project.build()).toEqual(NOTHING)
    project.write('.wordrc', 'two')
    expect(await project.build()).toEqual({ built: ALL, changed: ['.wordrc'] })
    expect(await project.build()).toEqual(NOTHING)
  })

  it(
    'everything is built after a change of a package.json that a loader keeps in memory and the application imports',
    slow,
    async () => {
      const files = {
        'package.json': '{ "words": "one" }',
        'main.js': "import './a.js'\nimport './b.js'\nimport './package.json'\n",
      }
      const project = makeProject(
        "word = held ??= JSON.parse(fs.readFileSync(join(__dirname, 'package.json'), 'utf8')).words",
        files,
      )
      expect(await project.build()).toEqual({ built: ALL, changed: [] })
      expect(await project.build()).toEqual(NOTHING)
      project.write('package.json', '{ "words": "two" }')
      expect(await project.build()).toEqual({ built: ALL, changed: ['package.json'] })
    },
  )

  it('everything is built after a file appears that a loader did not find', slow, async () => {
    const project = makeProject("word = held ??= String(fs.existsSync(join(__dirname, '.wordrc')))")
    expect(await project.build()).toEqual({ built: ALL, changed: [] })
    expect(await project.build()).toEqual(NOTHING)
    project.write('.wordrc', '')
    expect(await project.build()).toEqual({ built: ALL, changed: ['.wordrc'] })
  })

  it('everything is built after a change in a folder that a loader lists', slow, async () => {
    const project = makeProject("word = held ??= fs.readdirSync(join(__dirname, 'words')).join()", { 'words/one': '' })
    expect(await project.build()).toEqual({ built: ALL, changed: [] })
    project.write('words/one', 'another content')
    expect(await project.build()).toEqual(NOTHING)
    project.write('words/two', '')
    expect(await project.build()).toEqual({ built: ALL, changed: ['words'] })
  })

  it('everything is built after a change of an environment variable that a loader reads', slow, async () => {
    const project = makeProject("word = process.env.WORD ?? 'none'")
    expect(await project.build()).toEqual({ built: ALL, changed: [] })
    expect(await project.build()).toEqual(NOTHING)
    process.env['WORD'] = 'one'
    expect(await project.build()).toEqual({ built: ALL, changed: ['WORD'] })
    expect(await project.build()).toEqual(NOTHING)
  })

  // webpack counts a file as read by itself if its own file system reads it, and loaders may use that, too. What it holds in memory it does not read.
  it.each([
    ['readFileSync', "word = held ??= String(this.fs.readFileSync(join(__dirname, '.wordrc')))", '.wordrc'],
    [
      'readFile',
      "this.fs.readFile(join(__dirname, '.wordrc'), (error, text) => done(null, source + '\\n//! ' + (held ??= text)))",
      '.wordrc',
    ],
    [
      'readJson',
      "this.fs.readJson(join(__dirname, '.wordrc'), (error, text) => done(null, source + '\\n//! ' + (held ??= text)))",
      '.wordrc',
    ],
    ['readdirSync', "word = held ??= this.fs.readdirSync(join(__dirname, 'words')).join()", 'words'],
    [
      'stat',
      "this.fs.stat(join(__dirname, 'gone'), (error) => done(null, source + '\\n//! ' + (held ??= error === null)))",
      'gone',
    ],
  ])(
    'everything is built after a change of what a loader reads once with %s of this.fs',
    slow,
    async (_, read, changed) => {
      const project = makeProject(read.includes('done(') ? `const done = this.async(); return ${read}` : read, {
        '.wordrc': '1',
        'words/one': '',
      })
      expect(await project.build()).toEqual({ built: ALL, changed: [] })
      expect(await project.build()).toEqual(NOTHING)
      for (const [file, text] of Object.entries({ '.wordrc': '2', 'words/two': '', gone: '' }))
        project.write(file, text)
      expect(await project.build()).toEqual({ built: ALL, changed: [changed] })
      expect(await project.build()).toEqual(NOTHING)
    },
  )

  const STARTS = `const { execFileSync } = require('node:child_process')
  word = String(execFileSync(process.execPath, ['-p', "fs.readFileSync('.wordrc', 'utf8')"]))`

  it('the modules of a loader of the project that starts a process are built each time', async () => {
    const project = makeProject(STARTS, { '.wordrc': 'one' })
    expect(await project.build()).toEqual({ built: ALL, changed: [] })
    expect(await project.build()).toEqual({ built: ALL, changed: [] })
  })

  it('the results of a loader of a package that starts a process are stored, and what it reads there counts if it is reported', async () => {
    const build = async (report: string): Promise<unknown> => {
      const files = { '.wordrc': 'one', 'node_modules/starts/package.json': '{ "name": "starts", "version": "1.0.0" }' }
      const project = makeProject(STARTS + report, files, 'node_modules/starts/loader.cjs')
      expect(await project.build()).toEqual({ built: ALL, changed: [] })
      expect(await project.build()).toEqual(NOTHING)
      project.write('.wordrc', 'two')
      return await project.build()
    }
    expect(await build('')).toEqual(NOTHING)
    expect(await build("\n  this.addDependency(join(process.cwd(), '.wordrc'))")).toEqual({ built: ALL, changed: [] })
  })

  it('everything is built after a change of a module that a loader requires while it runs', slow, async () => {
    const project = makeProject("word = require('./words/' + 'one.cjs')", {
      'words/one.cjs': "module.exports = 'one'\n",
    })
    expect(await project.build()).toEqual({ built: ALL, changed: [] })
    expect(await project.build()).toEqual(NOTHING)
    project.write('words/one.cjs', "module.exports = 'two'\n")
    expect(await project.build()).toEqual({ built: ALL, changed: ['words/one.cjs'] })
  })

  it('everything is built after a change of a loader or of a build dependency', slow, async () => {
    const project = makeProject("word = 'one'", { 'named.json': '1' })
    const build = async (): Promise<readonly string[]> =>
      (await project.build({ buildDependencies: { named: ['./named.json'] } })).changed
    expect([await build(), await build()]).toEqual([[], []])
    project.write('loader.cjs', loaderOf("word = 'two'"))
    expect(await build()).toEqual(['loader.cjs'])
    project.write('named.json', '2')
    expect(await build()).toEqual(['named.json'])
  })

  it('everything is built after a change of a package that a loader requires', slow, async () => {
    const project = makeProject("word = require('words')", {
      'node_modules/words/package.json': '{ "name": "words", "version": "1.0.0" }',
      'node_modules/words/index.js': "module.exports = 'one'\n",
    })
    expect(await project.build()).toEqual({ built: ALL, changed: [] })
    project.write('node_modules/words/package.json', '{ "name": "words", "version": "1.0.1" }')
    expect(await project.build()).toEqual({ built: ALL, changed: ['node_modules/words/package.json'] })
  })

  // A workspace gets a version of its own: `npm install` puts it before the one of the root. Babel finds its plugins in both of these ways.
  it.each([
    ['require', "word = require(require.resolve('words', { paths: [from] }))"],
    [
      'a look at the directory',
      `
      const { dirname } = require('node:path')
      for (let folder = from; word === ''; folder = dirname(folder)) {
        const found = join(folder, 'node_modules/words')
        if (fs.statSync(found, { throwIfNoEntry: false })?.isDirectory()) word = require(found)
      }`,
    ],
  ])('everything is built after a package appears that is nearer to a workspace, found by %s', async (_, find) => {
    const wordsIn = (folder: string, version: string): Record<string, string> => ({
      [`${folder}node_modules/words/package.json`]: `{ "name": "words", "version": "${version}" }`,
      [`${folder}node_modules/words/index.js`]: `module.exports = '${version}'\n`,
    })
    const project = makeProject(`const from = join(__dirname, 'packages/a'); ${find}`, {
      'packages/a/package.json': '{}',
      ...wordsIn('', '1.0.0'),
    })
    expect(await project.build()).toEqual({ built: ALL, changed: [] })
    expect(await project.build()).toEqual(NOTHING)
    for (const [path, text] of Object.entries(wordsIn('packages/a/', '2.0.0'))) project.write(path, text)
    expect((await project.build()).built).toEqual(ALL)
    expect(await project.build()).toEqual(NOTHING)
    rmSync(join(project.folder, 'packages/a/node_modules'), { recursive: true })
    expect(readFileSync(join(project.folder, 'dist/main.js'), 'utf8')).toContain('2.0.0')
    await project.build()
    expect(readFileSync(join(project.folder, 'dist/main.js'), 'utf8')).toContain('1.0.0')
  })
})

it.each([
  ['reads', "try { word = fs.readFileSync('request.txt', 'utf8') } catch {}"],
  ['looks for', "word = String(fs.existsSync('request.txt'))"],
  ['lists', "try { word = fs.readdirSync('request.txt').join() } catch {}"],
])('a module is built again once a file is there that its loader %s and removes in vain', async (_, read) => {
  const { build, write } = makeProject(`${read}; fs.rmSync('request.txt', { recursive: true, force: true })`)
  expect([(await build()).built, await build()]).toEqual([ALL, NOTHING])
  write(read.includes('readdir') ? 'request.txt/one.txt' : 'request.txt', 'all')
  expect((await build()).built).toContain('main.js')
})

it('what a loader reads and removes is not stored with any module, because the loader may have it in memory for all', async () => {
  const take = `held ??= fs.existsSync('request.txt') ? fs.readFileSync('request.txt', 'utf8') : 'unasked'
  if (held !== 'unasked') fs.writeFileSync('log.txt', held)
  fs.rmSync('request.txt', { force: true })
  word = held`
  const { build, folder, write } = makeProject(take)
  const word = (): string[] => [
    ...new Set(readFileSync(join(folder, 'dist/main.js'), 'utf8').match(/unasked|requested/g)),
  ]
  expect([(await build()).built, await build(), word()]).toEqual([ALL, NOTHING, ['unasked']])
  write('request.txt', 'requested')
  expect([(await build()).built, word()]).toEqual([ALL, ['requested']])
  expect([(await build()).built, word()]).toEqual([ALL, ['unasked']])
})

it('a cache in a folder that a loader lists does not change that folder', slow, async () => {
  const project = makeProject(
    "word = fs.readdirSync(join(__dirname, 'words')).filter((name) => name !== 'cache').join()",
    { 'words/one': '' },
  )
  const options = { dir: join(project.folder, 'words/cache') }
  expect(await project.build(options)).toEqual({ built: ALL, changed: [] })
  expect(existsSync(options.dir)).toBe(true)
  expect(await project.build(options)).toEqual(NOTHING)
})

it.each(['is removed before each build', 'stays'])(
  'a loader that lists the directory around the output has hits: the output %s',
  slow,
  async (way) => {
    const listed = "word = fs.readdirSync(join(__dirname, 'words')).filter((name) => name !== 'out').join()"
    const project = makeProject(`${listed} // ${way}`, { 'words/one': '' })
    const out = join(project.folder, 'words/out')
    const build = () => project.build({}, 'words/out')
    expect(await build()).toEqual({ built: ALL, changed: [] })
    expect(existsSync(out)).toBe(true)
    if (way !== 'stays') rmSync(out, { recursive: true })
    expect(await build()).toEqual(NOTHING)
    project.write('words/two', '')
    expect((await build()).built).toEqual(ALL)
  },
)

it('a source that a loader reads for another module without a report is an input of all, because it may keep it', async () => {
  const project = makeProject(
    "if (/a\\.js$/.test(this.resourcePath)) word = fs.readFileSync(join(__dirname, 'b.js'), 'utf8')",
  )
  expect(await project.build()).toEqual({ built: ALL, changed: [] })
  expect(await project.build()).toEqual(NOTHING)
  project.write('b.js', 'console.log(3)\n')
  expect(await project.build()).toEqual({ built: ALL, changed: ['b.js'] })
})

it('settings that a loader keeps in memory, and that the application imports, are an input of all', async () => {
  const body = `if (!/json$/.test(this.resourcePath)) word = held ??= fs.readFileSync(join(__dirname, 'theme.json'), 'utf8')`
  const project = makeProject(body, {
    'theme.json': '"one"',
    'main.js': "import './a.js'\nimport './b.js'\nimport theme from './theme.json'\nconsole.log(theme)\n",
  })
  expect(await project.build()).toEqual({ built: ALL, changed: [] })
  expect(await project.build()).toEqual(NOTHING)
  project.write('theme.json', '"two"')
  expect(await project.build()).toEqual({ built: ALL, changed: ['theme.json'] })
})

it(
  'a source that a loader reports is a dependency of the reading module only, also if the application imports it',
  slow,
  async () => {
    const body = `if (!/a\\.js$/.test(this.resourcePath)) return source
  const path = join(__dirname, 'b.js')
  this.addDependency(path)
  word = fs.readFileSync(path, 'utf8')`
    const project = makeProject(body)
    expect(await project.build()).toEqual({ built: ALL, changed: [] })
    project.write('b.js', 'console.log(3)\n')
    expect(await project.build()).toEqual({ built: ['a.js', 'b.js'], changed: [] })
  },
)

it('a source that a loader reads once webpack has built it is an input of all, too', async () => {
  const body = `if (!/a\\.js$/.test(this.resourcePath)) return source
  const done = this.async()
  setTimeout(() => done(null, source + '\\nconsole.log(' + JSON.stringify(fs.readFileSync(join(__dirname, 'b.js'), 'utf8')) + ')'), 300)
  return`
  const project = makeProject(body)
  expect(await project.build()).toEqual({ built: ALL, changed: [] })
  project.write('b.js', 'console.log(3)\n')
  expect(await project.build()).toEqual({ built: ALL, changed: ['b.js'] })
})

it('a file that a loader reports is a dependency of its module only', slow, async () => {
  const body = `if (!/a\\.js$/.test(this.resourcePath)) return source
  const path = join(__dirname, 'a.txt')
  this.addDependency(path)
  word = fs.readFileSync(path, 'utf8')`
  const project = makeProject(body, { 'a.txt': 'one' })
  expect(await project.build()).toEqual({ built: ALL, changed: [] })
  project.write('a.txt', 'two')
  expect(await project.build()).toEqual({ built: ['a.js'], changed: [] })
})

it('with trackReads: false, what a loader reads without reporting it is not an input', slow, async () => {
  const project = makeProject("word = fs.readFileSync(join(__dirname, '.wordrc'), 'utf8') + process.env.WORD", {
    '.wordrc': 'one',
  })
  expect(await project.build({ trackReads: false })).toEqual({ built: ALL, changed: [] })
  project.write('.wordrc', 'two')
  process.env['WORD'] = 'one'
  expect(await project.build({ trackReads: false })).toEqual(NOTHING)
})

describe('several configs at a time', () => {
  it(
    'a script that removes the outputs of all configs before it builds them gets all modules from the cache',
    slow,
    async () => {
      const { folder } = makeProject('', { 'dist/one/main.js': '', 'dist/two/main.js': '' })
      const build = async (): Promise<{ hits: number; misses: number; changed: string[] }[]> => {
        const { all } = await runProgram<{ all: { hits: number; misses: number; changed: string[] }[] }>(
          SEVERAL,
          { folder },
          { cwd: folder },
        )
        return all
      }
      for (const { hits } of await build()) expect(hits).toBe(0)
      for (const { hits, ...rest } of await build()) {
        expect(hits).toBeGreaterThan(0)
        expect(rest).toEqual({ misses: 0, changed: [] })
      }
    },
  )

  it(
    'a script that reads the cache of one compiler before it builds with another cache gets all modules from that one',
    slow,
    async () => {
      const { folder } = makeProject('', {})
      const build = () =>
        runProgram<{ hits: number; misses: number; changed: string[] }>(CACHES, { folder }, { cwd: folder })
      expect((await build()).hits).toBe(0)
      rmSync(join(folder, 'caches/one'), { recursive: true })
      const { hits, ...rest } = await build()
      expect(hits).toBeGreaterThan(0)
      expect(rest).toEqual({ misses: 0, changed: [] })
    },
  )

  it(
    'what loaders read in a build with trackReads: false does not count for another build of the same process',
    slow,
    async () => {
      const { folder, write } = makeProject("word = fs.readFileSync(join(__dirname, '.wordrc'), 'utf8')", {
        '.wordrc': 'one',
      })
      const order = { folder, first: { trackReads: false } }
      const build = () =>
        runProgram<{ hits: number; misses: number; changed: string[] }>(CACHES, order, { cwd: folder })
      expect((await build()).hits).toBe(0)
      write('.wordrc', 'two')
      const { hits, ...rest } = await build()
      expect(hits).toBeGreaterThan(0)
      expect(rest).toEqual({ misses: 0, changed: [] })
    },
  )
})
