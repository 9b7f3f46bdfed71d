// @ts-check
// Vite: configs that a plugin finds by itself.
import { WORDS } from '../parts.mjs'

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const VITE_CONFIGS = [
  {
    name: 'Vite: Babel configs above and below the root',
    tool: 'vite',
    folder: 'app',
    files: {
      'app/package.json': '{ "name": "app", "version": "1.0.0", "type": "module" }',
      'app/vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import { babel } from '@rollup/plugin-babel'

        export default ({ mode }) => ({
          plugins: [
            babel({ babelHelpers: 'bundled', include: 'src/**/*.js', rootMode: 'upward-optional' }),
            process.env.VARVE_ON ? varve({ plugins: ['babel'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'app/src/main.js': `import './a.js'
        console.log('WORD')`,
      'app/src/a.js': `export class A {
          #x = 1
          m() {
            return this?.y ?? 'WORD'
          }
        }
        console.log(A)`,
      'babel.config.json': '{ "presets": [["@babel/preset-env", { "modules": false }]] }',
      'package.json': '{ "private": true, "workspaces": ["app"] }',
      '.browserslistrc': 'chrome 120',
    },
    steps: {
      '.browserslistrc of the parent folder': [['write', '.browserslistrc', 'ie 11']],
      'babel.config.json of the parent folder (rootMode upward)': [
        [
          'write',
          'babel.config.json',
          '{ "presets": [["@babel/preset-env", { "modules": false, "loose": true, "targets": "chrome 60" }]] }',
        ],
      ],
      '.babelrc.json in the root': [
        ['write', 'app/.babelrc.json', '{ "plugins": ["./bp.cjs"] }'],
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
      'babel plugin file named in .babelrc': [
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
      '.babelrc.json in a folder below (own package.json)': [
        ['write', 'app/src/package.json', '{ "name": "inner", "type": "module" }'],
        ['write', 'app/src/.babelrc.json', '{ "plugins": ["../bp3.cjs"] }'],
        [
          'write',
          'app/bp3.cjs',
          `module.exports = () => ({
            visitor: {
              StringLiteral(p) {
                if (p.node.value === 'WORD') p.node.value = 'BP3'
              }
            }
          })`,
        ],
      ],
    },
  },
  {
    name: 'Vite: browserslist in packages and in the environment',
    tool: 'vite',
    folder: 'app',
    files: {
      'app/package.json': '{ "name": "app", "version": "1.0.0", "type": "module" }',
      'app/vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import { babel } from '@rollup/plugin-babel'

        export default ({ mode }) => ({
          plugins: [
            babel({
              babelHelpers: 'bundled',
              include: 'src/**/*.js',
              presets: [['@babel/preset-env', { modules: false }]]
            }),
            process.env.VARVE_ON ? varve({ plugins: ['babel'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      'app/src/main.js': `import './a.js'
        console.log('WORD')`,
      'app/src/a.js': `export class A {
          #x = 1
          m() {
            return this?.y ?? 'WORD'
          }
        }
        console.log(A)`,
      'package.json': '{ "private": true, "browserslist": ["chrome 120"] }',
    },
    steps: {
      'browserslist in package.json of the parent folder': [
        ['write', 'package.json', '{ "private": true, "browserslist": ["ie 11"] }'],
      ],
      'BROWSERSLIST of the shell': [['env', 'BROWSERSLIST', 'chrome 60']],
      'browserslist in own package.json': [
        ['write', 'app/package.json', '{ "name": "app", "type": "module", "browserslist": ["chrome 70"] }'],
        ['env', 'BROWSERSLIST'],
      ],
    },
  },
  {
    name: 'Vite: rollup-plugin-esbuild and a tsconfig.json that extends another',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': String.raw`import { varve } from '@varve/plugins/vite'
        import es from 'rollup-plugin-esbuild'

        export default ({ mode }) => ({
          plugins: [
            { ...es({ include: /\.tsx$/, target: 'es2022' }), name: 'es' },
            process.env.VARVE_ON ? varve({ plugins: ['es'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          },
          esbuild: false,
          oxc: false
        })`,
      'src/main.js': `import { c, K } from './c.tsx'
        console.log(c, K)`,
      'src/c.tsx': `export const c = <a>{'WORD'}</a>
        export class K {
          x?: number
          @dec y = 1
        }
        function dec(...a: any[]): any {}`,
      'tsconfig.json': '{ "extends": "./tsconfig.base.json", "compilerOptions": {} }',
      'tsconfig.base.json':
        '{ "compilerOptions": { "jsx": "react", "jsxFactory": "h", "experimentalDecorators": true } }',
    },
    steps: {
      'tsconfig.base.json (extends)': [
        [
          'write',
          'tsconfig.base.json',
          '{ "compilerOptions": { "jsx": "react", "jsxFactory": "preact.h", "experimentalDecorators": true } }',
        ],
      ],
      'tsconfig.json': [
        [
          'write',
          'tsconfig.json',
          '{ "extends": "./tsconfig.base.json", "compilerOptions": { "jsxFactory": "third.h" } }',
        ],
      ],
    },
  },
  {
    name: 'Vite: a .babelrc and a config that imports a file',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': `import { varve } from '@varve/plugins/vite'
        import { babel } from '@rollup/plugin-babel'

        export default ({ mode }) => ({
          plugins: [
            babel({ babelHelpers: 'bundled', include: 'src/**/*.js' }),
            process.env.VARVE_ON ? varve({ plugins: ['babel'], onStats: (s) => globalThis.varveStats.push(s) }) : null
          ],
          build: {
            minify: false,
            rollupOptions: { input: 'src/main.js', external: ['vue', 'react', 'react/jsx-runtime'] }
          }
        })`,
      '.babelrc.json': '{ "plugins": ["./bp.cjs"] }',
      'bp.cjs': `module.exports = () => ({
          visitor: {
            StringLiteral(p) {
              if (p.node.value === 'WORD') p.node.value = 'BP1'
            }
          }
        })`,
    },
    steps: {
      'babel plugin file named in .babelrc': [
        [
          'write',
          'bp.cjs',
          `module.exports = () => ({
            visitor: {
              StringLiteral(p) {
                if (p.node.value === 'WORD') p.node.value = 'BP2'
              }
            }
          })`,
        ],
      ],
      'babel.config.mjs imports a file': [
        [
          'write',
          'babel.config.mjs',
          `import x from './bp4.mjs'
          export default { plugins: [x] }`,
        ],
        [
          'write',
          'bp4.mjs',
          `export default () => ({
            visitor: {
              StringLiteral(p) {
                if (p.node.value === 'a WORD') p.node.value = 'BP4'
              }
            }
          })`,
        ],
      ],
      'that file changes': [['replace', 'bp4.mjs', 'BP4', 'BP5']],
    },
  },
  {
    name: 'Vite: the API of TypeScript and a tsconfig.json that extends another',
    tool: 'vite',
    files: {
      ...WORDS,
      'vite.config.mjs': String.raw`import { varve } from '@varve/plugins/vite'
        import ts from 'typescript'
        const plug = {
          name: 'plug',
          transform(code, id) {
            if (!/\.mts$/.test(id)) return
            const c = ts.getParsedCommandLineOfConfigFile('tsconfig.json', {}, ts.sys)
            return {
              code: ts.transpileModule(code, { compilerOptions: { ...c.options, sourceMap: false } }).outputText,
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
      'src/a.js': "import './c.mts'",
      'src/c.mts': `export class K {
          x = 1
        }
        console.log(new K())`,
      'node_modules/.keep': '',
      'tsconfig.json': '{ "extends": "./tsconfig.base.json" }',
      'tsconfig.base.json': '{ "compilerOptions": { "target": "es2022", "useDefineForClassFields": true } }',
    },
    steps: {
      'tsconfig.base.json (extends), TypeScript API': [
        [
          'write',
          'tsconfig.base.json',
          '{ "compilerOptions": { "target": "es2022", "useDefineForClassFields": false } }',
        ],
      ],
    },
  },
]
