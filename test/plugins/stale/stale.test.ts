/**
 * What plugins read without declaring it: after each change the output is that of a build without cache, and the statistics name
 * what changed. Before a change everything is a hit.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { slow } from '../../slow.ts'
import {
  babelPlugin,
  loadsWord,
  PLUG,
  readsWord,
  rspackFiles,
  startsWithWord,
  viteFiles,
  wrappedFiles,
} from './files.ts'
import { type Stats, StaleProject } from './project.ts'

const BABEL = `import { babel } from '@rollup/plugin-babel'`
const babelWith = (options: string): string => `babel({ babelHelpers: 'bundled', include: 'src/**/*.js', ${options} })`
const PRESET = `presets: [['@babel/preset-env', { modules: false }]]`
const CLASS = 'export class A { #x = 1; m() { return this?.y } }; console.log(A, "WORD")'

/** A project, a change of it, and what the misses after it are put down to. */
interface Row {
  readonly name: string
  readonly project: () => StaleProject
  readonly change: (project: StaleProject) => void
  readonly env?: Readonly<Record<string, string>>
  readonly reason: string
}

/** The same files one folder down, beside others in the folder above. */
function inApp(
  files: Readonly<Record<string, string>>,
  above: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`app/${path}`, text])), ...above }
}

function withWorkspacePlugin(tool: string, files: Record<string, string>): StaleProject {
  const project = new StaleProject(tool, files)
  project.write(
    'packages/plug/package.json',
    '{ "name": "@my/plug", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
  )
  project.write('packages/plug/index.js', `export { plug } from './inner.js'`)
  project.write('packages/plug/inner.js', PLUG)
  project.link('node_modules/@my/plug', '../../packages/plug')
  return project
}

const loadEnv = `plug({ word: loadEnv(mode, process.cwd(), '').SECRET_WORD })`

const rows: readonly Row[] = [
  {
    name: 'Vite: a plugin in a package of the workspace',
    project: () => withWorkspacePlugin('vite', viteFiles(`plug({ word: 'w' })`, `import { plug } from '@my/plug'`)),
    change: (project) => project.replace('packages/plug/inner.js', "'WORD', word", "'WORD', 'EDITED'"),
    reason: 'file packages/plug/inner.js',
  },
  {
    name: 'Vite: JSON that the config reads',
    project: () => {
      const plugin = `plug(JSON.parse(fs.readFileSync('./word.json', 'utf8')))`
      const files = viteFiles(plugin, `import fs from 'node:fs'; import { plug } from './plug.mjs'`)
      return new StaleProject('vite', { ...files, 'plug.mjs': PLUG, 'word.json': '{ "word": "one" }' })
    },
    change: (project) => project.write('word.json', '{ "word": "two" }'),
    reason: 'file word.json',
  },
  {
    name: 'Vite: .env through loadEnv',
    project: () => {
      const files = viteFiles(loadEnv, `import { loadEnv } from 'vite'; import { plug } from './plug.mjs'`)
      return new StaleProject('vite', { ...files, 'plug.mjs': PLUG, '.env': 'SECRET_WORD=one' })
    },
    change: (project) => project.write('.env', 'SECRET_WORD=two'),
    reason: 'file .env',
  },
  {
    name: 'Vite: .env.production appears',
    project: () => {
      const files = viteFiles(loadEnv, `import { loadEnv } from 'vite'; import { plug } from './plug.mjs'`)
      return new StaleProject('vite', { ...files, 'plug.mjs': PLUG, '.env': 'SECRET_WORD=one' })
    },
    change: (project) => project.write('.env.production', 'SECRET_WORD=three'),
    reason: 'file .env.production',
  },
  {
    name: 'Vite: a variable that the config names',
    project: () => {
      const files = viteFiles(`plug({ word: process.env.STALE_WORD ?? '' })`, `import { plug } from './plug.mjs'`)
      return new StaleProject('vite', { ...files, 'plug.mjs': PLUG })
    },
    change: () => undefined,
    env: { STALE_WORD: 'shell' },
    reason: 'env STALE_WORD',
  },
  {
    name: 'Vite: .browserslistrc of the parent folder',
    project: () => {
      const files = { ...viteFiles(babelWith(PRESET), BABEL, 'babel'), 'src/a.js': CLASS }
      return new StaleProject('vite', inApp(files, { '.browserslistrc': 'chrome 120' }), 'app')
    },
    change: (project) => project.write('.browserslistrc', 'ie 11'),
    reason: 'file ../.browserslistrc',
  },
  {
    name: 'Vite: BROWSERSLIST',
    project: () => {
      const files = { ...viteFiles(babelWith(PRESET), BABEL, 'babel'), 'src/a.js': CLASS }
      return new StaleProject('vite', { ...files, '.browserslistrc': 'chrome 120' })
    },
    change: () => undefined,
    env: { BROWSERSLIST: 'ie 11' },
    reason: 'env BROWSERSLIST',
  },
  {
    name: 'Vite: babel.config.json of the parent folder',
    project: () => {
      const files = viteFiles(babelWith(`rootMode: 'upward-optional'`), BABEL, 'babel')
      const above = {
        'babel.config.json': `{ "presets": [["@babel/preset-env", { "modules": false, "targets": "chrome 120" }]] }`,
      }
      return new StaleProject('vite', inApp({ ...files, 'src/a.js': CLASS }, above), 'app')
    },
    change: (project) => project.replace('babel.config.json', 'chrome 120', 'ie 11'),
    reason: 'file ../babel.config.json',
  },
  {
    name: 'Vite: a plugin file that .babelrc.json names',
    project: () => {
      const files = viteFiles(babelWith(''), BABEL, 'babel')
      return new StaleProject('vite', {
        ...files,
        '.babelrc.json': '{ "plugins": ["./bp.cjs"] }',
        'bp.cjs': babelPlugin('one'),
      })
    },
    change: (project) => project.write('bp.cjs', babelPlugin('two')),
    reason: 'file bp.cjs',
  },
  {
    name: 'Vite: what buildStart collects',
    project: () => {
      const plugin = `{ name: 'plug', buildStart() { seen = fs.readdirSync('pages').join() },
        transform(code, id) { return /src.*js$/.test(id) ? { code: code.replace('WORD', seen), map: null } : null } }`
      return new StaleProject('vite', {
        ...viteFiles(plugin, `import fs from 'node:fs'; let seen = ''`),
        'pages/a.js': '',
      })
    },
    change: (project) => project.write('pages/b.js', ''),
    reason: 'list pages',
  },
  {
    name: 'Vite: tsconfig.base.json that tsconfig.json extends',
    project: () => {
      const plugin = `{ name: 'plug', transform(code, id) {
        const read = (name) => JSON.parse(fs.readFileSync(name, 'utf8'))
        const tsconfig = read('tsconfig.json')
        return /src.*js$/.test(id) ? { code: code.replace('WORD', read(tsconfig.extends).compilerOptions.jsxFactory), map: null } : null } }`
      const base = '{ "compilerOptions": { "jsxFactory": "h" } }'
      const tsconfigs = { 'tsconfig.json': '{ "extends": "./tsconfig.base.json" }', 'tsconfig.base.json': base }
      return new StaleProject('vite', { ...viteFiles(plugin, `import fs from 'node:fs'`), ...tsconfigs })
    },
    change: (project) => project.replace('tsconfig.base.json', '"h"', '"preact"'),
    reason: 'file tsconfig.base.json',
  },
  ...(['rollup', 'rolldown'] as const).flatMap((tool): Row[] => [
    {
      name: `${tool}: a local plugin file, its key the same`,
      project: () => {
        const files = wrappedFiles(tool, `plug({ word: 'w' })`, `import { plug } from './plug.mjs'`)
        return new StaleProject(tool, { ...files, 'plug.mjs': PLUG })
      },
      change: (project) => project.replace('plug.mjs', "'WORD', word", "'WORD', 'EDITED'"),
      reason: 'file plug.mjs',
    },
    {
      name: `${tool}: what babel.config.cjs requires`,
      project: () => {
        const configs = {
          'babel.config.cjs': `module.exports = { plugins: [require('./bp.cjs')] }`,
          'bp.cjs': babelPlugin('one'),
        }
        return new StaleProject(tool, { ...wrappedFiles(tool, babelWith(''), BABEL), ...configs })
      },
      change: (project) => project.write('bp.cjs', babelPlugin('two')),
      reason: 'file bp.cjs',
    },
    {
      name: `${tool}: a file that a transform reads`,
      project: () =>
        new StaleProject(tool, { ...wrappedFiles(tool, readsWord, `import fs from 'node:fs'`), 'word.txt': 'one' }),
      change: (project) => project.write('word.txt', 'two'),
      reason: 'file word.txt',
    },
  ]),
  // Vite is loaded before the recorder.
  {
    name: 'Vite: a file that buildStart reads with this.fs',
    project: () => new StaleProject('vite', { ...viteFiles(startsWithWord, `let word`), 'word.txt': 'one' }),
    change: (project) => project.write('word.txt', 'two'),
    reason: 'file word.txt',
  },
  {
    name: 'esbuild: a file read without watchFiles',
    project: () =>
      new StaleProject('esbuild', {
        ...wrappedFiles('esbuild', loadsWord, `import fs from 'node:fs'`),
        'word.txt': 'one',
      }),
    change: (project) => project.write('word.txt', 'two'),
    reason: 'file word.txt',
  },
  {
    name: 'Rspack: what a local loader requires',
    project: () => {
      const loader = `const helper = require('./helper.cjs'); module.exports = (source) => helper(source)`
      const helper = `module.exports = (source) => source.replace('WORD', 'one')`
      return new StaleProject('rspack', {
        ...rspackFiles(`'./loader.cjs'`),
        'loader.cjs': loader,
        'helper.cjs': helper,
      })
    },
    change: (project) => project.replace('helper.cjs', "'one'", "'two'"),
    reason: 'file helper.cjs',
  },
  {
    // Rspack calls each loader outside of the one before, so its reads were not recorded.
    name: 'Rspack: a file that a loader reads, after it has waited',
    project: () => {
      const loader = `module.exports = async function (source) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        return source.replace('WORD', require('node:fs').readFileSync('word.txt', 'utf8'))
      }`
      return new StaleProject('rspack', { ...rspackFiles(`'./loader.cjs'`), 'loader.cjs': loader, 'word.txt': 'one' })
    },
    change: (project) => project.write('word.txt', 'two'),
    reason: 'file word.txt',
  },
  // For the second module, Rspack has it in memory.
  {
    name: 'Rspack: a file that a loader reads with this.fs',
    project: () => {
      const loader = `module.exports = function (source) {
        if (this.resourcePath.endsWith('main.js')) this.addDependency(__dirname + '/word.json')
        return source.replace('WORD', this.fs.readJsonSync(__dirname + '/word.json'))
      }`
      return new StaleProject('rspack', { ...rspackFiles(`'./loader.cjs'`), 'loader.cjs': loader, 'word.json': '1' })
    },
    change: (project) => project.write('word.json', '2'),
    reason: 'file word.json',
  },
  {
    name: 'Rspack: .browserslistrc of the parent folder',
    project: () => {
      const files = {
        ...rspackFiles(`{ loader: 'babel-loader', options: { presets: ['@babel/preset-env'] } }`),
        'src/a.js': CLASS,
      }
      return new StaleProject('rspack', inApp(files, { '.browserslistrc': 'chrome 120' }), 'app')
    },
    change: (project) => project.write('.browserslistrc', 'ie 11'),
    reason: 'input config', // which decides what the output may contain; Rspack looks it up there, too
  },
]

/** One row of most bundlers, without Babel, which needs seconds; the others are slow tests. */
const QUICK = [
  'rollup: a local plugin file, its key the same',
  'rolldown: a file that a transform reads',
  'esbuild: a file read without watchFiles',
  'Rspack: what a local loader requires',
  'Rspack: a file that a loader reads, after it has waited',
]
const isQuick = ({ name }: Row): boolean => QUICK.includes(name)

async function expectMiss({ project: make, change, env, reason }: Row): Promise<void> {
  const project = make()
  await project.warm()
  change(project)
  const changed: Stats = await project.build(env)
  expect(Object.keys(changed.reasons)).toContain(reason)
  expect((await project.build(env)).misses).toBe(0)
}

describe('output is never stale', () => {
  it.each(rows.filter(isQuick))('output is not stale after a change of what a plugin reads: $name', expectMiss)
  it.each(rows.filter((row) => !isQuick(row)))(
    'output is not stale after a change of what a plugin reads: $name',
    slow,
    expectMiss,
  )

  it(
    'output is not stale after components appear, move and go, with a plugin that collects them when the config is resolved',
    slow,
    async () => {
      // The shape of unplugin-vue-components and unplugin-auto-import: a list is made first, and transforms import from it.
      const plugin = `{ name: 'components', configResolved() { found = list('src/components') }, transform(code, id) {
      if (!/main\\.js$/.test(id)) return null
      const imports = Object.entries(found).map(([name, path]) => 'import ' + name + ' from ' + JSON.stringify('/' + path) + '; use(' + name + ')')
      return { code: code + ';' + imports.join(';'), map: null }
    } }`
      const list = `import fs from 'node:fs'; let found = {}
const list = (folder) => Object.fromEntries(fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? Object.entries(list(folder + '/' + entry.name)) : [[entry.name.replace('.js', ''), folder + '/' + entry.name]]))`
      const project = new StaleProject('vite', {
        ...viteFiles(plugin, list, 'components'),
        'src/components/Foo.js': 'export default "foo"',
      })
      await project.warm()
      project.write('src/components/Bar.js', 'export default "bar"')
      expect((await project.build()).reasons).toMatchObject({ 'list src/components': expect.any(Number) })
      project.remove('src/components/Foo.js')
      project.write('src/components/other/Foo.js', 'export default "moved"')
      expect((await project.build()).misses).toBeGreaterThan(0)
      project.remove('src/components/Bar.js')
      expect((await project.build()).misses).toBeGreaterThan(0)
    },
  )

  it.each([
    ['the installed packages', 'node_modules/.package-lock.json'],
    ['a config file', '.browserslistrc'],
  ])(
    'output is not stale after a change of %s while a process rebuilds with the old plugin in memory',
    async (_, input) => {
      // An ES module of a package, which Node.js 20 loads unseen.
      const code = 'node_modules/inner/index.js'
      const project = new StaleProject('esbuild', {
        ...wrappedFiles('esbuild', 'plug', `import { plug } from 'outer'`),
        [input]: 'one',
        'node_modules/outer/package.json':
          '{ "name": "outer", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
        'node_modules/outer/index.js': `export * from 'inner'`,
        'node_modules/inner/package.json':
          '{ "name": "inner", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
        [code]: `import fs from 'node:fs'\nexport const plug = ${loadsWord.replace(`fs.readFileSync('word.txt', 'utf8')`, `'one'`)}`,
      })
      const edited = readFileSync(join(project.folder, code), 'utf8').replace("'one'", "'two'")
      await project.build({
        VARVE_EDITS: JSON.stringify([
          [input, 'two'],
          [code, edited],
        ]),
      })
      expect((await project.build()).misses).toBeGreaterThan(0)
    },
  )
})
