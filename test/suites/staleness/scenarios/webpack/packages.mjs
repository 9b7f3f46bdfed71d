// @ts-check
// Packages, however they are installed.

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const PACKAGES = [
  {
    name: 'packages that change, appear and go',
    files: {
      'webpack.config.cjs': "module.exports = { mode: 'production', entry: './src/main.js' }",
      'src/main.js': `import { a, b } from 'pkg'
        import * as o from 'other'
        console.log(a, b, o)`,
      'node_modules/pkg/package.json': '{ "name": "pkg", "version": "1.0.0", "main": "a.js" }',
      'node_modules/pkg/a.js': `exports.a = 1
        exports.b = require('other').v`,
      'node_modules/pkg/b.js': `exports.a = 2
        exports.b = require('other').v`,
      'node_modules/other/package.json': '{ "name": "other", "version": "1.0.0" }',
      'node_modules/other/index.js': "exports.v = 'top'",
    },
    steps: {
      'version bump, other main': [
        ['write', 'node_modules/pkg/package.json', '{ "name": "pkg", "version": "1.0.1", "main": "b.js" }'],
      ],
      'nested copy appears': [
        ['write', 'node_modules/pkg/node_modules/other/package.json', '{ "name": "other", "version": "2.0.0" }'],
        ['write', 'node_modules/pkg/node_modules/other/index.js', "exports.v = 'nested'"],
        ['write', 'node_modules/pkg/package.json', '{ "name": "pkg", "version": "1.0.2", "main": "b.js" }'],
      ],
      'nested copy gone': [
        ['remove', 'node_modules/pkg/node_modules'],
        ['write', 'node_modules/pkg/package.json', '{ "name": "pkg", "version": "1.0.3", "main": "b.js" }'],
      ],
      'package gone': [['remove', 'node_modules/other']],
      'package back': [
        ['write', 'node_modules/other/package.json', '{ "name": "other", "version": "1.1.0", "sideEffects": false }'],
        ['write', 'node_modules/other/index.js', "exports.v = 'again'"],
      ],
      'content without version (unsupported by webpack)': [
        ['write', 'node_modules/other/index.js', "exports.v = 'silent'"],
      ],
    },
  },
  {
    name: 'packages that webpack is configured to compare by content',
    files: {
      'webpack.config.cjs':
        "module.exports = { mode: 'production', entry: './src/main.js', snapshot: { managedPaths: [] } }",
      'src/main.js': `import { a } from 'pkg'
        console.log(a)`,
      'node_modules/pkg/package.json': '{ "name": "pkg", "version": "1.0.0", "main": "a.js" }',
      'node_modules/pkg/a.js': 'exports.a = 1',
    },
    steps: {
      'content without version': [['write', 'node_modules/pkg/a.js', 'exports.a = 2']],
    },
  },
  {
    name: 'one package that webpack is configured to compare by content',
    files: {
      'webpack.config.cjs': `module.exports = {
          mode: 'production',
          entry: './src/main.js',
          snapshot: { unmanagedPaths: [require('path').resolve('node_modules/pkg')] }
        }`,
      'src/main.js': `import { a } from 'pkg'
        console.log(a)`,
      'node_modules/pkg/package.json': '{ "name": "pkg", "version": "1.0.0", "main": "a.js" }',
      'node_modules/pkg/a.js': 'exports.a = 1',
    },
    steps: {
      'content without version': [['write', 'node_modules/pkg/a.js', 'exports.a = 2']],
    },
  },
  {
    name: 'a folder that is configured in webpack as one that never changes',
    files: {
      'webpack.config.cjs': `module.exports = {
          mode: 'production',
          entry: './src/main.js',
          snapshot: { immutablePaths: [require('path').resolve('im')] }
        }`,
      'src/main.js': `import { a } from '../im/a.js'
        console.log(a)`,
      'im/a.js': 'export const a = 1',
    },
    steps: {
      'content of a file that never changes': [['write', 'im/a.js', 'export const a = 2']],
    },
    limits: { 'content of a file that never changes': 'snapshot.immutablePaths declares that it never changes' },
  },
  {
    name: 'packages behind links, as pnpm installs them',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: { rules: [{ test: /main\.js$/, use: ['ldr'] }] }
        }`,
      'src/main.js': `import { a } from 'pkg'
        import { w } from 'linked'
        console.log(a, w)`,
      'node_modules/.pnpm/pkg@1.0.0/node_modules/pkg/package.json': '{ "name": "pkg", "version": "1.0.0" }',
      'node_modules/.pnpm/pkg@1.0.0/node_modules/pkg/index.js': "exports.a = '1.0.0' + require('dep')",
      'node_modules/.pnpm/dep@1.0.0/node_modules/dep/package.json': '{ "name": "dep", "version": "1.0.0" }',
      'node_modules/.pnpm/dep@1.0.0/node_modules/dep/index.js': "module.exports = 'dep1.0.0'",
      'node_modules/.pnpm/ldr@1.0.0/node_modules/ldr/package.json': '{ "name": "ldr", "version": "1.0.0" }',
      'node_modules/.pnpm/ldr@1.0.0/node_modules/ldr/index.js': String.raw`module.exports = (s) => s + "\nconsole.log('ldr1.0.0')"`,
      'node_modules/.pnpm/pkg@2.0.0/node_modules/pkg/package.json': '{ "name": "pkg", "version": "2.0.0" }',
      'node_modules/.pnpm/pkg@2.0.0/node_modules/pkg/index.js': "exports.a = '2.0.0' + require('dep')",
      'node_modules/.pnpm/dep@2.0.0/node_modules/dep/package.json': '{ "name": "dep", "version": "2.0.0" }',
      'node_modules/.pnpm/dep@2.0.0/node_modules/dep/index.js': "module.exports = 'dep2.0.0'",
      'node_modules/.pnpm/ldr@2.0.0/node_modules/ldr/package.json': '{ "name": "ldr", "version": "2.0.0" }',
      'node_modules/.pnpm/ldr@2.0.0/node_modules/ldr/index.js': String.raw`module.exports = (s) => s + "\nconsole.log('ldr2.0.0')"`,
      'packages/linked/package.json': '{ "name": "linked", "version": "1.0.0" }',
      'packages/linked/index.js': 'export const w = 1',
    },
    start: [
      ['link', 'node_modules/.pnpm/pkg@1.0.0/node_modules/dep', '../../dep@1.0.0/node_modules/dep'],
      ['link', 'node_modules/.pnpm/pkg@2.0.0/node_modules/dep', '../../dep@2.0.0/node_modules/dep'],
      ['link', 'node_modules/pkg', '.pnpm/pkg@1.0.0/node_modules/pkg'],
      ['link', 'node_modules/ldr', '.pnpm/ldr@1.0.0/node_modules/ldr'],
      ['link', 'node_modules/linked', '../packages/linked'],
      // Files that are written in one tick of the clock have one time, and webpack takes them for the same behind a link.
      ...['pkg', 'dep', 'ldr'].flatMap((name) => [age(name, 'package.json'), age(name, 'index.js')]),
    ],
    steps: {
      'workspace package edited': [['write', 'packages/linked/index.js', 'export const w = 2']],
      'link to another version': [['link', 'node_modules/pkg', '.pnpm/pkg@2.0.0/node_modules/pkg']],
      'nested link to another version': [
        ['link', 'node_modules/.pnpm/pkg@2.0.0/node_modules/dep', '../../dep@1.0.0/node_modules/dep'],
      ],
      'loader link to another version': [['link', 'node_modules/ldr', '.pnpm/ldr@2.0.0/node_modules/ldr']],
    },
  },
]

/** @param {string} name @param {string} file @returns {import('../../scenario.mjs').Change} */
function age(name, file) {
  return ['age', `node_modules/.pnpm/${name}@2.0.0/node_modules/${name}/${file}`]
}
