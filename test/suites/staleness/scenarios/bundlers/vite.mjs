// @ts-check
// Vite: the config, the environment, and the files that a plugin reports.
import { PLUGIN, WORDS } from '../parts.mjs'

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const VITE = [
  {
    name: 'Vite: options, functions and imports of the config',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import { plug } from './plug.mjs'
        import word from './word.mjs'
        import fs from 'node:fs'

        export default ({ mode }) => ({
          plugins: [
            plug({ word: 'one' + word, f: undefined }),
            process.env.VARVE_ON ? varve({ plugins: ['plug'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'plug.mjs': PLUGIN,
      'word.mjs': `import x from './word2.mjs'
        export default x`,
      'word2.mjs': "export default 'x'",
    },
    steps: {
      'option in config': [['replace', 'vite.config.mjs', "'one'", "'two'"]],
      'function in config': [['replace', 'vite.config.mjs', 'f: undefined', "f: () => 'fn1'"]],
      'function changed': [['replace', 'vite.config.mjs', 'fn1', 'fn2']],
      'import of import of config': [
        ['replace', 'vite.config.mjs', ", f: () => 'fn2'", ''],
        ['write', 'word2.mjs', "export default 'y'"],
      ],
      'plugin file': [['replace', 'plug.mjs', "'WORD'", "'a WORD'"]],
      source: [['write', 'src/a.js', "console.log('b a WORD')"]],
      mode: [['env', 'VMODE', 'staging']],
    },
  },
  {
    name: 'Vite: JSON that the config reads through node:fs',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import { plug } from './plug.mjs'
        import fs from 'node:fs'

        export default ({ mode }) => ({
          plugins: [
            plug(JSON.parse(fs.readFileSync('./opts.json', 'utf8'))),
            process.env.VARVE_ON ? varve({ plugins: ['plug'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'plug.mjs': PLUGIN,
      'opts.json': '{ "word": "one" }',
    },
    steps: {
      'JSON that the config reads by fs': [['write', 'opts.json', '{ "word": "two" }']],
    },
  },
  {
    name: 'Vite: JSON that the config requires',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import { plug } from './plug.mjs'
        import { createRequire } from 'node:module'
        const require = createRequire(import.meta.url)

        export default ({ mode }) => ({
          plugins: [
            plug(require('./opts.json')),
            process.env.VARVE_ON ? varve({ plugins: ['plug'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'plug.mjs': PLUGIN,
      'opts.json': '{ "word": "one" }',
    },
    steps: {
      'JSON that the config requires (createRequire)': [['write', 'opts.json', '{ "word": "two" }']],
    },
  },
  {
    name: 'Vite: .env files through loadEnv',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import { plug } from './plug.mjs'
        import { loadEnv } from 'vite'

        export default ({ mode }) => ({
          plugins: [
            plug({ word: loadEnv(mode, process.cwd(), '').SECRET_WORD + (process.env.FROM_SHELL ?? '') }),
            process.env.VARVE_ON ? varve({ plugins: ['plug'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'plug.mjs': PLUGIN,
      '.env': `SECRET_WORD=one
        VITE_X=1`,
    },
    steps: {
      '.env: VITE_ variable': [
        [
          'write',
          '.env',
          `SECRET_WORD=one
          VITE_X=2`,
        ],
      ],
      '.env: other variable, by loadEnv in config': [
        [
          'write',
          '.env',
          `SECRET_WORD=two
          VITE_X=2`,
        ],
      ],
      '.env.production appears': [['write', '.env.production', 'SECRET_WORD=three']],
      'variable of the shell (documented)': [['env', 'FROM_SHELL', 'sh']],
    },
  },
  {
    name: 'Vite: a plugin in a workspace package',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import { plug } from '@my/plug'

        export default ({ mode }) => ({
          plugins: [
            plug({ word: 'w' }),
            process.env.VARVE_ON ? varve({ plugins: ['plug'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'packages/plug/package.json':
        '{ "name": "@my/plug", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
      'packages/plug/index.js': "export { plug } from './inner.js'",
      'packages/plug/inner.js': PLUGIN,
      'package-lock.json': `{
          "lockfileVersion": 3,
          "packages": { "node_modules/@my/plug": { "resolved": "packages/plug", "link": true } }
        }`,
    },
    start: [['link', 'node_modules/@my/plug', '../../packages/plug']],
    steps: {
      'plugin in a workspace package edited': [['replace', 'packages/plug/inner.js', "v || 'none'", "'EDITED'"]],
    },
  },
  {
    name: 'Vite: a plugin in an installed package',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import { plug } from '@my/plug'

        export default ({ mode }) => ({
          plugins: [
            plug({ word: 'w' }),
            process.env.VARVE_ON ? varve({ plugins: ['plug'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'node_modules/@my/plug/package.json':
        '{ "name": "@my/plug", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
      'node_modules/@my/plug/index.js': PLUGIN,
      'node_modules/.package-lock.json': '{ "packages": { "node_modules/@my/plug": { "version": "1.0.0" } } }',
    },
    steps: {
      'version bump through npm (record changes)': [
        ['replace', 'node_modules/@my/plug/index.js', "v || 'none'", "'EDITED'"],
        [
          'write',
          'node_modules/.package-lock.json',
          '{ "packages": { "node_modules/@my/plug": { "version": "1.0.1" } } }',
        ],
      ],
      'edited by hand in node_modules': [['replace', 'node_modules/@my/plug/index.js', 'EDITED', 'EDITED2']],
    },
    limits: { 'edited by hand in node_modules': 'an installed package counts by its version and the lock file' },
  },
  {
    name: 'Vite: files that a plugin watches',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': String.raw`import { varve } from '@varve/plugins/vite'
        import fs from 'node:fs'
        import path from 'node:path'
        const rd = (f) => {
          try {
            return fs.statSync(f).isDirectory() ? fs.readdirSync(f).join() : fs.readFileSync(f, 'utf8')
          } catch {
            return '-'
          }
        }
        const plug = {
          name: 'plug',
          transform(code, id) {
            if (!/src.*\.js/.test(id)) return
            for (const f of ['w.txt', 'missing.txt', 'dir']) this.addWatchFile(path.resolve(f))
            this.addWatchFile('rel.txt')
            return {
              code: code.replace('WORD', ['w.txt', 'missing.txt', 'dir', 'rel.txt', 'u.txt'].map(rd).join()),
              map: null
            }
          }
        }
        export default ({ mode }) => ({
          plugins: [
            plug,
            process.env.VARVE_ON ? varve({ plugins: ['plug'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'w.txt': 'one',
      'rel.txt': 'r',
      'u.txt': 'u',
      'dir/a': '',
    },
    steps: {
      'watched file': [['write', 'w.txt', 'two']],
      'watched file, same size': [['write', 'w.txt', 'owt']],
      aged: [['age', 'w.txt']],
      'watched file, same size and same time': [['replaceKeepingTime', 'w.txt', 'owt', 'wto']],
      'watched relative path': [['write', 'rel.txt', 'r2']],
      'watched missing file appears': [['write', 'missing.txt', 'here']],
      'watched folder: file added': [['write', 'dir/b', '']],
      'unwatched file (documented)': [['write', 'u.txt', 'u2']],
    },
  },
  {
    name: 'Vite: the option env and a .env file',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import { plug } from './plug.mjs'
        import { loadEnv } from 'vite'

        export default ({ mode }) => ({
          plugins: [
            plug({ word: loadEnv(mode, process.cwd(), '').SECRET_WORD }),
            process.env.VARVE_ON ? varve({ plugins: ['plug'], env:['SECRET_WORD'],onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'plug.mjs': PLUGIN,
      '.env': 'SECRET_WORD=one',
    },
    steps: {
      '.env with the documented remedy env: [name]': [['write', '.env', 'SECRET_WORD=two']],
    },
  },
]
