/**
 * Changes that babel-jest's own key does not have: it names plugins and presets by their paths only. Jest's own cache stays between the
 * runs, because its keys come from the transformer, too.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../../folders.ts'
import { slow } from '../../slow.ts'

const require = createRequire(import.meta.url)
const JEST = require.resolve('jest/bin/jest')
const BABEL_JEST = require.resolve('babel-jest')
const VARVE = fileURLToPath(new URL('../../../packages/plugins/dist/bundle/jest.js', import.meta.url))

/** A plugin that replaces 'WORD'. */
const pluginOf = (word: string): string => `module.exports = () => ({ visitor: {
  StringLiteral({ node }) { if (node.value === 'WORD') node.value = ${word} } } })`

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

/** A project whose test expects the word in the environment. */
function makeProject(
  files: Readonly<Record<string, string>>,
  transformerConfig: object = {},
  declared: { readonly env?: readonly string[]; readonly files?: readonly string[] } = {},
): string {
  const folder = makeFolder()
  const options = { transformer: BABEL_JEST, dir: join(folder, 'cache'), transformerConfig, ...declared }
  const transform = { '\\.js$': [VARVE, options] }
  write(folder, {
    'package.json': '{"name": "project", "version": "1.0.0"}',
    'jest.config.json': JSON.stringify({
      cacheDirectory: join(folder, 'jest-cache'),
      testEnvironment: 'node',
      transform,
    }),
    'module.js': `exports.word = 'WORD'`,
    'word.test.js': `test('word', () => expect(require('./module').word).toBe(process.env.EXPECTED))`,
    ...files,
  })
  return folder
}

/** What Jest found of the word, after a run with that environment. */
function wordOf(folder: string, env: Readonly<Record<string, string>> = {}): string {
  const args = [JEST, '--ci', '--watchman=false', '--runInBand', '--config', join(folder, 'jest.config.json')]
  const { stderr } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, EXPECTED: '', ...env },
  })
  return /Received: *"(.*)"/.exec(stderr)?.[1] ?? stderr
}

interface Changes {
  readonly files: Readonly<Record<string, string>>
  readonly config?: object
  readonly link?: readonly [path: string, target: string]
  readonly change: Readonly<Record<string, string>>
}

const CONFIG = 'module.exports = { plugins: ["./plugin.js"] }'
const LOCK = 'node_modules/.package-lock.json'

const CASES: Readonly<Record<string, Changes>> = {
  'a plugin of the workspace, named in babel.config.js': {
    files: { 'babel.config.js': CONFIG, 'plugin.js': pluginOf('"one"') },
    change: { 'plugin.js': pluginOf('"two"') },
  },
  'a module that a plugin in .babelrc requires': {
    files: {
      '.babelrc': '{ "env": { "test": { "plugins": [["./plugin"]] } } }',
      'plugin.js': pluginOf('require("./word")'),
      'word.js': 'module.exports = "one"',
    },
    change: { 'word.js': 'module.exports = "two"' },
  },
  'a plugin in the options of the transformer': {
    files: { 'plugin.js': pluginOf('"one"') },
    config: { plugins: ['./plugin.js'] },
    change: { 'plugin.js': pluginOf('"two"') },
  },
  'a linked preset': {
    files: {
      'babel.config.json': '{ "presets": ["@acme"] }',
      'preset/package.json': '{ "name": "@acme/babel-preset", "main": "main.js" }',
      'preset/main.js': 'module.exports = () => ({ plugins: [require("./plugin.js")] })',
      'preset/plugin.js': pluginOf('"one"'),
    },
    link: ['node_modules/@acme/babel-preset', 'preset'],
    change: { 'preset/plugin.js': pluginOf('"two"') },
  },
  'a plugin that babel.config.js resolves': {
    files: {
      'babel.config.js': 'module.exports = { plugins: [require.resolve("./plugin")] }',
      'plugin.js': pluginOf('"one"'),
    },
    change: { 'plugin.js': pluginOf('"two"') },
  },
  'a plugin in a list that a function of babel.config.js returns': {
    files: {
      'babel.config.js':
        'const listOf = () => ["./plugin.js"]; module.exports = (api) => (api.cache.never(), { plugins: listOf() })',
      'plugin.js': pluginOf('"one"'),
    },
    change: { 'plugin.js': pluginOf('"two"') },
  },
  'a plugin in a list with a name of its own': {
    files: {
      'babel.config.js': 'const ours = [require.resolve("./plugin.js")]; module.exports = { plugins: [...ours] }',
      'plugin.js': pluginOf('"one"'),
    },
    change: { 'plugin.js': pluginOf('"two"') },
  },
  'a plugin whose path babel.config.js joins': {
    files: {
      'babel.config.js':
        'const { join } = require("path"); module.exports = { plugins: [[join(__dirname, "tools", "plugin.js"), {}]] }',
      'tools/plugin.js': pluginOf('"one"'),
    },
    change: { 'tools/plugin.js': pluginOf('"two"') },
  },
  'a plugin in .babelrc of a package below the directory in which Jest runs': {
    files: {
      'babel.config.json': '{ "babelrcRoots": ["packages/*"] }',
      'packages/a/.babelrc.json': '{ "plugins": ["./plugin.js"] }',
      'packages/a/plugin.js': pluginOf('"one"'),
      'packages/a/package.json': '{}',
      'packages/a/module.js': `exports.word = 'WORD'`,
      'word.test.js': `test('word', () => expect(require('./packages/a/module').word).toBe(process.env.EXPECTED))`,
    },
    change: { 'packages/a/plugin.js': pluginOf('"two"') },
  },
  'an upgraded plugin': {
    files: {
      'babel.config.js': 'module.exports = { plugins: ["words"] }',
      'node_modules/babel-plugin-words/index.js': pluginOf('"one"'),
      [LOCK]: '{"a":1}',
    },
    change: { 'node_modules/babel-plugin-words/index.js': pluginOf('"two"'), [LOCK]: '{"a":2}' },
  },
}

describe('Jest with babel-jest', () => {
  it.each(Object.entries(CASES))('%s: no stale module after its change', slow, (_, { files, config, link, change }) => {
    const folder = makeProject(files, config)
    if (link !== undefined) {
      mkdirSync(dirname(join(folder, link[0])), { recursive: true })
      symlinkSync(join(folder, link[1]), join(folder, link[0]), 'junction')
    }
    expect(wordOf(folder)).toBe('one')
    write(folder, change)
    expect(wordOf(folder)).toBe('two')
    write(folder, files)
    expect(wordOf(folder)).toBe('one')
  })

  it('no stale module after a change of a variable that a plugin of the workspace reads', slow, () => {
    const folder = makeProject({ 'babel.config.js': CONFIG, 'plugin.js': pluginOf('process.env.FLAVOUR') })
    for (const FLAVOUR of ['one', 'two', 'one']) expect(wordOf(folder, { FLAVOUR })).toBe(FLAVOUR)
  })

  /** As react-native-dotenv and transform-inline-environment-variables: no code of the project names what they read. */
  const installed = (word: string): Readonly<Record<string, string>> => ({
    'babel.config.js': 'module.exports = { plugins: ["installed"] }',
    'node_modules/babel-plugin-installed/package.json': '{ "name": "babel-plugin-installed", "version": "1.0.0" }',
    'node_modules/babel-plugin-installed/index.js': pluginOf(word),
  })

  it('a module is stale after a change of a declared variable that an installed plugin reads', slow, () => {
    const folder = makeProject(installed('process.env.FLAVOUR'), {}, { env: ['FLAVOUR'] })
    for (const FLAVOUR of ['one', 'two', 'one']) expect(wordOf(folder, { FLAVOUR })).toBe(FLAVOUR)
  })

  it('a module is stale after a change of a declared file that an installed plugin reads', slow, () => {
    const folder = makeProject(installed('require("node:fs").readFileSync(".env", "utf8")'), {}, { files: ['.env'] })
    for (const word of ['one', 'two', 'one']) {
      write(folder, { '.env': word })
      expect(wordOf(folder)).toBe(word)
    }
  })
})

/** Transforms a text in a process of its own, after `edit`, with a transformer that is made again, and prints the code. */
function codeOf(folder: string, text: string, edit = ''): string {
  const options = { configString: '{}', config: { rootDir: folder, cwd: folder }, instrument: false }
  const script = `
    import { writeFileSync } from 'node:fs'
    import { createTransformer } from ${JSON.stringify(pathToFileURL(VARVE).href)}
    const run = async (text) => {
      const transformer = await createTransformer({ dir: 'cache', transformer: ${JSON.stringify(BABEL_JEST)} })
      return transformer.process(text, ${JSON.stringify(join(folder, 'module.js'))}, ${JSON.stringify(options)}).code
    }
    await run('exports.first = "WORD"')
    ${edit}
    console.log(await run(${JSON.stringify(text)}))`
  return spawnSync(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder, encoding: 'utf8' })
    .stdout
}

it('what the old code of a plugin makes in memory, as in watch mode, is not stored for the new code', () => {
  const folder = makeProject({ 'babel.config.js': CONFIG, 'plugin.js': pluginOf('"one"') })
  const edit = `writeFileSync('plugin.js', ${JSON.stringify(pluginOf('"two"'))})`
  expect(codeOf(folder, 'exports.other = "WORD"', edit)).toContain('one')
  expect(codeOf(folder, 'exports.other = "WORD"')).toContain('two')
})
