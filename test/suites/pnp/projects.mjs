// @ts-check
/**
 * The projects of the suite. Their `build.mjs` takes 'cached' or 'plain' and the name of a tool. It prints how many results came from
 * the cache and how many did not, and the digest of its output.
 *
 * @typedef {object} Step
 * @property {string} name
 * @property {Readonly<Record<string, string>>} [versions] dependencies that change
 * @property {readonly [descriptor: string, reference: string]} [resolution] a change of yarn.lock alone
 * @property {Readonly<Record<string, string>>} [files] files that are written
 * @property {boolean} [isLate] whether what Yarn installs remains what it was, as after a checkout of another yarn.lock
 * @property {'all' | 'some' | 'none'} built what the tool has to build
 * @property {Readonly<{ id: string, reason: string }>} [why] what `varve why` has to name
 *
 * @typedef {object} Project
 * @property {readonly string[]} tools
 * @property {Readonly<Record<string, string>>} dependencies from the registry
 * @property {readonly Step[]} steps
 */

const WEBPACK_BUILD = `import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'

const isCached = process.argv[2] === 'cached'
let hits = 0
let misses = 0
const compiler = webpack({
  context: import.meta.dirname,
  entry: './main.js',
  mode: 'production',
  cache: isCached ? { type: 'memory' } : false,
  module: { rules: [{ test: /css$/, use: ['style-loader', 'css-loader'] }] },
  plugins: isCached ? [new VarveWebpackPlugin({ dir: 'cache-webpack', engine: 'wasm' })] : [],
})
compiler.hooks.compilation.tap('count', ({ hooks }) => {
  hooks.stillValidModule.tap('count', () => void hits++)
  hooks.buildModule.tap('count', () => void misses++)
})
compiler.run((error, stats) => {
  if (error ?? stats.hasErrors()) throw error ?? new Error(stats.toString('errors-only'))
  const digest = createHash('sha256').update(readFileSync('dist/main.js')).digest('hex')
  compiler.close(() => console.log(JSON.stringify({ hits, misses, digest })))
})
`

/** Another version of left-pad, on which a project depends and which nothing reads. @type {Step} */
const UNREAD = {
  name: 'another version of a package that nothing reads',
  resolution: ['left-pad@npm:^1.3.0', 'npm:1.2.0'],
  built: 'none',
}

/** @type {Project} */
const WEBPACK = {
  tools: ['webpack'],
  dependencies: {
    webpack: '5.109.2',
    'style-loader': '4.0.0',
    'css-loader': '7.1.5',
    'is-odd': '3.0.0',
    'left-pad': '^1.3.0',
    // Yarn keeps the archive of the version that the loader no longer gets.
    'postcss-value-parser': '4.2.0',
  },
  steps: [
    {
      name: 'first',
      files: {
        'main.js': "import './main.css'\nimport isOdd from 'is-odd'\nconsole.log(isOdd(3))\n",
        'main.css': 'a { color: red }\n',
        'build.mjs': WEBPACK_BUILD,
      },
      built: 'all',
    },
    { name: 'again', built: 'none' },
    UNREAD,
    {
      name: 'another version of a package that a loader requires',
      resolution: ['postcss-value-parser@npm:^4.2.0', 'npm:4.1.0'],
      built: 'all',
      why: { id: 'main.css', reason: 'css-loader gets other dependencies' },
    },
    { name: 'another version of a loader', versions: { 'css-loader': '7.1.2' }, built: 'all' },
    { name: 'another style sheet', files: { 'main.css': 'a { color: blue }\n' }, built: 'some' },
    // webpack reads package.json, which names the version, when it starts.
    { name: 'another version of a module', versions: { 'is-odd': '3.0.1' }, built: 'all' },
  ],
}

const MDX_BUILD = `import { createHash } from 'node:crypto'

const [way, tool] = process.argv.slice(2)
const { cached } = await import('@varve/plugins/' + tool)
const { default: mdx } = await import(tool === 'esbuild' ? '@mdx-js/esbuild' : '@mdx-js/rollup')
const counts = { hits: 0, misses: 0 }
const onStats = ({ hits, misses }) => {
  counts.hits += hits
  counts.misses += misses
}
const packages = ['@mdx-js/esbuild', '@mdx-js/rollup']
const options = { dir: 'cache-' + tool, engine: 'wasm', cacheKey: 'none', packages, onStats }
const plugin = way === 'cached' ? cached(mdx(), options) : mdx()
const external = ['react/jsx-runtime']
const input = { input: 'main.js', external, plugins: [plugin] }

async function generate(open) {
  const bundle = await open(input)
  const { output } = await bundle.generate({})
  await bundle.close()
  return output[0].code
}

const BUILD = {
  async vite() {
    const { build } = await import('vite')
    const rollupOptions = { input: 'main.js', external }
    const { output } = await build({ configFile: false, logLevel: 'error', plugins: [plugin], build: { write: false, rollupOptions } })
    return output[0].code
  },
  async rollup() {
    const { rollup } = await import('rollup')
    return generate(rollup)
  },
  async rolldown() {
    const { rolldown } = await import('rolldown')
    return generate(rolldown)
  },
  async esbuild() {
    const { build } = await import('esbuild')
    const { outputFiles } = await build({ entryPoints: ['main.js'], bundle: true, format: 'esm', write: false, external, plugins: [plugin] })
    return outputFiles[0].text
  },
}

const digest = createHash('sha256').update(await BUILD[tool]()).digest('hex')
console.log(JSON.stringify({ ...counts, digest }))
`

/** Every other tool, each with MDX. @type {Project} */
const MDX = {
  tools: ['vite', 'rollup', 'rolldown', 'esbuild'],
  dependencies: {
    vite: '8.3.8',
    rollup: '4.67.4',
    rolldown: '1.2.19',
    esbuild: '0.28.2',
    '@mdx-js/rollup': '3.1.1',
    '@mdx-js/esbuild': '3.1.1',
  },
  steps: [
    {
      name: 'first',
      files: {
        'main.js': "import one from './one.mdx'\nimport two from './two.mdx'\nconsole.log(one, two)\n",
        'one.mdx': '# One\n',
        'two.mdx': '# Two\n',
        'build.mjs': MDX_BUILD,
      },
      built: 'all',
    },
    { name: 'again', built: 'none' },
    { name: 'another page', files: { 'one.mdx': '# Another\n' }, built: 'some' },
    {
      name: 'another version of the plugin',
      versions: { '@mdx-js/rollup': '3.1.0', '@mdx-js/esbuild': '3.1.0' },
      built: 'all',
    },
  ],
}

const READS_BUILD = `import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { cached } from '@varve/plugins/rollup'
import { rollup } from 'rollup'

const require = createRequire(import.meta.url)
const counts = { hits: 0, misses: 0 }
const onStats = ({ hits, misses }) => Object.assign(counts, { hits, misses })
const plugin = { name: 'odd', transform: () => 'export default ' + require('is-odd')(3) }
const options = { dir: 'cache-rollup', engine: 'wasm', cacheKey: 'none', packages: ['rollup'], onStats }
const bundle = await rollup({ input: 'main.js', plugins: [process.argv[2] === 'cached' ? cached(plugin, options) : plugin] })
const { output } = await bundle.generate({})
await bundle.close()
console.log(JSON.stringify({ ...counts, digest: createHash('sha256').update(output[0].code).digest('hex') }))
`

/** A plugin of the project that requires packages when it runs, and declares none of them. @type {Project} */
const READS = {
  tools: ['rollup'],
  dependencies: { rollup: '4.67.4', 'is-odd': '3.0.1', 'is-number': '6.0.0', 'left-pad': '^1.3.0' },
  steps: [
    { name: 'first', files: { 'main.js': '', 'build.mjs': READS_BUILD }, built: 'all' },
    { name: 'again', built: 'none' },
    UNREAD,
    {
      name: 'another version of a package that a package requires',
      resolution: ['is-number@npm:^6.0.0', 'npm:7.0.0'],
      built: 'all',
      why: { id: 'main.js', reason: 'is-odd gets other dependencies' },
    },
    {
      name: 'another version of what the plugin requires',
      versions: { 'is-odd': '3.0.0' },
      built: 'all',
      why: { id: 'main.js', reason: 'is-odd 3.0.1 -> 3.0.0' },
    },
  ],
}

const LOCKED_BUILD = READS_BUILD.replace(
  "import { createRequire } from 'node:module'",
  "import Queue from 'yocto-queue'",
)
  .replace('const require = createRequire(import.meta.url)\n', '')
  .replace("require('is-odd')(3)", 'JSON.stringify(Object.getOwnPropertyNames(Queue.prototype))')
  .replace("packages: ['rollup'], ", '')

/** A plugin whose package is an ES module, which Node.js 20 loads unseen: only the lock file and what is installed name it. @type {Project} */
const LOCKED = {
  tools: ['rollup'],
  // Yarn keeps the archives of both versions.
  dependencies: {
    rollup: '4.67.4',
    'yocto-queue': '^1.0.0',
    one: 'npm:yocto-queue@1.0.0',
    two: 'npm:yocto-queue@1.2.0',
  },
  steps: [
    {
      name: 'first',
      resolution: ['yocto-queue@npm:^1.0.0', 'npm:1.0.0'],
      files: { 'main.js': '', 'build.mjs': LOCKED_BUILD },
      built: 'all',
    },
    { name: 'again', built: 'none' },
    {
      name: 'yarn.lock of another branch',
      resolution: ['yocto-queue@npm:^1.0.0', 'npm:1.2.0'],
      isLate: true,
      built: 'all',
    },
    { name: 'the packages of that branch', built: 'all' },
  ],
}

export const PROJECTS = [WEBPACK, MDX, READS, LOCKED]
