// @ts-check
// The package managers that a rehearsal installs with. Each gets an empty project and an empty home directory, so that no cache and no
// setting of this machine takes part.
import { cp, lstat, mkdir, readdir, writeFile } from 'node:fs/promises'
import { performance } from 'node:perf_hooks'
import { join } from 'node:path'
import { expectFailed, runChecks, STEPS } from '../platforms/run.mjs'
import { at } from '../common/root.mjs'
import { run } from '../common/steps.mjs'
import { tools } from './registry.mjs'
import { PACKAGES } from './versions.mjs'

/**
 * @typedef {object} Manager
 * @property {string} name
 * @property {readonly string[]} install the command before the names of the packages
 * @property {readonly string[]} execute the command before the name of an installed command
 * @property {readonly string[]} [node] the command that runs Node.js
 */

const binary = `${process.platform}-${process.arch}`
const pnpm = [process.execPath, join(tools, 'pnpm/bin/pnpm.cjs')]
const yarn = [process.execPath, join(tools, '@yarnpkg/cli-dist/bin/yarn.js')]
const classic = [process.execPath, join(tools, 'yarn/bin/yarn.js')]
const bun = join(tools, `@oven/bun-${binary.replace('arm64', 'aarch64')}/bin/bun`)

/** @type {readonly Manager[]} */
export const MANAGERS = [
  { name: 'npm', install: ['npm', 'install'], execute: ['npx', '--no-install'] },
  { name: 'pnpm', install: [...pnpm, 'add'], execute: [...pnpm, 'exec'] },
  { name: "Yarn, Plug'n'Play", install: [...yarn, 'add'], execute: yarn, node: [...yarn, 'node'] },
  { name: 'Yarn 1', install: [...classic, 'add'], execute: [...classic, '--silent'] },
  { name: 'Bun', install: [bun, 'add'], execute: [bun, 'x', '--no-install'] },
]

/**
 * Installs the packages into an empty project.
 * @param {Manager} manager
 * @param {string} folder an empty directory
 * @param {string} registry
 */
export async function install({ install: [program = '', ...args] }, folder, registry) {
  const { project, env } = await makeProject(folder, registry)
  const startMs = performance.now()
  await run(program, [...args, ...PACKAGES], { cwd: project, env })
  return { project, env, seconds: (performance.now() - startMs) / 1000 }
}

/**
 * Installs the packages and checks them there. The row of the table.
 * @param {Manager} manager
 * @param {string} folder an empty directory
 * @param {string} registry
 */
export async function tryManager(manager, folder, registry) {
  const { project, env, seconds } = await install(manager, folder, registry)
  const bytes = await bytesOf(project)
  const engine = await engineOf(manager, project, env)
  await cp(at('scripts/platforms/checks.mjs'), join(project, 'checks.mjs'))
  for (const name of /** @type {const} */ (['native', 'wasm'])) {
    expectFailed(await runChecks(project, [...(manager.node ?? [process.execPath]), 'checks.mjs'], name, env), name)
  }
  return [
    `${manager.name} ${await versionOf(manager)}`,
    seconds.toFixed(1),
    (bytes / 1e6).toFixed(1),
    engine,
    String(STEPS),
    String(STEPS),
  ]
}

/** @param {string} folder @param {string} registry */
async function makeProject(folder, registry) {
  const project = join(folder, 'project')
  const home = join(folder, 'home')
  for (const directory of [project, home]) await mkdir(directory, { recursive: true })
  await writeFile(
    join(project, 'package.json'),
    '{ "name": "project", "version": "1.0.0", "private": true, "type": "module" }\n',
  )
  await writeFile(join(project, '.npmrc'), `registry=${registry}\n`)
  await writeFile(join(project, 'yarn.lock'), '')
  const settings = [
    'nodeLinker: pnp',
    `npmRegistryServer: '${registry}'`,
    'unsafeHttpWhitelist: [127.0.0.1]',
    'enableGlobalCache: false',
    'enableTelemetry: false',
    'npmMinimalAgeGate: 0', // Yarn refuses packages of the last days by default
  ]
  await writeFile(join(project, '.yarnrc.yml'), settings.map((line) => `${line}\n`).join(''))
  return { project, env: emptyEnvironment(home) }
}

/** The variables of this process without those that npm sets in a script, and with another home. @param {string} home */
function emptyEnvironment(home) {
  const isSetting = (/** @type {string} */ name) =>
    /^(?:npm|pnpm|yarn|bun|xdg|varve)_|^(?:CI|INIT_CWD|NODE_OPTIONS)$/i.test(name)
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name))), HOME: home }
}

/** The engine that `varve doctor` reports. @param {Manager} manager @param {string} project @param {NodeJS.ProcessEnv} env */
async function engineOf({ execute: [program = '', ...args] }, project, env) {
  const printed = await run(program, [...args, 'varve', 'doctor', '--json'], { cwd: project, env })
  /** @type {{ findings: { what: string, found: string }[] }} */
  const { findings } = JSON.parse(printed.slice(printed.indexOf('{')))
  const found = findings.find(({ what }) => what === 'engine')?.found ?? 'none'
  if (!found.startsWith('native')) throw new Error(`varve doctor reports the engine '${found}' instead of native`)
  return 'native'
}

/** The bytes of all files of a directory. A file with several names counts once. @param {string} folder */
async function bytesOf(folder) {
  /** @type {Map<number, number>} */
  const sizes = new Map()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const { ino, size } = await lstat(join(entry.parentPath, entry.name))
    sizes.set(ino, size)
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}

/** @param {Manager} manager */
async function versionOf({ install: [program = '', ...args] }) {
  const words = args.slice(0, -1)
  return (await run(program, [...words, '--version'])).trim().split('\n').at(-1) ?? ''
}
