// @ts-check
// The commands that the scripts start without a shell: cargo, npm, and the tools of node_modules.
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { at, root, targetDir } from './root.mjs'
import { run } from './steps.mjs'

const NODE_NEEDED = 'Node 20.19 or newer (of the 22 line: 22.12 or newer)'
const exe = process.platform === 'win32' ? '.exe' : ''

/** Whether this version of Node can run Varve. @param {string} version */
export function nodeFits(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22
}

export function checkNode() {
  const version = process.versions.node
  if (!nodeFits(version)) throw new Error(`Varve needs ${NODE_NEEDED}; this is ${version}.`)
}

/** The directory of cargo, on PATH or where rustup installs it, or undefined. */
function cargoFolder() {
  const places = (process.env.PATH ?? '').split(delimiter)
  const home = process.env.CARGO_HOME ?? join(homedir(), '.cargo')
  return [...places, join(home, 'bin')].find((folder) => isRunnable(join(folder, `cargo${exe}`)))
}

/** @param {string} path */
function isRunnable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The environment in which cargo, rustc and rustup are found. */
export function rustEnv() {
  const folder = cargoFolder()
  if (folder === undefined) {
    throw new Error('cargo was not found on PATH nor in ~/.cargo/bin. Varve is built with Rust: install rustup.')
  }
  return { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH ?? ''}` }
}

/** Every build uses the lock file. To change it: `cargo update`, or `cargo metadata` in the directory of the workspace. */
export const LOCKED = '--locked'

/**
 * @param {string} subcommand
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [extra]
 * @param {string} [cwd] the workspace
 */
export function cargo(subcommand, args, extra = {}, cwd = root) {
  return run('cargo', [subcommand, LOCKED, ...args], {
    cwd,
    env: { ...rustEnv(), CARGO_TARGET_DIR: targetDir, ...extra },
  })
}

/** Adds the WebAssembly target to the toolchain if it is missing. Returns true if it was. */
export async function addWasmTarget() {
  const env = rustEnv()
  const sysroot = (await run('rustc', ['--print', 'sysroot'], { env })).trim()
  if (existsSync(join(sysroot, 'lib', 'rustlib', 'wasm32-unknown-unknown', 'lib'))) return false
  await run('rustup', ['target', 'add', 'wasm32-unknown-unknown'], { env })
  return true
}

/** @param {readonly string[]} args */
export function npm(args) {
  const cli = process.env.npm_execpath
  const startedByNpm = cli !== undefined && basename(cli) === 'npm-cli.js'
  return startedByNpm ? run(process.execPath, [cli, ...args]) : run('npm', args)
}

/**
 * The script of a command in an installed package.
 * @param {string} command
 * @param {string} [packageName]
 */
export function toolPath(command, packageName = command) {
  const folder = at(`node_modules/${packageName}`)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof bin === 'string' ? bin : bin[command])
}

/** @param {readonly string[]} args */
export const tsc = (args) => run(process.execPath, [toolPath('tsc', 'typescript'), ...args])
