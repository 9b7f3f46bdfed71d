// @ts-check
// Records a workload: makes its first folder, runs it under strace, and parses the calls. At the end it replays all
// operations, and the result must equal the real folder. This proves that the recording is complete.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { imageOf, Operations } from './operations.mjs'
import { callsOf } from './parse.mjs'
import { namesOf } from './states.mjs'

/** @import { Image, Operation } from './operations.mjs' */
/** @import { Damage, Workload } from './workloads.mjs' */

/**
 * @typedef {object} Recording
 * @property {string} workload
 * @property {'native' | 'wasm'} engine
 * @property {Image} base the folder at the start, all of it durable
 * @property {readonly Operation[]} operations
 */

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url))

/** Whatever may change files or make them durable, and what is needed to know which file is meant. */
const CALLS = [
  'open', 'openat', 'openat2', 'creat', 'write', 'pwrite64', 'writev', 'pwritev', 'pwritev2', 'truncate', 'ftruncate', 'fallocate',
  'fsync', 'fdatasync', 'sync', 'syncfs', 'sync_file_range', 'msync', 'mmap', 'rename', 'renameat', 'renameat2', 'link', 'linkat',
  'unlink', 'unlinkat', 'rmdir', 'mkdir', 'mkdirat', 'symlink', 'symlinkat', 'mknod', 'mknodat', 'copy_file_range', 'sendfile',
  'splice', 'ioctl', 'fcntl', 'dup', 'dup2', 'dup3', 'io_uring_enter',
]

/**
 * @param {Workload} workload
 * @param {'native' | 'wasm'} engine
 * @param {string} folder an empty folder of ours
 * @returns {Recording}
 */
export function record(workload, engine, folder) {
  // The root is what a crash may change; the cache is one folder below, so that its own name is part of the question.
  const [root, marks, trace] = ['root', 'marks', 'trace'].map((name) => join(folder, name))
  mkdirSync(/** @type {string} */ (root), { recursive: true })
  const cache = join(String(root), 'cache')
  const order = (/** @type {string} */ part) => [PROGRAM, workload.name, part, engine, cache, String(marks)]
  if (workload.before.length > 0) run(process.execPath, order('before'), workload)
  if (workload.damage !== undefined) damage(join(cache, 'v1'), workload.damage)
  const base = imageOf(String(root))
  writeFileSync(String(marks), '')
  const what = ['-e', `trace=${CALLS.join(',')}`, '-e', 'signal=none']
  const how = ['-f', '-y', '-xx', '-s', String(1 << 28), '--seccomp-bpf']
  run('strace', [...how, ...what, '-o', String(trace), process.execPath, ...order('steps')], workload)
  const operations = new Operations(base, String(root), String(marks))
  for (const call of callsOf(readFileSync(String(trace), 'latin1'), [String(root), String(marks)])) operations.take(call)
  const recording = { workload: workload.name, engine, base, operations: operations.list }
  compare(recording, String(root))
  rmSync(String(trace))
  return recording
}

/** @param {string} command @param {string[]} args @param {Workload} workload */
function run(command, args, workload) {
  const env = { ...process.env, VARVE_DIR: '', VARVE_ENGINE: '', UV_USE_IO_URING: '0', LC_ALL: 'C' }
  const { status, stderr, error } = spawnSync(command, args, { env, encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'], timeout: 120_000 })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`recording ${workload.name}: ${command} ended with ${status}\n${stderr}`)
}

/** Flips a bit in the middle of a file. @param {string} folder @param {Damage} kind */
function damage(folder, kind) {
  const ending = { log: /^\d+\.log$/, manifest: /^manifest-\d+$/, table: /\.table$/ }[kind]
  const name = readdirSync(folder).find((one) => ending.test(one))
  if (name === undefined) throw new Error(`no ${kind} to damage in ${readdirSync(folder).join(', ')}`)
  const bytes = readFileSync(join(folder, name))
  // Of a log in its first commit, of a table in its first block, so that something else is left to lose.
  const at = kind === 'log' ? 100 : kind === 'table' ? 200 : Math.floor(bytes.length / 2)
  bytes[at] = (bytes[at] ?? 0) ^ 4
  writeFileSync(join(folder, name), bytes)
}

/** @param {Recording} recording @param {string} root */
function compare({ workload, engine, base, operations }, root) {
  const played = namesOf(base, operations)
  const real = existsSync(root) ? imageOf(root) : base
  const problem = [...new Set([...played.keys(), ...real.names.keys()])].find((path) => {
    const inode = real.names.get(path)
    const [ours, theirs] = [played.get(path), inode === undefined ? undefined : real.contents.get(inode) ?? null]
    if (ours === undefined || theirs === undefined) return true
    return ours === null || theirs === null ? ours !== theirs : !ours.equals(theirs)
  })
  if (problem !== undefined) throw new Error(`recording ${workload}/${engine}: ${problem} is not what the calls amount to`)
}
