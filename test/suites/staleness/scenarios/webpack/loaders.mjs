// @ts-check
// Loaders and plugins that many projects use, with the configs that these find themselves.
import { GREETING } from '../parts.mjs'

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const LOADERS = [
  {
    name: 'a Babel config, its plugins and a .browserslistrc',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: {
            rules: [
              { test: /\.js$/, use: [{ loader: 'babel-loader', options: { cwd: __dirname, root: __dirname } }] }
            ]
          }
        }`,
      ...GREETING,
      'src/g.js': `export const greet = (n) => 'hello ' + n + n?.x
        export class A {
          #x = 1
          get() {
            return this.#x
          }
        }`,
      'babel.config.js': `module.exports = {
          presets: [['@babel/preset-env', { modules: false }]],
          plugins: ['./plug.js', require('./plug2.js')]
        }`,
      'plug.js': `module.exports = () => ({
          visitor: {
            StringLiteral(p) {
              if (p.node.value === 'w') p.node.value = 'W1'
            }
          }
        })`,
      'plug2.js': 'module.exports = () => ({ visitor: {} })',
      '.browserslistrc': 'chrome 120',
    },
    steps: {
      'babel.config.js': [
        ['replace', 'babel.config.js', '{ modules: false }', "{ modules: false, exclude: ['transform-classes'] }"],
      ],
      '.browserslistrc': [['write', '.browserslistrc', 'ie 11']],
      'local babel plugin named in config': [['replace', 'plug.js', 'W1', 'W2']],
      'local babel plugin required in config': [
        [
          'write',
          'plug2.js',
          `module.exports = () => ({
            visitor: {
              StringLiteral(p) {
                if (p.node.value === 'W2') p.node.value = 'W3'
              }
            }
          })`,
        ],
      ],
      '.babelrc in folder': [
        ['write', '.babelrc.json', '{ "plugins": ["./plug3.js"] }'],
        [
          'write',
          'plug3.js',
          `module.exports = () => ({
            visitor: {
              StringLiteral(p) {
                if (p.node.value.startsWith('W')) p.node.value = 'rc'
              }
            }
          })`,
        ],
      ],
      BABEL_ENV: [
        ['write', '.babelrc.json', '{ "plugins": ["./plug3.js"], "env": { "test": { "comments": false } } }'],
        ['env', 'BABEL_ENV', 'test'],
      ],
    },
  },
  {
    name: 'browserslist in package.json and in the environment',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: {
            rules: [
              {
                test: /\.js$/,
                use: [
                  {
                    loader: 'babel-loader',
                    options: { cwd: __dirname, root: __dirname, presets: ['@babel/preset-env'] }
                  }
                ]
              }
            ]
          }
        }`,
      ...GREETING,
      'src/g.js': `export const greet = (n) => 'hello ' + n + n?.x
        export const f = async () => {
          for await (const x of y) z
        }`,
      'package.json': '{ "name": "app", "version": "1.0.0", "browserslist": ["chrome 120"] }',
    },
    steps: {
      'browserslist in package.json': [
        ['write', 'package.json', '{ "name": "app", "version": "1.0.0", "browserslist": ["ie 11"] }'],
      ],
      'env BROWSERSLIST': [['env', 'BROWSERSLIST', 'chrome 100']],
    },
  },
  {
    name: 'CSS, PostCSS, Sass and Less',
    files: {
      'webpack.config.cjs': String.raw`const M = require('mini-css-extract-plugin')
        module.exports = {
          mode: 'production',
          entry: './src/main.js',
          plugins: [new M()],
          optimization: { minimizer: ['...', new (require('css-minimizer-webpack-plugin'))()] },
          module: {
            rules: [
              { test: /\.css$/, use: [M.loader, 'css-loader', 'postcss-loader'] },
              {
                test: /\.scss$/,
                use: [M.loader, { loader: 'css-loader', options: { modules: true } }, 'sass-loader']
              },
              { test: /\.less$/, use: [M.loader, 'css-loader', 'less-loader'] }
            ]
          }
        }`,
      'src/main.js': `import './a.css'
        import * as s from './s.scss'
        import './l.less'
        console.log(s)`,
      'src/a.css': `@import './b.css';
        a {
          display: flex;
          user-select: none;
          background: url(./p.png);
        }`,
      'src/b.css': `b {
          color: red;
        }`,
      'src/p.png': 'p'.repeat(10000),
      'src/s.scss': `@use './part' as p;
        .c {
          color: p.$c;
        }`,
      'src/_part.scss': '$c: blue;',
      'src/l.less': `@import './m.less';
        .l {
          color: @m;
        }`,
      'src/m.less': '@m: #123;',
      'postcss.config.js': "module.exports = { plugins: [require('autoprefixer'), require('./pp.js')] }",
      'pp.js': `module.exports = {
          postcssPlugin: 'pp',
          Declaration(d) {
            if (d.value === 'red') d.value = 'green'
          }
        }`,
      '.browserslistrc': 'chrome 120',
    },
    steps: {
      'css @import': [
        [
          'write',
          'src/b.css',
          `b {
            color: pink;
          }`,
        ],
      ],
      'sass partial': [['write', 'src/_part.scss', '$c: cyan;']],
      'less import': [['write', 'src/m.less', '@m: #456;']],
      'url asset': [['write', 'src/p.png', 'q'.repeat(10000)]],
      'postcss.config.js': [['write', 'postcss.config.js', "module.exports = { plugins: [require('./pp.js')] }"]],
      'postcss plugin file': [
        [
          'write',
          'src/b.css',
          `b {
            color: red;
          }`,
        ],
      ],
      'postcss plugin file 2': [['replace', 'pp.js', 'green', 'black']],
      'autoprefixer on': [['write', 'postcss.config.js', "module.exports = { plugins: [require('autoprefixer')] }"]],
      '.browserslistrc': [['write', '.browserslistrc', 'safari 8']],
    },
  },
  {
    name: 'ts-loader and a tsconfig.json that extends another',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.ts',
          resolve: { extensions: ['.ts', '.js'] },
          module: {
            rules: [
              {
                test: /\.ts$/,
                use: [
                  {
                    loader: 'ts-loader',
                    options: {
                      transpileOnly: true,
                      context: __dirname,
                      configFile: require('path').resolve('tsconfig.json')
                    }
                  }
                ]
              }
            ]
          }
        }`,
      ...GREETING,
      'src/main.ts': `import { E } from './e'
        export class A {
          x?: number
          y = E.One
        }
        console.log(new A(), E, (globalThis as any)?.foo)`,
      'src/e.ts': `export enum E {
          One,
          Two
        }`,
      'tsconfig.json': '{ "extends": "./base.json", "compilerOptions": { "module": "esnext" } }',
      'base.json': '{ "compilerOptions": { "target": "es2022", "useDefineForClassFields": true } }',
    },
    steps: {
      'tsconfig.json': [
        [
          'write',
          'tsconfig.json',
          '{ "extends": "./base.json", "compilerOptions": { "module": "esnext", "useDefineForClassFields": false } }',
        ],
      ],
      'base of tsconfig (extends)': [['write', 'base.json', '{ "compilerOptions": { "target": "es5" } }']],
      enum: [
        [
          'write',
          'src/e.ts',
          `export enum E {
            Zero,
            One,
            Two
          }`,
        ],
      ],
    },
  },
  {
    name: 'html-webpack-plugin and copy-webpack-plugin',
    files: {
      'webpack.config.cjs': `module.exports = {
          mode: 'production',
          entry: './src/main.js',
          output: { filename: '[name].[contenthash:8].js' },
          plugins: [
            new (require('html-webpack-plugin'))({ template: './src/t.html' }),
            new (require('copy-webpack-plugin'))({ patterns: ['pub'] })
          ]
        }`,
      ...GREETING,
      'src/t.html': '<html><body><%= htmlWebpackPlugin.options.title %><%= require("./inc.js").v %></body></html>',
      'src/inc.js': 'exports.v = 1',
      'pub/a.txt': 'a',
    },
    steps: {
      template: [['replace', 'src/t.html', '<body>', '<body>hi']],
      included: [['write', 'src/inc.js', 'exports.v = 2']],
      'copied file': [['write', 'pub/a.txt', 'b']],
      'copied file added': [['write', 'pub/b.txt', 'b']],
      source: [['replace', 'src/g.js', 'hello', 'bye']],
    },
  },
  {
    name: 'babel-loader behind thread-loader',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          module: {
            rules: [
              {
                test: /\.js$/,
                use: ['thread-loader', { loader: 'babel-loader', options: { presets: ['@babel/preset-env'] } }]
              }
            ]
          }
        }`,
      ...GREETING,
      '.browserslistrc': 'ie 11',
    },
    steps: {
      source: [['replace', 'src/g.js', 'hello', 'bye']],
    },
  },
  {
    name: '@svgr/webpack and its .svgrrc',
    files: {
      'webpack.config.cjs': String.raw`module.exports = {
          mode: 'production',
          entry: './src/main.js',
          externals: { react: 'React' },
          module: { rules: [{ test: /\.svg$/, use: ['@svgr/webpack'] }] }
        }`,
      'src/main.js': `import Icon from './icon.svg'
        console.log(Icon)`,
      'src/icon.svg': '<svg viewBox="0 0 2 2" width="2" height="2"><path d="M0 0h2v2z" fill="red"/></svg>',
      '.svgrrc': '{ "dimensions": true }',
    },
    steps: {
      '.svgrrc': [['write', '.svgrrc', '{ "dimensions": false, "replaceAttrValues": { "red": "blue" } }']],
      svg: [['write', 'src/icon.svg', '<svg viewBox="0 0 2 2"><path d="M0 0h1v1z" fill="red"/></svg>']],
      '.svgrrc is gone': [['remove', '.svgrrc']],
      'svgr.config.js instead': [['write', 'svgr.config.js', 'module.exports = { titleProp: true }']],
      'svgr.config.js': [['replace', 'svgr.config.js', 'titleProp', 'ref']],
    },
  },
]
