// @ts-check
// One run of the disturbed program: strace attaches to it while it works and detaches before its last step.
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** @typedef {import('./program.mjs').Attempt} Attempt */
/**
 * `snapshot`: a copy of the cache after the commits; the copy named `-2` is from the end of the faults.
 * @typedef {{ before: Attempt[], committing: Attempt[], compacting: Attempt[], after: Attempt[], exit: string, snapshot: string, dir: string }} Run
 */

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url))
export const EXIT_CODE = 7

/** Where a run as a whole hangs: a machine may be busy, so this is more than the calls may take. */
const HANG_MS = 60_000

/**
 * @param {string} folder an empty one of ours
 * @param {'native' | 'wasm'} engine
 * @param {readonly string[]} strace its options
 * @returns {Promise<Run>}
 */
export async function disturbed(folder, engine, strace) {
  const [dir, snapshot] = [join(folder, 'cache'), join(folder, 'snapshot')]
  mkdirSync(folder, { recursive: true })
  const env = { ...process.env, VARVE_DIR: '', VARVE_ENGINE: '', UV_USE_IO_URING: '0' }
  const child = spawn(process.execPath, [PROGRAM, engine, dir, String(EXIT_CODE)], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => void child.on('close', (code, signal) => resolve(String(signal ?? code))))
  const clock = setTimeout(() => child.kill('SIGKILL'), HANG_MS)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const hear = async () => /** @type {Attempt[]} */ (JSON.parse((await lines.next()).value ?? '[]'))
  const say = () => void child.stdin.write('go\n')
  child.stdin.on('error', () => {})
  const before = await hear()
  const detach = await attach(child.pid ?? 0, strace)
  say()
  const committing = await hear()
  // What others would find now: afterwards compaction may write again, from memory, what a commit did not.
  if (committing.length > 0) cpSync(dir, snapshot, { recursive: true })
  say()
  const compacting = await hear()
  await detach()
  if (compacting.length > 0) cpSync(dir, `${snapshot}-2`, { recursive: true })
  say()
  const after = await hear()
  const exit = /** @type {string} */ (await ended)
  clearTimeout(clock)
  return { before, committing, compacting, after, exit, snapshot, dir }
}

/** Puts strace on a process; what comes back takes it off. @param {number} pid @param {readonly string[]} options */
async function attach(pid, options) {
  const strace = spawn('strace', ['-f', '-p', String(pid), ...options], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise((resolve) => void strace.on('close', resolve))
  let said = ''
  const attached = new Promise((resolve) => {
    strace.stderr.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      said += text
      if (said.includes('attached')) resolve(true)
    })
  })
  const isOn = await Promise.race([attached, ended.then(() => false)])
  if (isOn !== true) throw new Error(`strace could not attach: ${said}`)
  return async () => {
    strace.kill('SIGINT')
    await ended
  }
}
