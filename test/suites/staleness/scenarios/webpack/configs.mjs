// @ts-check
// Configs and loaders of the project, and what they read.
import { GREETING } from '../parts.mjs'

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const CONFIGS = [
  {
    name: 'environment variables that the config reads',
    files: {
      'src/main.js': "import { greet } from './g.js'\n console.log(greet('w'))",
      'src/g.js': "export const greet = (n) => 'hello ' + n + COMMIT",
      'webpack.config.cjs': `const { DefinePlugin } = require('webpack')
        module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: {
            rules: [
              { test: /main\\.js$/, use: [{ loader: './l.cjs', options: { word: process.env.WORD ?? 'one' } }] },
              { test: /g\\.js$/, use: [{ loader: './f.cjs', options: { f: (s) => s.replace('hello', process.env.GREETING ?? 'hello') } }] },
            ],
          },
          plugins: [new DefinePlugin({ COMMIT: JSON.stringify(process.env.COMMIT ?? 'none') })],
        }`,
      'l.cjs': "module.exports = function (s) { return s.replace('w', this.getOptions().word) }",
      'f.cjs': 'module.exports = function (s) { return this.getOptions().f(s) }',
    },
    steps: {
      'an option of a loader': [['env', 'WORD', 'two']],
      'a value of DefinePlugin': [['env', 'COMMIT', 'abc']],
      'a variable that a function in the config reads while loaders run': [['env', 'GREETING', 'bye']],
    },
  },
  {
    name: 'a config with a function and a loader of the project',
    files: {
      'webpack.config.cjs': String.raw`const webpack = require('webpack')
        module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: {
            rules: [
              { test: /g\.js$/, use: [{ loader: './l.cjs', options: { f: (s) => s.replace('hello', 'VALUE1') } }] }
            ]
          }
        }`,
      ...GREETING,
      'l.cjs': `module.exports = function (s) {
          return this.getOptions().f(s)
        }`,
    },
    steps: {
      'function in config': [['replace', 'webpack.config.cjs', 'VALUE1', 'VALUE2']],
      loader: [['replace', 'l.cjs', 'f(s)', String.raw`f(s)+"\nexport const added=console.log(1)"`]],
    },
  },
  {
    name: 'a config and a loader that require modules of the project',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: { rules: [{ test: /g\.js$/, use: [{ loader: './l.cjs', options: { f: require('./h1.cjs') } }] }] }
        }`,
      ...GREETING,
      'h1.cjs': "module.exports = require('./h2.cjs')",
      'h2.cjs': `const w = require('./w.json').w
        module.exports = (s) => s.replace('hello', w)`,
      'w.json': '{ "w": "one" }',
      'l.cjs': `const x = require('./l2.cjs')
        module.exports = function (s) {
          return x(this.getOptions().f(s))
        }`,
      'l2.cjs': 'module.exports = (s) => s',
    },
    steps: {
      'json that helper imports': [['write', 'w.json', '{ "w": "two" }']],
      'import of loader': [['write', 'l2.cjs', "module.exports = (s) => s.replace('two', 'three')"]],
    },
  },
  {
    name: 'a config and a loader that are ES modules',
    config: 'webpack.config.mjs',
    files: {
      ...GREETING,
      'webpack.config.mjs': `import f from './h.mjs'
        const { g } = await import('./h3.mjs')
        export default {
          mode: 'production',
          entry: './src/main.js',
          module: { rules: [{ test: /g.js$/, use: [{ loader: './l.mjs', options: { f: (s) => g(f(s)) } }] }] }
        }`,
      'h.mjs': `import w from './w.mjs'
        export default (s) => s.replace('hello', w)`,
      'w.mjs': "export default 'one'",
      'h3.mjs': 'export const g = (s) => s',
      'l.mjs': `import x from './l2.mjs'
        export default function (s) {
          return x(this.getOptions().f(s))
        }`,
      'l2.mjs': 'export default (s) => s',
    },
    steps: {
      'esm import of import': [['write', 'w.mjs', "export default 'two'"]],
      'dynamic import': [['write', 'h3.mjs', "export const g = (s) => s.replace('two', 'three')"]],
      'esm loader import': [['write', 'l2.mjs', "export default (s) => s.replace('three', 'four')"]],
    },
  },
  {
    name: 'a config that reads a file through node:fs',
    files: {
      'webpack.config.cjs': String.raw`const fs = require('fs')
        module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: {
            rules: [
              {
                test: /g\.js$/,
                use: [
                  {
                    loader: './l.cjs',
                    options: { f: (s) => s.replace('hello', fs.readFileSync('./value.txt', 'utf8')) }
                  }
                ]
              }
            ]
          }
        }`,
      ...GREETING,
      'value.txt': 'one',
      'l.cjs': `module.exports = function (s) {
          return this.getOptions().f(s)
        }`,
    },
    steps: {
      'file that config reads with fs (function in options)': [['write', 'value.txt', 'two']],
    },
  },
  {
    name: 'a loader that reads files and the environment',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: { rules: [{ test: /g\.js$/, use: ['./l.cjs'] }] }
        }`,
      ...GREETING,
      'value.txt': 'one',
      'dep.txt': 'A',
      'l.cjs': `const fs = require('fs')
        module.exports = function (s) {
          this.addDependency(require('path').resolve('dep.txt'))
          return s.replace(
            'hello',
            fs.readFileSync('./value.txt', 'utf8') + fs.readFileSync('./dep.txt', 'utf8') + process.env.WORD
          )
        }`,
    },
    steps: {
      'file without addDependency': [['write', 'value.txt', 'two']],
      'file with addDependency': [['write', 'dep.txt', 'B']],
      'environment variable in loader': [['env', 'WORD', 'env']],
    },
  },
  {
    name: 'an environment variable in the version of the cache',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          cache: { version: String(process.env.WORD) },
          module: { rules: [{ test: /g\.js$/, use: ['./l.cjs'] }] }
        }`,
      ...GREETING,
      'l.cjs': `module.exports = function (s) {
          return s.replace('hello', process.env.WORD)
        }`,
    },
    steps: {
      'env in version': [['env', 'WORD', 'b']],
      'env in version back': [['env', 'WORD']],
    },
  },
  {
    name: 'a loader from a package with a dependency',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: { rules: [{ test: /g\.js$/, use: ['my-loader'] }] }
        }`,
      ...GREETING,
      'node_modules/my-loader/package.json':
        '{ "name": "my-loader", "version": "1.0.0", "dependencies": { "my-dep": "*" } }',
      'node_modules/my-loader/index.js': `const d = require('my-dep')
        module.exports = (s) => s.replace('hello', d)`,
      'node_modules/my-dep/package.json': '{ "name": "my-dep", "version": "1.0.0" }',
      'node_modules/my-dep/index.js': "module.exports = 'one'",
    },
    steps: {
      'dependency of loader: version bump': [
        ['write', 'node_modules/my-dep/package.json', '{ "name": "my-dep", "version": "1.0.1" }'],
        ['write', 'node_modules/my-dep/index.js', "module.exports = 'two'"],
      ],
      'loader: version bump': [
        [
          'write',
          'node_modules/my-loader/package.json',
          '{ "name": "my-loader", "version": "1.0.1", "dependencies": { "my-dep": "*" } }',
        ],
        [
          'write',
          'node_modules/my-loader/index.js',
          `const d = require('my-dep')
          module.exports = (s) => s.replace('hello', d + '3')`,
        ],
      ],
      'nested copy of dependency appears': [
        [
          'write',
          'node_modules/my-loader/node_modules/my-dep/package.json',
          '{ "name": "my-dep", "version": "2.0.0" }',
        ],
        ['write', 'node_modules/my-loader/node_modules/my-dep/index.js', "module.exports = 'nested'"],
      ],
      'loader: content without version (unsupported by webpack)': [
        [
          'write',
          'node_modules/my-loader/index.js',
          `const d = require('my-dep')
          module.exports = (s) => s.replace('hello', d + '5')`,
        ],
      ],
    },
  },
  {
    name: 'DefinePlugin.runtimeValue and what it reads',
    files: {
      'webpack.config.cjs': `const webpack = require('webpack'),
          fs = require('fs')
        module.exports = {
          mode: 'production',
          entry: './src/main.js',
          plugins: [
            new webpack.DefinePlugin({
              A: webpack.DefinePlugin.runtimeValue(() => JSON.stringify(fs.readFileSync('a.txt', 'utf8')), {
                fileDependencies: [require('path').resolve('a.txt')]
              }),
              B: webpack.DefinePlugin.runtimeValue(() => JSON.stringify(fs.readFileSync('b.txt', 'utf8')), {
                version: () => fs.readFileSync('b.txt', 'utf8')
              }),
              C: webpack.DefinePlugin.runtimeValue(() => JSON.stringify(fs.readFileSync('c.txt', 'utf8')), true),
              D: JSON.stringify(fs.readFileSync('d.txt', 'utf8'))
            })
          ]
        }`,
      'src/main.js': 'console.log(A, B, C, D)',
      'a.txt': 'a',
      'b.txt': 'b',
      'c.txt': 'c',
      'd.txt': 'd',
    },
    steps: {
      a: [['write', 'a.txt', 'a2']],
      b: [['write', 'b.txt', 'b2']],
      c: [['write', 'c.txt', 'c2']],
      d: [['write', 'd.txt', 'd2']],
    },
  },
]
