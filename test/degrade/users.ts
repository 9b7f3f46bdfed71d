/** Two users, for tests that run as root: one builds, the other one attacks. Nothing outside of the tests' folders is touched. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { MAIN, type Ran } from '../command.ts'
import type { EngineName } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { IS_ROOT, made } from './folders.ts'

export const BUILDER = 12_345
export const ATTACKER = 12_346

const BUILD = fileURLToPath(new URL('build.mjs', import.meta.url))
const LATE = fileURLToPath(new URL('late.mjs', import.meta.url))

/** Whether this machine lets a test be two users, and these read the checkout. */
export const HAS_TWO_USERS =
  IS_ROOT &&
  spawnSync('setpriv', [...as(BUILDER), process.execPath, BUILD, '/dev/null/none', 'wasm'], { cwd: '/' }).status === 0
if (!HAS_TWO_USERS) console.warn('SKIPPED: tests with two users run as root, on systems with setpriv')

function as(user: number): string[] {
  return [`--reuid=${user}`, `--regid=${user}`, '--clear-groups']
}

/** A folder of root that everybody may enter. */
export function openGround(mode: number = 0o755): string {
  const folder = makeFolder()
  chmodSync(folder, mode)
  return folder
}

/** Makes a folder and gives it away. */
export function folderOf(user: number, folder: string, mode: number = 0o755): string {
  mkdirSync(folder, { recursive: true })
  chownSync(folder, user, user)
  chmodSync(folder, mode)
  return folder
}

/** A closed cache with one entry, at `dir`, that belongs to `user` and that everybody may read. */
export async function cacheOf(user: number, dir: string, engine: EngineName): Promise<string> {
  cpSync(await made(engine), dir, { recursive: true })
  execFileSync('chown', ['-R', `${user}:${user}`, dir])
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', dir])
  return dir
}

/** What a build as `user` came to. */
export interface Built {
  readonly mode?: string
  readonly why?: string
  readonly inMemory?: boolean
  readonly values: readonly (string | null)[]
  readonly warnings: readonly string[]
}

/** Runs a build, with the package at `from` if it is given. */
export function build(user: number, dir: string, engine: EngineName, { program = BUILD, cwd = '/' } = {}): Built {
  const env = { ...process.env, CACHE_DIR: '', VARVE_DIR: '' }
  const { status, stdout, stderr } = spawnSync('setpriv', [...as(user), process.execPath, program, dir, engine], {
    cwd,
    env,
    encoding: 'utf8',
  })
  if (status !== 0 || stderr !== '') throw new Error(`the build failed (${status}): ${stderr}`)
  return JSON.parse(stdout)
}

/** Runs the command as `user`. */
export function varveAs(user: number, args: readonly string[], cwd: string): Ran {
  const ran = spawnSync('setpriv', [...as(user), process.execPath, MAIN, ...args], { cwd, encoding: 'utf8', input: '' })
  return { status: ran.status, out: ran.stdout, err: ran.stderr }
}

/** A build whose steps the test starts. */
export class LateBuild {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    this.#child = child
    this.#lines = lines
  }

  static async begin(user: number, dir: string, engine: EngineName): Promise<LateBuild> {
    const child = spawn('setpriv', [...as(user), process.execPath, LATE, dir, engine], {
      cwd: '/',
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const late = new LateBuild(child, createInterface({ input: child.stdout })[Symbol.asyncIterator]())
    await late.#answer()
    return late
  }

  async step(name: 'commit' | 'refresh' | 'store' | 'get' | 'status'): Promise<unknown> {
    this.#child.stdin?.write(`${name}\n`)
    return this.#answer()
  }

  async end(): Promise<number | null> {
    this.#child.stdin?.end()
    return new Promise((resolve) => void this.#child.on('exit', resolve))
  }

  async #answer(): Promise<unknown> {
    const { value } = await this.#lines.next()
    return JSON.parse(String(value))
  }
}

/** A copy of the package `varve` in `modules`, and a build beside it that uses that copy. */
export function installIn(project: string): string {
  const from = fileURLToPath(new URL('../../packages/varve', import.meta.url))
  const to = join(project, 'node_modules/varve')
  for (const part of ['dist', 'generated', 'native', 'package.json'])
    cpSync(join(from, part), join(to, part), { recursive: true })
  cpSync(BUILD, join(project, 'build.mjs'))
  return join(project, 'build.mjs')
}
