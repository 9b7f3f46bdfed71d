// @ts-check
// Options of webpack, one config after another on the same sources: the file of the config stays the same, which is why
// webpack has to see by itself what an option changes.

/** Sources that react to many options. */
const APPLICATION = {
  'src/main.js': `import { greet, unused } from './g.js'
    import data from './d.json'
    import * as ns from './ns.js'
    import('./lazy.js').then((m) => console.log(m.default))
    console.log(greet(process.env.NODE_ENV), data.a, ns.a, typeof __FLAG__ !== 'undefined' && __FLAG__, __dirname)
    console.log(import.meta.url.length, new URL('./pic.svg', import.meta.url).href, JQ)
    console.log(require.context('./ctx', true, /[.]js$/).keys())`,
  'src/g.js': `export const greet = (n) => 'hello ' + (n ?? 'x')
    export const unused = 1
    export class K { #p = 1; static s = 2 }`,
  'src/d.json': '{ "a": 1, "b": 2 }',
  'src/ns.js': 'export const a = 1; export const b = 2',
  'src/lazy.js': "import { x } from 'lib'; export default x",
  'src/pic.svg': '<svg/>',
  'src/ctx/a.js': 'module.exports = 1',
  'src/ctx/b.js': 'module.exports = 2',
  'src/jq.js': "module.exports = 'jq'",
  'src/alt.js': "module.exports = 'alt'; exports.greet = () => 1",
  'node_modules/lib/package.json':
    '{ "name": "lib", "version": "1.0.0", "main": "i.js", "module": "m.js", "browser": "b.js" }',
  'node_modules/lib/i.js': "exports.x = 'i'",
  'node_modules/lib/m.js': "export const x = 'm'",
  'node_modules/lib/b.js': "exports.x = 'b'",
}

const CONFIG = `const webpack = require('webpack')
  const path = require('path')
  const plugins = [new webpack.ProvidePlugin({ JQ: path.resolve('src/jq.js') })]
  const options = new Function('webpack', 'require', 'return {' + process.env.OPTIONS + '}')(webpack, require)
  module.exports = { mode: 'production', entry: './src/main.js', plugins, ...options }`

/** Texts of options. Each list begins with what the first build has. */
const OPTIONS_BY_TOPIC = {
  target: [
    `target: 'web'`,
    `target: 'node'`,
    `target: ['web', 'es5']`,
    `target: 'webworker'`,
    'experiments: { outputModule: true }, output: { module: true }',
    `target: 'node', output: { chunkFormat: 'commonjs' }`,
  ],
  output: [
    '',
    `output: { publicPath: '/x/' }`,
    'output: { environment: { arrowFunction: false, const: false, templateLiteral: false } }',
    `output: { library: { type: 'commonjs2' } }`,
    `output: { library: 'L', libraryTarget: 'umd' }`,
    `output: { filename: '[name].[contenthash].js', hashFunction: 'xxhash64' }`,
    `output: { uniqueName: 'zz', chunkLoadingGlobal: 'cl' }`,
    `output: { hashSalt: 'q', filename: '[name].[contenthash].js' }`,
    'output: { pathinfo: true }',
    `output: { crossOriginLoading: 'anonymous', trustedTypes: true }`,
  ],
  optimization: [
    '',
    'optimization: { minimize: false }',
    'optimization: { minimize: false, usedExports: false }',
    'optimization: { minimize: false, providedExports: false }',
    'optimization: { minimize: false, concatenateModules: false }',
    'optimization: { minimize: false, mangleExports: false, innerGraph: false }',
    `optimization: { moduleIds: 'named', chunkIds: 'named' }`,
    `optimization: { moduleIds: 'hashed' }`,
    'optimization: { sideEffects: false }',
    `optimization: { splitChunks: { chunks: 'all', minSize: 0 } }`,
    'optimization: { runtimeChunk: true }',
    `optimization: { nodeEnv: 'staging' }`,
    `optimization: { minimizer: [new (require('terser-webpack-plugin'))({ terserOptions: { mangle: false } })] }`,
    `optimization: { minimizer: [new (require('terser-webpack-plugin'))({ terserOptions: { compress: false } })] }`,
    `optimization: { realContentHash: false }, output: { filename: '[contenthash].js' }`,
  ],
  module: [
    '',
    'module: { parser: { javascript: { url: false } } }',
    'module: { parser: { javascript: { importMeta: false } } }',
    'module: { parser: { javascript: { requireContext: false } } }',
    `module: { parser: { javascript: { dynamicImportMode: 'eager' } } }`,
    'module: { parser: { javascript: { node: false } } }',
    `module: { generator: { asset: { filename: 'as/[hash][ext]' } } }`,
    `module: { generator: { asset: { publicPath: '/cdn/' } } }`,
    `module: { rules: [{ test: /svg$/, type: 'asset/inline' }] }`,
    'module: { noParse: /jq/ }',
    String.raw`module: { rules: [{ test: /g\.js$/, sideEffects: false }] }`,
    'node: { __dirname: true }',
    `node: { __dirname: 'mock' }`,
    'amd: false',
    'module: { strictExportPresence: true }',
    'module: { parser: { json: { namedExports: false } } }',
    'module: { generator: { json: { JSONParse: false } } }',
  ],
  'resolve and externals': [
    '',
    `resolve: { mainFields: ['main'] }`,
    `resolve: { mainFields: ['browser'] }`,
    `resolve: { conditionNames: ['x'] }`,
    `resolve: { alias: { './g.js': require('path').resolve('src/alt.js') } }`,
    'resolve: { alias: { lib: false } }',
    `externals: { lib: 'window.lib' }`,
    `externals: { lib: 'other.lib' }`,
    `externals: { lib: 'commonjs lib' }`,
    'resolve: { symlinks: false }',
    'resolve: { aliasFields: [] }',
  ],
  plugins: [
    '',
    `plugins: [new webpack.ProvidePlugin({ JQ: require('path').resolve('src/alt.js') })]`,
    `plugins: [new webpack.DefinePlugin({ JQ: '1', __FLAG__: 'true' })]`,
    `plugins: [new webpack.DefinePlugin({ JQ: '1', __FLAG__: 'false' })]`,
    `plugins: [new webpack.DefinePlugin({ JQ: '1', 'process.env.NODE_ENV': '"x"' })]`,
    `plugins: [new webpack.BannerPlugin('one'), new webpack.DefinePlugin({ JQ: 1 })]`,
    `plugins: [new webpack.BannerPlugin('two'), new webpack.DefinePlugin({ JQ: 1 })]`,
    'plugins: [new webpack.IgnorePlugin({ resourceRegExp: /^lib$/ }), new webpack.DefinePlugin({ JQ: 1 })]',
    String.raw`plugins: [new webpack.NormalModuleReplacementPlugin(/g\.js$/, './alt.js'), new webpack.DefinePlugin({ JQ: 1 })]`,
    String.raw`plugins: [new webpack.ContextReplacementPlugin(/ctx/, /a\.js$/), new webpack.DefinePlugin({ JQ: 1 })]`,
    `plugins: [new webpack.EnvironmentPlugin({ NODE_ENV: 'q' }), new webpack.DefinePlugin({ JQ: 1 })]`,
    'plugins: [new webpack.optimize.LimitChunkCountPlugin({ maxChunks: 1 }), new webpack.DefinePlugin({ JQ: 1 })]',
    `plugins: [
      new webpack.container.ModuleFederationPlugin({ name: 'mf', exposes: { './g': './src/g.js' }, shared: { lib: { requiredVersion: false } } }),
      new webpack.DefinePlugin({ JQ: 1 })
    ]`,
    'plugins: [new webpack.HotModuleReplacementPlugin(), new webpack.DefinePlugin({ JQ: 1 })]',
    `plugins: [new webpack.SourceMapDevToolPlugin({ filename: '[file].map' }), new webpack.DefinePlugin({ JQ: 1 })]`,
  ],
  devtool: [
    'devtool: false',
    `devtool: 'source-map'`,
    `mode: 'development', devtool: 'eval-source-map'`,
    `mode: 'development', devtool: 'eval'`,
    `mode: 'development', devtool: 'cheap-module-source-map'`,
    `devtool: 'inline-source-map'`,
    `devtool: 'hidden-nosources-source-map'`,
    `devtool: 'source-map', output: { devtoolModuleFilenameTemplate: 'x:///[resource-path]' }`,
  ],
  'mode, experiments, entry and context': [
    `mode: 'production'`,
    `mode: 'development'`,
    `mode: 'none'`,
    'experiments: { css: true }',
    'experiments: { futureDefaults: true }',
    `experiments: { layers: true }, entry: { main: { import: './src/main.js', layer: 'l' } }`,
    `entry: { other: './src/main.js' }`,
    `entry: { main: ['./src/alt.js', './src/main.js'] }`,
    `context: require('path').resolve('src'), entry: './main.js'`,
  ],
}

/** @param {readonly string[]} list @returns {[string, import('../../scenario.mjs').Change[]][]} */
const stepsOf = ([first = '', ...rest]) =>
  [...rest, first].map((options, index) => [`${index + 1}: { ${options} }`, [['env', 'OPTIONS', options]]])

/** @type {readonly import('../../scenario.mjs').Scenario[]} */
export const OPTIONS = Object.entries(OPTIONS_BY_TOPIC).map(([topic, list]) => ({
  name: `options of webpack: ${topic}`,
  files: { ...APPLICATION, 'webpack.config.cjs': CONFIG },
  start: [['env', 'OPTIONS', list[0] ?? '']],
  steps: Object.fromEntries(stepsOf(list)),
  ownLimit: 'webpack does not compare this option; a variable that decides it belongs to option version',
}))
