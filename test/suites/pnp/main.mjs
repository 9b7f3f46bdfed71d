// @ts-check
/**
 * A project that Yarn installs with Plug'n'Play, whose packages are files in zip archives: a cold build, a warm one, and one after each
 * changed dependency. Every build has to write what a build without a cache writes.
 */
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { at } from '../../../scripts/common/root.mjs'
import { run, step } from '../../../scripts/common/steps.mjs'

const YARN = join(import.meta.dirname, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js')

/** Dependencies from the registry. The loader and the module change their version. */
const DEPENDENCIES = { webpack: '5.109.2', 'style-loader': '4.0.0', 'css-loader': '7.1.5', 'is-odd': '3.0.0' }

/** The steps after the first build: what changes, and whether webpack has to build all modules, some of them or none. */
const STEPS = /** @type {const} */ ([
  { name: 'again', change: {}, built: 'none' },
  { name: 'another version of a loader', change: { 'css-loader': '7.1.2' }, built: 'all' },
  { name: 'another version of a module', change: { 'is-odd': '3.0.1' }, built: 'some' },
])

const BUILD = `import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { VarveWebpackPlugin } from '@varve/plugins/webpack'
import webpack from 'webpack'

const isCached = process.argv[2] === 'cached'
let built = 0
const compiler = webpack({
  context: import.meta.dirname,
  entry: './main.js',
  mode: 'production',
  cache: isCached ? { type: 'memory' } : false,
  module: { rules: [{ test: /css$/, use: ['style-loader', 'css-loader'] }] },
  plugins: isCached ? [new VarveWebpackPlugin({ dir: 'cache', engine: 'wasm' })] : [],
})
compiler.hooks.compilation.tap('count', (compilation) => compilation.hooks.buildModule.tap('count', () => void built++))
compiler.run((error, stats) => {
  if (error ?? stats.hasErrors()) throw error ?? new Error(stats.toString('errors-only'))
  const digest = createHash('sha256').update(readFileSync('dist/main.js')).digest('hex')
  compiler.close(() => console.log(JSON.stringify({ built, digest })))
})
`

/** Runs all steps. Returns the number of wrong ones. @param {(line: string) => void} report */
export async function runPnp(report) {
  if (!existsSync(YARN)) await step('npm ci: Yarn', () => run('npm', ['ci', '--ignore-scripts', '--no-workspaces'], { cwd: import.meta.dirname }))
  const home = await mkdtemp(join(tmpdir(), 'varve-pnp-'))
  let wrong = 0
  try {
    await copyPackages(home)
    let versions = /** @type {Record<string, string>} */ (DEPENDENCIES)
    for (const { name, change, built } of [{ name: 'first', change: {}, built: 'all' }, ...STEPS]) {
      versions = { ...versions, ...change }
      const difference = await buildWith(join(home, 'project'), versions, built)
      if (difference !== undefined) wrong++
      report(`${difference === undefined ? 'right' : 'WRONG'} Yarn PnP / ${name}${difference === undefined ? '' : `: ${difference}`}`)
    }
  } finally {
    await rm(home, { recursive: true, force: true })
  }
  return wrong
}

/** Copies what is published of the packages: the suite must not find their dependencies in this repository. @param {string} home */
async function copyPackages(home) {
  await mkdir(join(home, 'project'), { recursive: true })
  for (const name of ['varve', 'plugins']) {
    await cp(at(`packages/${name}`), join(home, name), { recursive: true, filter: (path) => !/(?:src|native|node_modules)$/.test(path) })
  }
  const settings = ['nodeLinker: pnp', 'enableTelemetry: false', 'enableGlobalCache: false', 'enableImmutableInstalls: false']
  await writeFile(join(home, 'project/.yarnrc.yml'), `${settings.join('\n')}\n`)
  await writeFile(join(home, 'project/yarn.lock'), '')
  await writeFile(join(home, 'project/main.js'), "import './main.css'\nimport isOdd from 'is-odd'\nconsole.log(isOdd(3))\n")
  await writeFile(join(home, 'project/main.css'), 'a { color: red }\n')
  await writeFile(join(home, 'project/build.mjs'), BUILD)
}

/**
 * Installs these versions and builds with and without a cache. Returns how the cached build is wrong.
 * @param {string} folder
 * @param {Record<string, string>} versions
 * @param {string} expected
 */
async function buildWith(folder, versions, expected) {
  const [varve, plugins] = ['file:../varve', 'file:../plugins']
  const manifest = { name: 'project', private: true, dependencies: { ...versions, varve, '@varve/plugins': plugins }, resolutions: { varve } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await run(process.execPath, [YARN, 'install'], { cwd: folder })
  const build = async (/** @type {string} */ way) => JSON.parse(await run(process.execPath, [YARN, 'node', 'build.mjs', way], { cwd: folder }))
  const [cached, plain] = [await build('cached'), await build('plain')]
  if (cached.digest !== plain.digest) return 'the output differs from that of a build without a cache'
  const found = cached.built === 0 ? 'none' : cached.built === plain.built ? 'all' : 'some'
  return found === expected ? undefined : `webpack built ${cached.built} of ${plain.built} modules, expected ${expected}`
}
