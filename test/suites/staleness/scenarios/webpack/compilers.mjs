// @ts-check
// Several compilers, and one that refers to the output of another.
import { GREETING } from '../parts.mjs'

/**
 * Two configs that look the same, of which one is built at a time.
 * @param {string} name
 * @param {string} variable what decides which
 * @param {Readonly<Record<string, string>>} limits
 * @returns {import('../../scenario.mjs').Scenario}
 */
const oneAtATime = (name, variable, limits) => ({
  name,
  files: {
    'webpack.config.cjs': String.raw`const path = require('path')
      const one = (n) => ({
        mode: 'production',
        entry: './src/main.js',
        output: { path: path.resolve('dist/' + n) },
        module: {
          rules: [{ test: /g\.js$/, use: [{ loader: './l.cjs', options: { f: (s) => s.replace('hello', n) } }] }]
        }
      })
      module.exports = (${variable} ?? 'a,b').split(',').map(one)`,
    ...GREETING,
    'l.cjs': `module.exports = function (s) {
        return this.getOptions().f(s)
      }`,
  },
  steps: {
    'only the second': [['env', 'ONLY', 'b']],
    'both again': [['env', 'ONLY', 'a,b']],
  },
  limits,
})

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const COMPILERS = [
  {
    name: 'DllReferencePlugin',
    files: {
      'webpack.config.cjs': `const webpack = require('webpack')
        module.exports = {
          mode: 'production',
          entry: './src/main.js',
          plugins: [
            new webpack.DllReferencePlugin({
              context: __dirname,
              manifest:
                process.env.MAN === 'obj'
                  ? JSON.parse(require('fs').readFileSync('./manifest.json'))
                  : require('path').resolve('manifest.json'),
              name: 'vend'
            })
          ]
        }`,
      ...GREETING,
      'manifest.json': `{
          "name": "vend",
          "content": { "./src/g.js": { "id": 1, "buildMeta": { "exportsType": "namespace" }, "exports": ["greet"] } }
        }`,
    },
    steps: {
      'manifest file: other id': [
        [
          'write',
          'manifest.json',
          `{
            "name": "vend",
            "content": { "./src/g.js": { "id": 7, "buildMeta": { "exportsType": "namespace" }, "exports": ["greet"] } }
          }`,
        ],
      ],
      'manifest object': [['env', 'MAN', 'obj']],
      'manifest object: other id': [
        [
          'write',
          'manifest.json',
          `{
            "name": "vend",
            "content": { "./src/g.js": { "id": 9, "buildMeta": { "exportsType": "namespace" }, "exports": ["greet"] } }
          }`,
        ],
      ],
    },
  },
  {
    name: 'two configs that look the same',
    files: {
      'webpack.config.cjs': String.raw`const path = require('path')
        const one = (n, alias) => ({
          mode: 'production',
          entry: './src/main.js',
          output: { path: path.resolve('dist/' + n) },
          resolve: { alias: { v: path.resolve('src/' + alias) } },
          module: {
            rules: [{ test: /g\.js$/, use: [{ loader: './l.cjs', options: { f: (s) => s.replace('hello', n) } }] }]
          }
        })
        module.exports = [one('a', 'va.js'), one('b', 'vb.js')]`,
      'src/main.js': `import { greet } from './g.js'
        import v from 'v'
        console.log(greet('w'), v)`,
      'l.cjs': `module.exports = function (s) {
          return this.getOptions().f(s)
        }`,
      'src/va.js': "export default 'va'",
      'src/vb.js': "export default 'vb'",
    },
    steps: {
      source: [['replace', 'src/main.js', "greet('w')", "greet('z')"]],
      'order swapped in config': [
        [
          'replace',
          'webpack.config.cjs',
          "[one('a', 'va.js'), one('b', 'vb.js')]",
          "[one('b', 'vb.js'), one('a', 'va.js')]",
        ],
      ],
      'source again': [['replace', 'src/main.js', "greet('z')", "greet('y')"]],
    },
  },
  oneAtATime('one of several configs at a time', 'process.env.ONLY', {}),
  oneAtATime('one of several configs at a time, by a computed name', "process.env['ON' + 'LY']", {
    'only the second':
      'a variable whose name the config computes is not seen; put it into version, or give the configs names',
  }),
  {
    name: 'two configs whose caches have one name',
    files: {
      'webpack.config.cjs': `const path = require('path')
        const one = (n, alias) => ({
          name: n,
          mode: 'production',
          entry: './src/main.js',
          cache: { name: 'same' },
          output: { path: path.resolve('dist/' + n) },
          resolve: { alias: { v: path.resolve('src/' + alias) } }
        })
        module.exports = [one('a', 'va.js'), one('b', 'vb.js')]`,
      'src/main.js': `import { greet } from './g.js'
        import v from 'v'
        console.log(greet('w'), v)`,
      'src/va.js': "export default 'va'",
      'src/vb.js': "export default 'vb'",
    },
    steps: {
      source: [['replace', 'src/main.js', "greet('w')", "greet('z')"]],
    },
  },
]
