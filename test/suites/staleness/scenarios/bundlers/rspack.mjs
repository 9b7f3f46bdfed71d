// @ts-check
// Rspack: loaders and what they read.
import { WORDS } from '../parts.mjs'

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const RSPACK = [
  {
    name: 'Rspack: a loader and its options',
    tool: 'rspack',
    files: {
      ...WORDS,
      'build.config.mjs': String.raw`import { VarveRspackPlugin } from '@varve/plugins/rspack'
        import { createRequire } from 'node:module'
        const require = createRequire(import.meta.url)
        import fs from 'node:fs'
        export default (on) => ({
          mode: 'production',
          context: process.cwd(),
          entry: './src/main.js',
          output: { path: process.cwd() + '/dist' },
          module: {
            rules: [
              {
                test: /src.*\.js$/,
                use: [...(on ? ['@varve/plugins/loader'] : []), { loader: './l.cjs', options: { word: 'one' } }]
              }
            ]
          },
          plugins: on ? [new VarveRspackPlugin({ onStats: (s) => globalThis.varveStats.push(s) })] : []
        })`,
      'l.cjs': `const h = require('./h.cjs')
        module.exports = function (s) {
          this.addDependency(require('path').resolve('w.txt'))
          return h(s.replace('WORD', this.getOptions().word + require('fs').readFileSync('w.txt', 'utf8')))
        }`,
      'h.cjs': "module.exports = (s) => s + '//h1'",
      'w.txt': 'w',
    },
    steps: {
      option: [['replace', 'build.config.mjs', "'one'", "'two'"]],
      dependency: [['write', 'w.txt', 'w2']],
      'loader file': [['replace', 'l.cjs', 'h(s', 'h("console.log(1);"+s']],
      'source same size and time': [['age', 'src/a.js']],
      'source same size and time 2': [['replaceKeepingTime', 'src/a.js', "'a WORD'", "'b WORD'"]],
    },
  },
  {
    name: 'Rspack: a function in the options of a loader',
    tool: 'rspack',
    files: {
      ...WORDS,
      'build.config.mjs': String.raw`import { VarveRspackPlugin } from '@varve/plugins/rspack'
        import { createRequire } from 'node:module'
        const require = createRequire(import.meta.url)
        import fs from 'node:fs'
        export default (on) => ({
          mode: 'production',
          context: process.cwd(),
          entry: './src/main.js',
          output: { path: process.cwd() + '/dist' },
          module: {
            rules: [
              {
                test: /src.*\.js$/,
                use: [
                  ...(on ? ['@varve/plugins/loader'] : []),
                  { loader: './l.cjs', options: { f: (s) => s.replace('WORD', 'one') } }
                ]
              }
            ]
          },
          plugins: on ? [new VarveRspackPlugin({ onStats: (s) => globalThis.varveStats.push(s) })] : []
        })`,
      'l.cjs': `module.exports = function (s) {
          return this.getOptions().f(s)
        }`,
    },
    steps: {
      function: [['replace', 'build.config.mjs', "'one'", "'two'"]],
    },
    limits: { again: 'a function in the options of a loader cannot be compared, so its chain always runs' },
  },
  {
    name: 'Rspack: a loader in a workspace package',
    tool: 'rspack',
    files: {
      ...WORDS,
      'build.config.mjs': String.raw`import { VarveRspackPlugin } from '@varve/plugins/rspack'
        import { createRequire } from 'node:module'
        const require = createRequire(import.meta.url)
        import fs from 'node:fs'
        export default (on) => ({
          mode: 'production',
          context: process.cwd(),
          entry: './src/main.js',
          output: { path: process.cwd() + '/dist' },
          module: {
            rules: [{ test: /src.*\.js$/, use: [...(on ? ['@varve/plugins/loader'] : []), { loader: 'my-loader' }] }]
          },
          plugins: on ? [new VarveRspackPlugin({ onStats: (s) => globalThis.varveStats.push(s) })] : []
        })`,
      'packages/l/package.json': '{ "name": "my-loader", "version": "1.0.0", "main": "l.cjs" }',
      'packages/l/l.cjs': `module.exports = function (s) {
          return s.replace('WORD', 'one')
        }`,
    },
    start: [['link', 'node_modules/my-loader', '../packages/l']],
    steps: {
      'loader in a workspace package edited': [['replace', 'packages/l/l.cjs', "'one'", "'two'"]],
    },
  },
  {
    name: 'Rspack: a Babel config and a .browserslistrc',
    tool: 'rspack',
    folder: 'app',
    files: {
      'app/package.json': '{ "name": "app", "version": "1.0.0", "type": "module" }',
      'app/build.config.mjs': String.raw`import { VarveRspackPlugin } from '@varve/plugins/rspack'
        import { createRequire } from 'node:module'
        const require = createRequire(import.meta.url)
        import fs from 'node:fs'
        export default (on) => ({
          mode: 'production',
          context: process.cwd(),
          entry: './src/main.js',
          output: { path: process.cwd() + '/dist' },
          module: {
            rules: [
              {
                test: /src.*\.js$/,
                use: [
                  ...(on ? ['@varve/plugins/loader'] : []),
                  { loader: 'babel-loader', options: { presets: ['@babel/preset-env'] } }
                ]
              }
            ]
          },
          plugins: on ? [new VarveRspackPlugin({ onStats: (s) => globalThis.varveStats.push(s) })] : []
        })`,
      'app/src/main.js': `import './a.js'
        console.log('WORD')`,
      'app/src/a.js': `export class A {
          #x = 1
          m() {
            return this?.y
          }
        }
        console.log(A)`,
      '.browserslistrc': 'chrome 120',
    },
    steps: {
      '.browserslistrc of the parent folder': [['write', '.browserslistrc', 'ie 11']],
      'babel.config.cjs with plugin file': [
        ['write', 'app/babel.config.cjs', "module.exports = { plugins: ['./bp.cjs'] }"],
        [
          'write',
          'app/bp.cjs',
          `module.exports = () => ({
            visitor: {
              StringLiteral(p) {
                if (p.node.value === 'WORD') p.node.value = 'BP1'
              }
            }
          })`,
        ],
      ],
      'plugin file of babel.config.cjs': [
        [
          'write',
          'app/bp.cjs',
          `module.exports = () => ({
            visitor: {
              StringLiteral(p) {
                if (p.node.value === 'WORD') p.node.value = 'BP2'
              }
            }
          })`,
        ],
      ],
    },
  },
]
