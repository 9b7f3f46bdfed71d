/**
 * Small projects in the manner of webpack's own examples, each about something that a cache could get wrong. A project is
 * its files; `webpack.config.mjs` is made of the text of a configuration.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Text of a configuration, or of several in brackets, and the files. */
export interface Project {
  readonly config: string
  readonly files: Readonly<Record<string, string>>
}

/** Writes a project. `webpack`, `folder` and `join` can be used in its configuration. */
export function writeProject(folder: string, { config, files }: Project): void {
  const text = `import { join } from 'node:path'\nexport default ({ folder, webpack }) => (${config})\n`
  const all = { 'package.json': '{ "name": "project", "version": "1.0.0" }', ...files, 'webpack.config.mjs': text }
  for (const [name, content] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
}

const vendors = Object.fromEntries(
  ['left', 'right', 'both'].map((name) => [
    `node_modules/${name}/index.js`,
    `export const ${name} = '${name} '.repeat(3)\nexport default function of(count) { return ${name}.repeat(count) }\n`,
  ]),
)

/** A plugin that runs a child compiler and emits what it built under another name, as those for HTML do. */
const CHILD_PLUGIN = `{
  apply(compiler) {
    compiler.hooks.make.tapAsync('child', (compilation, callback) => {
      const child = compilation.createChildCompiler('page', { filename: 'page.js' })
      new webpack.EntryPlugin(compiler.context, './page.js', { name: 'page' }).apply(child)
      child.runAsChild((error, entries, built) => {
        if (error) return callback(error)
        compilation.hooks.processAssets.tap('child', () => {
          const size = String(built.assets['page.js'].size())
          compilation.emitAsset('page.txt', new webpack.sources.RawSource('page of ' + size + ' bytes'))
        })
        callback()
      })
    })
  },
}`

const LOADER_WITH_REMARKS = `module.exports = function (source) {
  this.emitWarning(new Error('a word of warning about ' + require('node:path').basename(this.resourcePath)))
  this.emitFile('emitted/' + require('node:path').basename(this.resourcePath) + '.txt', 'emitted by a loader')
  return source
}`

/** Every project by what it is about. */
export const PROJECTS: Readonly<Record<string, Project>> = {
  'code splitting': {
    config: `{
      entry: { a: './a.js', b: './b.js' },
      output: { filename: '[name].[contenthash].js', chunkFilename: '[name].[chunkhash].js' },
      optimization: { runtimeChunk: 'single', splitChunks: { chunks: 'all', minSize: 0 } },
    }`,
    files: {
      ...vendors,
      'a.js': `import { left } from 'left'
        import { both } from 'both'
        console.log(left, both)
        import(/* webpackChunkName: 'later' */ './later.js').then(console.log)`,
      'b.js':
        "import { right } from 'right'\nimport of from 'both'\nconsole.log(right, of(2))\nimport('./later.js').then(console.log)\n",
      'later.js': "import { both } from 'both'\nexport default () => both + 'later'\n",
    },
  },
  'externals and a library': {
    config: `{
      entry: './main.js',
      externals: { outside: 'commonjs outside', global: 'root Global' },
      output: { library: { name: 'Library', type: 'umd' }, globalObject: 'this' },
    }`,
    files: {
      'main.js':
        "import outside from 'outside'\nimport global from 'global'\nexport const answer = () => outside(global)\n",
    },
  },
  'a DLL and its user': {
    config: `[
      { name: 'dll', entry: { dll: ['./shared.js'] }, output: { library: 'dll' },
        plugins: [new webpack.DllPlugin({ name: 'dll', path: join(folder, 'dist', 'dll.json') })] },
      { name: 'app', dependencies: ['dll'], entry: './main.js', output: { filename: 'app.js' },
        plugins: [new webpack.DllReferencePlugin({ context: folder, manifest: join(folder, 'dist', 'dll.json') })] },
    ]`,
    files: {
      'shared.js': "export const shared = 'shared'\n",
      'main.js': "import { shared } from './shared.js'\nconsole.log(shared)\n",
    },
  },
  'module federation': {
    config: `{
      entry: './main.js', output: { uniqueName: 'host', publicPath: 'auto' },
      plugins: [new webpack.container.ModuleFederationPlugin({ name: 'host', filename: 'remote.js',
        exposes: { './part': './part.js' }, remotes: { other: 'other@other.js' }, shared: { both: { requiredVersion: false } } })],
    }`,
    files: {
      ...vendors,
      'node_modules/both/package.json': '{ "name": "both", "version": "1.0.0", "type": "module", "main": "index.js" }',
      'main.js': "import('./start.js')\n",
      'start.js': "import { both } from 'both'\nimport('other/part').then((part) => console.log(part, both))\n",
      'part.js': "import of from 'both'\nexport default () => of(3)\n",
    },
  },
  'CSS and assets': {
    config: `{
      entry: './main.js', experiments: { css: true }, output: { assetModuleFilename: 'asset-[hash][ext]' },
      module: { rules: [
        { test: /\\.svg$/, type: 'asset/resource' }, { test: /\\.png$/, type: 'asset/inline' }, { test: /\\.txt$/, type: 'asset/source' },
      ] },
    }`,
    files: {
      'main.js': `import './style.css'
        import * as local from './local.module.css'
        import image from './image.svg'
        import pixel from './pixel.png'
        import text from './text.txt'
        console.log(local.box, image, pixel, text)`,
      'style.css': "@import './base.css';\nbody { background: url('./image.svg') }\n",
      'base.css': 'html { color: teal }\n',
      'local.module.css': '.box { color: red }\n',
      'image.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
      'pixel.png': 'no pixel at all',
      'text.txt': 'plain text',
    },
  },
  workers: {
    config: "{ entry: './main.js', output: { filename: '[name].js', chunkFilename: '[id].js' } }",
    files: {
      'main.js':
        "import { shared } from './shared.js'\nnew Worker(new URL('./worker.js', import.meta.url)).postMessage(shared)\n",
      'worker.js': "import { shared } from './shared.js'\nself.onmessage = () => self.postMessage(shared)\n",
      'shared.js': "export const shared = 'shared'\n",
    },
  },
  'top-level await': {
    config:
      "{ entry: './main.js', experiments: { topLevelAwait: true, outputModule: true }, output: { module: true, library: { type: 'module' } } }",
    files: {
      'main.js': "import { value } from './value.js'\nexport const doubled = value * 2\n",
      'value.js': 'export const value = await Promise.resolve(21)\n',
    },
  },
  'side effects and tree shaking': {
    config:
      "{ entry: './main.js', optimization: { concatenateModules: true, usedExports: true, moduleIds: 'deterministic' } }",
    files: {
      'main.js': "import { used } from 'tree'\nimport { alone } from './lonely.js'\nconsole.log(used, alone)\n",
      'lonely.js': "export const alone = 1\nexport const unused = 'not in the bundle'\nconsole.log('a side effect')\n",
      'node_modules/tree/package.json':
        '{ "name": "tree", "version": "1.0.0", "sideEffects": false, "main": "index.js", "type": "module" }',
      'node_modules/tree/index.js': "export { used } from './used.js'\nexport { unused } from './unused.js'\n",
      'node_modules/tree/used.js': "export const used = 'used'\n",
      'node_modules/tree/unused.js': "export const unused = 'unused'\nconsole.log('never')\n",
    },
  },
  'source maps': {
    config: `{ entry: './main.js', devtool: 'source-map', mode: 'development',
      module: { rules: [{ test: /part\\.js$/, use: [join(folder, 'loader.cjs')] }] } }`,
    files: {
      'main.js': "import { part } from './part.js'\nconsole.log(part)\n",
      'part.js': "export const part = 'part'\n",
      'loader.cjs': `module.exports = function (source) {
        const map = { version: 3, sources: ['original.txt'], sourcesContent: ['the original'], names: [], mappings: 'AAAA' }
        this.callback(null, '/* made */' + source, map)
      }`,
    },
  },
  'context modules': {
    config: "{ entry: './main.js', output: { chunkFilename: '[id].js' } }",
    files: {
      'main.js': `const all = require.context('./words', true, /\\.js$/)
        console.log(all.keys().map(all))
        export const load = (word) => import('./words/' + word + '.js')`,
      'words/one.js': 'module.exports = 1\n',
      'words/two.js': 'module.exports = 2\n',
      'words/deep/three.js': 'module.exports = 3\n',
    },
  },
  JSON: {
    config: "{ entry: './main.js' }",
    files: {
      'main.js':
        "import { used } from './data.json'\nimport whole from './whole.json' with { type: 'json' }\nconsole.log(used, whole)\n",
      'data.json': '{ "used": [1, 2, { "deep": true }], "unused": "never" }',
      'whole.json': '{ "a": 1, "__proto__": { "b": 2 } }',
    },
  },
  'defined, provided and banners': {
    config: `{ entry: './main.js', output: { filename: 'bundle.[contenthash].js' }, plugins: [
      new webpack.DefinePlugin({ VERSION: JSON.stringify('1.2.3'), 'process.env.FLAG': 'true' }),
      new webpack.ProvidePlugin({ both: ['both', 'both'] }), new webpack.BannerPlugin('a banner') ] }`,
    files: { ...vendors, 'main.js': "if (process.env.FLAG) console.log(VERSION, both)\nelse console.log('gone')\n" },
  },
  'a child compiler': {
    config: `{ entry: './main.js', plugins: [${CHILD_PLUGIN}] }`,
    files: {
      'main.js': "console.log('main')\n",
      'page.js': "import { part } from './part.js'\nconsole.log(part)\n",
      'part.js': "export const part = 'part'\n",
    },
  },
  'warnings and files of a loader': {
    config: "{ entry: './main.js', module: { rules: [{ test: /part\\.js$/, use: [join(folder, 'loader.cjs')] }] } }",
    files: {
      'main.js': "import { part } from './part.js'\nconsole.log(part)\nrequire(part)\n",
      'part.js': "export const part = 'part'\n",
      'loader.cjs': LOADER_WITH_REMARKS,
    },
  },
  'two configurations that look the same': {
    config: `[
      { entry: './main.js', output: { filename: 'one.js' }, plugins: [new webpack.DefinePlugin({ WHICH: '1' })] },
      { entry: './main.js', output: { filename: 'two.js' }, plugins: [new webpack.DefinePlugin({ WHICH: '2' })] },
    ]`,
    files: {
      'main.js': "import { part } from './part.js'\nconsole.log(part, WHICH)\n",
      'part.js': "export const part = WHICH + ' part'\n",
    },
  },
}
