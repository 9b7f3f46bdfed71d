// @ts-check
// Rollup, Rolldown and esbuild.
import { PLUGIN, WORDS } from '../parts.mjs'

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const ROLLUP = [
  {
    name: 'Rollup: options and the source',
    tool: 'rollup',
    files: {
      ...WORDS,
      'build.config.mjs': `import fs from 'node:fs'
        import { cached } from '@varve/plugins/rollup'
        import { plug } from './plug.mjs'
        export default (on) => {
          const plugin = plug({ word: 'one' })
          return {
            input: 'src/main.js',
            plugins: [
              on ? cached(plugin, { cacheKey: { word: 'one' }, onStats: (s) => globalThis.varveStats.push(s) }) : plugin
            ]
          }
        }`,
      'plug.mjs': PLUGIN,
    },
    steps: {
      'option and key': [['replace', 'build.config.mjs', "'one'", "'two'"]],
      'source same size and time': [
        ['age', 'src/a.js'],
        ['replaceKeepingTime', 'src/a.js', "'a WORD'", "'b WORD'"],
      ],
    },
  },
  {
    name: 'Rollup: a function in the key',
    tool: 'rollup',
    files: {
      ...WORDS,
      'build.config.mjs': `import fs from 'node:fs'
        import { cached } from '@varve/plugins/rollup'
        import { plug } from './plug.mjs'
        export default (on) => {
          const plugin = plug({ f: () => 'one' })
          return {
            input: 'src/main.js',
            plugins: [
              on ? cached(plugin, { cacheKey: { f: () => 'one' }, onStats: (s) => globalThis.varveStats.push(s) }) : plugin
            ]
          }
        }`,
      'plug.mjs': PLUGIN,
    },
    steps: {
      'no key': [['replace', 'build.config.mjs', "{ f: () => 'one' }, onStats", 'undefined, onStats']],
    },
    limits: {
      'first build': 'a function in the key cannot be compared, so cached() throws',
      again: 'a function in the key cannot be compared, so cached() throws',
    },
  },
  {
    name: 'Rollup: a Babel config and a .browserslistrc',
    tool: 'rollup',
    folder: 'app',
    files: {
      'app/package.json': '{ "name": "app", "version": "1.0.0", "type": "module" }',
      'app/build.config.mjs': `import fs from 'node:fs'
        import { cached } from '@varve/plugins/rollup'
        import { babel } from '@rollup/plugin-babel'
        export default (on) => {
          const plugin = babel({
            babelHelpers: 'bundled',
            include: 'src/**/*.js',
            presets: [['@babel/preset-env', { modules: false }]]
          })
          return {
            input: 'src/main.js',
            plugins: [on ? cached(plugin, { cacheKey: 'b', onStats: (s) => globalThis.varveStats.push(s) }) : plugin]
          }
        }`,
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
      'babel.config.cjs in the root': [
        ['write', 'app/babel.config.cjs', "module.exports = { plugins: [require('./bp.cjs')] }"],
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
      'what babel.config.cjs requires': [
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
  {
    name: 'Rolldown: options and the source',
    tool: 'rolldown',
    files: {
      ...WORDS,
      'build.config.mjs': `import fs from 'node:fs'
        import { cached } from '@varve/plugins/rolldown'
        import { plug } from './plug.mjs'
        export default (on) => {
          const plugin = plug({ word: 'one' })
          return {
            input: 'src/main.js',
            plugins: [
              on ? cached(plugin, { cacheKey: { word: 'one' }, onStats: (s) => globalThis.varveStats.push(s) }) : plugin
            ]
          }
        }`,
      'plug.mjs': PLUGIN,
    },
    steps: {
      'option and key': [['replace', 'build.config.mjs', "'one'", "'two'"]],
      source: [['replace', 'src/a.js', 'a WORD', 'b WORD']],
    },
  },
  {
    name: 'esbuild: watched files and build options',
    tool: 'esbuild',
    files: {
      ...WORDS,
      'build.config.mjs': String.raw`import fs from 'node:fs'
        import { cached } from '@varve/plugins/esbuild'
        export default (on) => {
          const plugin = {
            name: 'p',
            setup({ onLoad }) {
              onLoad({ filter: /src.*\.js$/ }, ({ path }) => ({
                contents: fs.readFileSync(path, 'utf8').replace('WORD', fs.readFileSync('w.txt', 'utf8')),
                watchFiles: [process.cwd() + '/w.txt']
              }))
            }
          }
          return {
            entryPoints: ['src/main.js'],
            bundle: true,
            outdir: 'dist',
            plugins: [on ? cached(plugin, { cacheKey: 'k', onStats: (s) => globalThis.varveStats.push(s) }) : plugin],
            minify: !!process.env.MIN,
            define: { Q: process.env.Q ?? '1' },
            tsconfigRaw: { compilerOptions: {} }
          }
        }`,
      'w.txt': 'one',
    },
    start: [
      ['age', 'src/a.js'],
      ['age', 'w.txt'],
    ],
    steps: {
      watchFiles: [['write', 'w.txt', 'two']],
      'source same size and time': [['replaceKeepingTime', 'src/a.js', "'a WORD'", "'b WORD'"]],
      aged: [['age', 'w.txt']],
      'watchFiles same size and time': [['replaceKeepingTime', 'w.txt', 'two', 'wto']],
      define: [['env', 'Q', '2']],
      minify: [['env', 'MIN', '1']],
    },
  },
  {
    name: 'Rollup: a tsconfig.json that extends another',
    tool: 'rollup',
    files: {
      ...WORDS,
      'build.config.mjs': String.raw`import fs from 'node:fs'
        import { cached } from '@varve/plugins/rollup'
        import es from 'rollup-plugin-esbuild'
        export default (on) => {
          const plugin = es({ include: /\.tsx$/, target: 'es2022' })
          return {
            input: 'src/main.js',
            plugins: [on ? cached(plugin, { cacheKey: 'k', onStats: (s) => globalThis.varveStats.push(s) }) : plugin],
            external: ['react']
          }
        }`,
      'src/main.js': `import { c } from './c.tsx'
        console.log(c)`,
      'src/c.tsx': "export const c = <a>{'WORD'}</a>",
      'tsconfig.json': '{ "extends": "./tsconfig.base.json", "compilerOptions": {} }',
      'tsconfig.base.json': '{ "compilerOptions": { "jsx": "react", "jsxFactory": "h" } }',
    },
    steps: {
      'tsconfig.base.json (extends)': [
        ['write', 'tsconfig.base.json', '{ "compilerOptions": { "jsx": "react", "jsxFactory": "preact.h" } }'],
      ],
    },
  },
]
