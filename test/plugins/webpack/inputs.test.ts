/** Files that decide how a compiler is configured, wherever they are: a change of one is a full miss. */
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { runProgram } from '../programs.ts'
import { slow } from '../../slow.ts'

const SCRIPT = fileURLToPath(new URL('script.mjs', import.meta.url))

interface Built {
  readonly built: number
  readonly error: string | null
}

/** What the order loads; `changed` is the file whose word changes. */
interface Case {
  readonly files: Readonly<Record<string, string>>
  readonly order: object
  readonly changed: string
}

/** Modules of which each loads the next one when it is asked for it: in none of them does a load begin another one. */
const CHAIN = Object.fromEntries(
  Array.from({ length: 6000 }, (_, index) => [
    `chain/${index}.cjs`,
    `exports.next = () => require('./${index + 1}.cjs')\n`,
  ]),
)

const CASES: Readonly<Record<string, Case>> = {
  'a config that webpack-cli was made to extend': {
    files: { 'webpack.config.mjs': 'export default () => ""\n', 'base.config.mjs': "export default () => 'one'\n" },
    order: { imports: ['webpack.config.mjs', 'base.config.mjs'], cli: ['webpack.config.mjs', 'base.config.mjs'] },
    changed: 'base.config.mjs',
  },
  'a config in .webpack that webpack-cli found': {
    files: { '.webpack/webpack.config.mjs': "export default () => 'one'\n" },
    order: { imports: ['.webpack/webpack.config.mjs'], cli: ['.webpack/webpack.config.mjs'] },
    changed: '.webpack/webpack.config.mjs',
  },
  'a module that another module required first': {
    files: {
      'first.cjs': "require('./shared.cjs')\n",
      'config.cjs': "module.exports = require('./shared.cjs')\n",
      'shared.cjs': "exports.word = 'one'\n",
    },
    order: { requires: ['first.cjs', 'config.cjs'] },
    changed: 'shared.cjs',
  },
  'a module at the end of thousands that load each other one by one': {
    files: {
      ...CHAIN,
      'chain/6000.cjs': "exports.word = 'one'\n",
      'config.cjs': `let last = require('./chain/0.cjs')\nwhile (last.next) last = last.next()\nexports.word = last.word\n`,
    },
    order: { requires: ['config.cjs'] },
    changed: 'chain/6000.cjs',
  },
  'the file that makes the plugin': {
    files: {
      'make.mjs': `export default ({ VarveWebpackPlugin }) => {
        globalThis.made = new VarveWebpackPlugin({ dir: import.meta.dirname + '/cache' })
        return 'one'
      }`,
    },
    order: { imports: ['make.mjs'] },
    changed: 'make.mjs',
  },
}

const build = (folder: string, order: object): Promise<Built> =>
  runProgram(SCRIPT, { folder, ...order }, { cwd: folder })

function makeProject(files: Readonly<Record<string, string>>): string {
  const folder = makeFolder()
  const common = {
    'main.js': "import './part.js'\nconsole.log('WORD')\n",
    'part.js': 'console.log(1)\n',
    'loader.cjs': 'module.exports = function (text) { return this.getOptions().change(text) }\n',
  }
  for (const [name, text] of Object.entries({ ...common, ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

it.each(Object.entries(CASES))('%s', slow, async (_name, { files, order, changed }) => {
  const folder = makeProject(files)
  expect(await build(folder, order)).toEqual({ built: 2, error: null })
  expect(await build(folder, order)).toEqual({ built: 0, error: null })
  const file = join(folder, changed)
  writeFileSync(file, readFileSync(file, 'utf8').replace("'one'", "'two'"))
  expect(await build(folder, order)).toEqual({ built: 2, error: null })
  expect(readFileSync(join(folder, 'dist', 'main.js'), 'utf8')).toContain('two')
})

it(
  'modules are built anew if the config removes a file that it has read, because only the process knows what it was',
  slow,
  async () => {
    const config = `const fs = require('node:fs')
exports.word = fs.readFileSync(__dirname + '/request.txt', 'utf8')
fs.rmSync(__dirname + '/request.txt')
`
    const folder = makeProject({ 'config.cjs': config })
    for (const [word, built] of [
      ['one', 2],
      ['one', 2],
      ['two', 2],
    ] as const) {
      writeFileSync(join(folder, 'request.txt'), word)
      expect(await build(folder, { requires: ['config.cjs'] })).toEqual({ built, error: null })
      expect(readFileSync(join(folder, 'dist', 'main.js'), 'utf8')).toContain(word)
    }
  },
)

describe('a config that starts another program', () => {
  const write = (name: string): string =>
    `require('node:child_process').execFileSync(process.execPath, ['--eval', "fs.writeFileSync('${name}', 'of the other program')"])`

  it('which replaces a file that the config has read: the file counts as it was read', slow, async () => {
    const folder = makeProject({
      'config.cjs': `exports.word = require('node:fs').readFileSync('request.txt', 'utf8')\n${write('request.txt')}\n`,
    })
    for (const word of ['one', 'two']) {
      writeFileSync(join(folder, 'request.txt'), word)
      expect(await build(folder, { requires: ['config.cjs'] })).toEqual({ built: 2, error: null })
      expect(readFileSync(join(folder, 'dist', 'main.js'), 'utf8')).toContain(word)
    }
  })

  it('which makes a file that the config has not found: modules are built anew', slow, async () => {
    const config = `const isThere = require('node:fs').existsSync('made.txt')
exports.word = isThere ? 'one' : 'two'
if (!isThere) ${write('made.txt')}
`
    const folder = makeProject({ 'config.cjs': config })
    for (const [word, built] of [
      ['two', 2],
      ['one', 2],
      ['one', 0],
      ['two', 2],
    ] as const) {
      if (word === 'two') rmSync(join(folder, 'made.txt'), { force: true })
      expect(await build(folder, { requires: ['config.cjs'] })).toEqual({ built, error: null })
      expect(readFileSync(join(folder, 'dist', 'main.js'), 'utf8')).toContain(word)
    }
  })
})

it('a program that lists and removes an old cache has hits in the next build', slow, async () => {
  const config = `const fs = require('node:fs')
const old = __dirname + '/cache/v1/old'
if (fs.existsSync(old)) {
  fs.readdirSync(__dirname + '/cache/v1')
  fs.rmSync(old)
  fs.rmSync(__dirname + '/cache', { recursive: true })
}
`
  const folder = makeProject({ 'config.cjs': config, 'cache/v1/old': '' })
  expect(await build(folder, { requires: ['config.cjs'] })).toEqual({ built: 2, error: null })
  expect(await build(folder, { requires: ['config.cjs'] })).toEqual({ built: 0, error: null })
})

describe('a package that a config can do without is an input while it is not installed', () => {
  const CONFIGS: Readonly<Record<string, readonly [file: string, text: string]>> = {
    'by require': ['config.cjs', "exports.word = 'none'\ntry { exports.word = require('@scope/word') } catch {}\n"],
    'by require.resolve': [
      'config.cjs',
      "exports.word = 'none'\ntry { require.resolve('@scope/word/more'); exports.word = 'installed' } catch {}\n",
    ],
    'by import': [
      'config.mjs',
      "const found = await import('@scope/word').catch(() => ({ default: 'none' }))\nexport default () => found.default\n",
    ],
  }

  it.each(Object.entries(CONFIGS))('%s', slow, async (_name, [file, text]) => {
    const folder = makeProject({ [file]: text })
    const order = file.endsWith('.mjs') ? { imports: [file] } : { requires: [file] }
    const ofPackage = {
      'package.json': '{ "name": "@scope/word", "version": "1.0.0" }',
      'index.js': "module.exports = 'installed'\n",
      'more.js': '',
    }
    const home = join(folder, 'node_modules/@scope/word')
    const install = (): void => {
      mkdirSync(home, { recursive: true })
      for (const [name, content] of Object.entries(ofPackage)) writeFileSync(join(home, name), content)
    }
    for (const [word, built] of [
      ['none', 2],
      ['none', 0],
      ['installed', 2],
      ['installed', 0],
      ['none', 0], // as in the first environment
    ] as const) {
      if (word === 'installed') install()
      else rmSync(home, { recursive: true, force: true })
      expect(await build(folder, order)).toEqual({ built, error: null })
      expect(readFileSync(join(folder, 'dist', 'main.js'), 'utf8')).toContain(word)
    }
  })
})

it('trackReads: false counts only what is named', slow, async () => {
  const { files, order, changed } = CASES['a config that webpack-cli was made to extend'] ?? {
    files: {},
    order: {},
    changed: '',
  }
  const folder = makeProject(files)
  const options = { trackReads: false, buildDependencies: { config: [join(folder, 'webpack.config.mjs')] } }
  expect((await build(folder, { ...order, options })).built).toBe(2)
  appendFileSync(join(folder, changed), '// changed\n')
  expect((await build(folder, { ...order, options })).built).toBe(0)
  appendFileSync(join(folder, 'webpack.config.mjs'), '// changed\n')
  expect((await build(folder, { ...order, options })).built).toBe(2)
})
