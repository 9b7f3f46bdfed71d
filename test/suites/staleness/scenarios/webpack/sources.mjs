// @ts-check
// Sources, and what decides how they resolve.
import { GREETING } from '../parts.mjs'

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const SOURCES = [
  {
    name: 'files that decide how a request resolves',
    files: {
      'webpack.config.cjs': `module.exports = {
          mode: 'production',
          entry: './src/main.js',
          resolve: { extensions: ['.ts', '.js', '.json'], alias: { al: require('path').resolve('src/al') } }
        }`,
      'src/main.js': `import { g } from './g'
        import a from 'al'
        import { m } from './dir'
        console.log(g, a, m)`,
      'src/g.js': "export const g = 'js'",
      'src/al.js': "export default 'al'",
      'src/dir/index.js': "export const m = 'index'",
      'tsconfig.json': '{}',
    },
    steps: {
      'file with earlier extension': [['write', 'src/g.ts', "export const g = 'ts'"]],
      'gone again': [['remove', 'src/g.ts']],
      'folder gets package.json with main': [
        ['write', 'src/dir/package.json', '{ "main": "o.js" }'],
        ['write', 'src/dir/o.js', "export const m = 'o'"],
      ],
      'main changed': [
        ['write', 'src/dir/package.json', '{ "main": "o2.js" }'],
        ['write', 'src/dir/o2.js', "export const m = 'o2'"],
      ],
      'sideEffects false in own package': [
        ['write', 'package.json', '{ "name": "app", "version": "1.0.0", "sideEffects": false }'],
        [
          'write',
          'src/main.js',
          `import { g } from './g'
          import a from 'al'
          import './dir'
          console.log(g, a)`,
        ],
      ],
      'sideEffects true': [['write', 'package.json', '{ "name": "app", "version": "1.0.0", "sideEffects": true }']],
      'type module': [
        ['write', 'package.json', '{ "name": "app", "version": "1.0.0", "type": "module", "sideEffects": true }'],
      ],
      'file instead of folder': [['write', 'src/dir.js', "console.log('dir.js')"]],
    },
  },
  {
    name: 'require.context and import() with an expression',
    files: {
      'webpack.config.cjs': "module.exports = { mode: 'production', entry: './src/main.js' }",
      'src/main.js': String.raw`const c = require.context('./ctx', true, /\.js$/)
        console.log(c.keys().map(c))
        const n = location.hash
        import('./lang/' + n + '.js')`,
      'src/ctx/a.js': 'module.exports = 1',
      'src/lang/en.js': 'export default 1',
    },
    steps: {
      'file added': [['write', 'src/ctx/b.js', 'module.exports = 2']],
      'file in new folder': [['write', 'src/ctx/n/c.js', 'module.exports = 3']],
      'file removed': [['remove', 'src/ctx/a.js']],
      'dynamic import target added': [['write', 'src/lang/de.js', 'export default 2']],
      'dynamic import target renamed': [
        ['remove', 'src/lang/de.js'],
        ['write', 'src/lang/fr.js', 'export default 2'],
      ],
    },
  },
  {
    name: 'assets, a worker and the limit for inlining',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: {
            rules: [
              { test: /\.svg$/, type: 'asset' },
              { test: /\.txt$/, type: 'asset/source' },
              { test: /\.bin$/, type: 'asset/resource' }
            ]
          }
        }`,
      'src/main.js': `import s from './a.svg'
        import t from './t.txt'
        import b from './b.bin'
        console.log(s, t, b, new URL('./u.png', import.meta.url))
        new Worker(new URL('./w.js', import.meta.url))`,
      'src/a.svg': '<svg/>',
      'src/t.txt': 'text',
      'src/b.bin': 'bin',
      'src/u.png': 'png',
      'src/w.js': `import { h } from './h.js'
        postMessage(h)`,
      'src/h.js': 'export const h = 1',
    },
    steps: {
      'grows over inline limit': [['write', 'src/a.svg', '<svg>' + 'x'.repeat(9000)]],
      shrinks: [['write', 'src/a.svg', '<svg>2']],
      others: [
        ['write', 'src/t.txt', 'text2'],
        ['write', 'src/b.bin', 'bin2'],
        ['write', 'src/u.png', 'png2'],
        ['write', 'src/h.js', 'export const h = 2'],
      ],
    },
  },
  {
    name: 'files of the same size and time, in production mode',
    files: {
      'webpack.config.cjs': "module.exports = { mode: 'production', entry: './src/main.js' }",
      ...GREETING,
    },
    start: [
      ['age', 'src/main.js'],
      ['age', 'src/g.js'],
    ],
    steps: {
      // An old time: webpack reads a file whose time is younger than two seconds before a build, however fast the builds follow.
      'same size, other time': [
        ['replace', 'src/g.js', 'hello', 'jello'],
        ['age', 'src/g.js'],
      ],
      'same size, same time': [['replaceKeepingTime', 'src/g.js', 'jello', 'cello']],
      'touch only': [['age', 'src/g.js']],
    },
    limits: { 'same size, same time': 'webpack reads a file again only if its time differs' },
  },
  {
    name: 'files of the same size and time, in development mode',
    files: {
      'webpack.config.cjs': "module.exports = { mode: 'development', entry: './src/main.js' }",
      ...GREETING,
    },
    start: [
      ['age', 'src/main.js'],
      ['age', 'src/g.js'],
    ],
    steps: {
      // An old time: webpack reads a file whose time is younger than two seconds before a build, however fast the builds follow.
      'same size, other time': [
        ['replace', 'src/g.js', 'hello', 'jello'],
        ['age', 'src/g.js'],
      ],
      'same size, same time': [['replaceKeepingTime', 'src/g.js', 'jello', 'cello']],
      'touch only': [['age', 'src/g.js']],
    },
    limits: { 'same size, same time': 'webpack reads a file again only if its time differs' },
  },
  {
    name: 'errors, warnings, and modules that are missing',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: { rules: [{ test: /g\.js$/, use: ['./l.cjs'] }] },
          performance: { hints: 'warning', maxAssetSize: 10 }
        }`,
      'src/main.js': `import { greet, nothing } from './g.js'
        console.log(greet('w'), nothing)`,
      'l.cjs': `module.exports = function (s) {
          this.emitWarning(new Error('from loader'))
          this.emitFile('side.txt', s.slice(0, 20))
          if (s.includes('BAD')) this.emitError(new Error('bad thing'))
          return s
        }`,
    },
    steps: {
      'syntax error': [['write', 'src/g.js', 'export const greet=n=>{{']],
      still: [],
      fixed: [
        [
          'write',
          'src/g.js',
          `export const greet = (n) => n
          export const nothing = 2`,
        ],
      ],
      emitError: [
        [
          'write',
          'src/g.js',
          `export const greet = (n) => 'BAD'
          export const nothing = 2`,
        ],
      ],
      'missing module': [
        [
          'write',
          'src/g.js',
          `import './gone.js'
          export const greet = (n) => n
          export const nothing = 2`,
        ],
      ],
      'missing module appears': [['write', 'src/gone.js', "console.log('here')"]],
      'missing package': [['write', 'src/gone.js', "import 'nopkg'"]],
      'missing package appears': [
        ['write', 'node_modules/nopkg/package.json', '{ "name": "nopkg", "version": "1.0.0" }'],
        ['write', 'node_modules/nopkg/index.js', 'console.log(1)'],
      ],
    },
  },
]
