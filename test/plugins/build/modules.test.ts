/** The walk through the local modules of a config: which files it finds, and how often it looks for each. */
import fs, { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { uninstallReads } from 'varve/reads'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { callers, localModules } from '../../../packages/plugins/dist/build/modules.js'
import { namedIn } from '../../../packages/plugins/dist/build/named.js'
import { makeFolder } from '../../folders.ts'

/** Modules that import the same file, linked package, missing package and builtin modules. */
const IMPORTS = `import './shared.js'\nimport 'linked'\nimport 'missing'\nimport 'path'\nimport 'fs/promises'\n`

const OWN = {
  name: 'own',
  exports: { './*': './lib/*.js' },
  imports: { '#in/*': { default: './in/*.js' }, '#one': './one.js' },
}

const FILES: Readonly<Record<string, string>> = {
  'a.js': `${IMPORTS}import './b'\n`,
  'b.js': IMPORTS,
  'deep/c.js': IMPORTS.replace('./', '../'),
  'shared.js': `import './absent'\nexport default process.env.WORD\n`,
  'linked/package.json': '{ "main": "main.js" }',
  'linked/main.js': `import '../shared.js'\n`,
  'own/package.json': JSON.stringify(OWN),
  'own/deep/config.js': `import '#in/part'\nimport '#one'\nimport 'own/two'\nimport '#absent'\n`,
  'own/in/part.js': '',
  'own/one.js': '',
  'own/lib/two.js': '',
  'own/lib/three.js': '',
}

function makeProject(): string {
  const folder = realpathSync(makeFolder())
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(folder, 'linked'), join(folder, 'node_modules/linked'), 'junction')
  return folder
}

/** What `work` asks of the file system, each call once. */
function callsOf(work: () => void): string[] {
  const calls: string[] = []
  const spies = (['statSync', 'readFileSync'] as const).map((name) => {
    const original = fs[name] as (...args: unknown[]) => unknown
    const noted = (...args: unknown[]): unknown => {
      calls.push(`${name === 'statSync' ? 'type' : 'content'} ${String(args[0])}`)
      return original(...args)
    }
    return vi.spyOn(fs, name).mockImplementation(noted as never)
  })
  try {
    work()
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return calls
}

describe('local modules', () => {
  afterEach(() => {
    uninstallReads()
    vi.useRealTimers()
  })

  it.each([
    [
      `module.exports = { plugins: ['./a.js', ["@in/b", { plugins: './no', length: 2 }], isTest && 'module:c'] }`,
      ['./a.js', '@in/b', 'c'],
    ],
    [
      "presets.push('a'); plugins = [ // it's './no'\n './b', copy('./no'), require.resolve(`../e`)]",
      ['a', './b', '../e'],
    ],
    [`presets: [(a ? './a' : './b')]`, ['./a', './b']],
    ['{"env": {"test": {"plugins": [["./a"], ["alias", {"root": ["./no"]}], "@in"]}}}', ['./a', 'alias', '@in']],
    [`plugins: a ? ['./a'] : ['./b'], other: ['./no']`, ['./a', './b']],
    [`plugins: ['`, []],
    [`{"extends": "./base.json", "plugins": []}`, ['./base.json']],
    [`configFile: require.resolve('./babel.js')`, ['./babel.js']],
    [`function presets() { return './no' }`, []],
  ])('plugins of Babel that a config names: %s', (text, names) => {
    expect(namedIn(text).filter((name) => !name.includes('babel-'))).toEqual(names)
  })

  it('plugins in lists that a config of Babel makes are found; directories of sources are none', () => {
    const folder = makeProject()
    const alias = `[['alias', { '@': './own/lib', '@own': './own' }]]`
    const list =
      "require.resolve(`./deep/c`), join(__dirname, 'own', 'in/part.js'), `${import.meta.dirname}/own/one.js`"
    writeFileSync(
      join(folder, 'babel.config.js'),
      `const own = () => ["./b.js", ${list}]\nexport default { plugins: own().concat(${alias}) }`,
    )
    const found = localModules([join(folder, 'babel.config.js')]).paths.map((path) => path.slice(folder.length + 1))
    expect(found).toEqual(expect.arrayContaining(['b.js', 'deep/c.js', 'own/in/part.js', 'own/one.js']))
    expect(found.filter((path) => path.startsWith('own/lib') || path === 'own/package.json')).toEqual([])
  })

  it('the walk finds plugins of Babel that configs name, by the names that Babel gives to packages', () => {
    const folder = makeProject()
    const plugin = join(folder, 'node_modules/@in/babel-plugin')
    mkdirSync(dirname(plugin), { recursive: true })
    symlinkSync(join(folder, 'linked'), plugin, 'junction')
    writeFileSync(join(folder, '.babelrc'), '{ "plugins": ["@in", "./b"] }')
    const found = ['.babelrc', 'b.js', 'linked/main.js', 'linked/package.json', 'shared.js']
    expect(localModules([join(folder, '.babelrc')]).paths).toEqual(found.map((name) => join(folder, name)))
  })

  it('an import of a directory with a manifest finds its entry point', () => {
    const folder = makeProject()
    writeFileSync(join(folder, 'a.js'), `require('./linked')\n`)
    writeFileSync(join(folder, 'linked/index.js'), '')
    const found = ['a.js', 'linked/index.js', 'linked/main.js', 'linked/package.json', 'shared.js']
    expect(localModules([join(folder, 'a.js')]).paths).toEqual(found.map((name) => join(folder, name)))
  })

  it('an address of a file on another host is no local module', () => {
    const folder = makeProject()
    writeFileSync(join(folder, 'a.js'), `import('file://host/b.js')\nimport './b.js?query'\n`)
    expect(localModules([join(folder, 'a.js')]).paths).toEqual([join(folder, 'a.js')])
  })

  it('the walk finds files, linked packages and variables, but no builtin modules', () => {
    const folder = makeProject()
    const { paths, variables } = localModules([join(folder, 'a.js'), join(folder, 'deep/c.js')])
    const found = ['a.js', 'b.js', 'deep/c.js', 'linked/main.js', 'linked/package.json', 'shared.js']
    expect(paths).toEqual(found.map((name) => join(folder, name)))
    expect(variables).toEqual(['WORD'])
  })

  it.each([
    [
      `use(process.env.ONE, process.env['TWO'], process.env["THREE"], process.env?.FOUR)`,
      ['FOUR', 'ONE', 'THREE', 'TWO'],
    ],
    [`const { ONE, TWO: two, THREE = 'x', ...rest } = process.env`, ['ONE', 'THREE', 'TWO']],
    [`const {\n  ONE, // comment\n  'TWO': two,\n} = process.env`, ['ONE', 'TWO']],
    [`const { env } = process\nuse(env.ONE, env['TWO'])`, ['ONE', 'TWO']],
    [
      `import process, { env as variables } from 'node:process'\nconst { ONE } = variables\nuse(variables.TWO)`,
      ['ONE', 'TWO'],
    ],
    [`import { env } from 'process'\nif ('ONE' in env) use(env.TWO)`, ['ONE', 'TWO']],
    [`const { pid, env: { ONE, TWO } } = process`, ['ONE', 'TWO']],
    [`const env = process.env\nuse(env.ONE)`, ['ONE']],
  ])('the walk finds the variables that a module reads: %s', (code, names) => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'a.js'), code)
    expect(localModules([join(folder, 'a.js')]).variables).toEqual(names)
  })

  it('the walk follows the names that a package has for its own files', () => {
    const folder = join(makeProject(), 'own')
    const { paths } = localModules([join(folder, 'deep/config.js')])
    expect(paths).toEqual(
      ['deep/config.js', 'in/part.js', 'lib/two.js', 'one.js', 'package.json'].map((name) => join(folder, name)),
    )
  })

  it.each(['mjs', 'cjs'])(
    'the callers of a wrapper are found in a folder with spaces and parentheses: %s',
    async (end) => {
      const folder = join(realpathSync(makeFolder()), 'my app (copy)')
      mkdirSync(folder)
      const path = join(folder, `config.${end}`)
      writeFileSync(path, end === 'mjs' ? 'export default (ask) => ask()' : 'module.exports = (ask) => ask()')
      const { default: config }: { default: (ask: typeof callers) => string[] } = await import(pathToFileURL(path).href)
      expect(config(callers)).toContain(path)
    },
  )

  it('a config of many modules does not slow down each compiler: the walk looks once for what all of them import', () => {
    const folder = makeProject()
    const calls = callsOf(() => localModules([join(folder, 'a.js'), join(folder, 'deep/c.js')]))
    const timesOf = (path: string): number => calls.filter((call) => call === `type ${join(folder, path)}`).length
    expect(timesOf('shared.js')).toBe(2) // found once, and looked at once before it is read
    expect(timesOf('absent.js')).toBe(1)
    expect(timesOf('node_modules/missing')).toBe(1)
    expect(timesOf('node_modules/path')).toBe(0)
    expect(timesOf('linked/main.js')).toBe(3) // found as an entry of its package, from each of two directories
  })

  it('many compilers of a process read a config once, until it changes', () => {
    const folder = makeProject()
    const roots = [join(folder, 'a.js')]
    const walk = (): string[] => callsOf(() => localModules(roots)).filter((call) => /^content .*\.js$/.test(call))
    const found = localModules(roots)
    expect(walk()).toContain(`content ${roots[0]}`) // it may change again within one tick of the clock
    vi.useFakeTimers({ now: Date.now() + 10_000, toFake: ['Date'] })
    expect(walk()).toContain(`content ${roots[0]}`)
    expect(walk()).toEqual([])
    expect(localModules(roots)).toEqual(found)
    writeFileSync(join(folder, 'shared.js'), 'process.env.OTHER')
    vi.useFakeTimers({ now: Date.now() + 10_000, toFake: ['Date'] })
    expect(walk()).toEqual([`content ${join(folder, 'shared.js')}`])
    expect(localModules(roots).variables).toEqual(['OTHER'])
  })
})
