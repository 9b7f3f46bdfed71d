// @ts-check
// Records a workload: makes its first directory, runs it under strace, and parses the calls. `recordings.rs` of the engine's
// suites reads the result, checks that the operations lead from the first directory to the last, and crashes them.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Operations } from './operations.mjs'
import { callsOf } from './parse.mjs'
import { commitsOf, valueOf } from './workloads.mjs'

/** @import { Damage, Numbered, Workload } from './workloads.mjs' */

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url))

/** All calls that can change files or make them durable, and those that name the file. */
const CALLS = [
  'open',
  'openat',
  'openat2',
  'creat',
  'write',
  'pwrite64',
  'writev',
  'pwritev',
  'pwritev2',
  'truncate',
  'ftruncate',
  'fallocate',
  'fsync',
  'fdatasync',
  'sync',
  'syncfs',
  'sync_file_range',
  'msync',
  'mmap',
  'rename',
  'renameat',
  'renameat2',
  'link',
  'linkat',
  'unlink',
  'unlinkat',
  'rmdir',
  'mkdir',
  'mkdirat',
  'symlink',
  'symlinkat',
  'mknod',
  'mknodat',
  'copy_file_range',
  'sendfile',
  'splice',
  'ioctl',
  'fcntl',
  'dup',
  'dup2',
  'dup3',
  'io_uring_enter',
]

/**
 * Writes `recording.json` and the directories `first` and `last` into `folder`. Returns the directories that a durable
 * commit had not made durable.
 * @param {Workload} workload
 * @param {'native' | 'wasm'} engine
 * @param {string} folder an empty one
 * @returns {Promise<ReadonlySet<string>>}
 */
export async function record(workload, engine, folder) {
  // A crash can change everything in the root. The cache is one level below, so that its own name is part of the question.
  const [root, marks, trace] = /** @type {[string, string, string]} */ (
    ['root', 'marks', 'trace'].map((name) => join(folder, name))
  )
  mkdirSync(root, { recursive: true })
  const base = join(root, 'cache', 'v1')
  const order = (/** @type {string} */ part) => [PROGRAM, workload.name, part, engine, join(root, 'cache'), marks]
  if (workload.before.length > 0) await run(process.execPath, order('before'))
  if (workload.damage !== undefined) damage(base, workload.damage)
  const files = filesIn(base)
  if (existsSync(base)) cpSync(base, join(folder, 'first'), { recursive: true })
  writeFileSync(marks, '')
  const options = [
    '-f',
    '-y',
    '-xx',
    '-s',
    String(1 << 28),
    '--seccomp-bpf',
    '-e',
    `trace=${CALLS.join(',')}`,
    '-e',
    'signal=none',
  ]
  await run('strace', [...options, '-o', trace, process.execPath, ...order('steps')])
  const operations = new Operations(files, { root, base, marks })
  for (const call of callsOf(readFileSync(trace, 'latin1'), [root, marks])) operations.take(call)
  rmSync(trace)
  cpSync(base, join(folder, 'last'), { recursive: true })
  const commits = commitsOf(workload)
  writeFileSync(
    join(folder, 'recording.json'),
    JSON.stringify({
      phase: workload.phase,
      isDamaged: workload.damage !== undefined,
      first: files.map(({ path }) => path),
      last: filesIn(base).map(({ path }) => path),
      before: commits.filter(({ isRecorded }) => !isRecorded).map(changesOf),
      commits: commits.filter(({ isRecorded }) => isRecorded).map(changesOf),
      operations: operations.list,
    }),
  )
  return operations.unsynced
}

/** What a commit does to the entries. @param {Numbered} commit */
function changesOf({ number, step, isReset }) {
  const puts = step.puts.map(({ key, bytes }) => [key, valueOf(key, number, bytes).toString('hex')])
  return { isReset, changes: [...puts, ...step.removes.map((key) => [key, null])] }
}

/** The files below a directory. @param {string} base */
function filesIn(base) {
  if (!existsSync(base)) return []
  const entries = readdirSync(base, { recursive: true })
    .map(String)
    .sort()
    .map((path) => ({ path, stat: statSync(join(base, path)) }))
  return entries.filter(({ stat }) => stat.isFile()).map(({ path, stat }) => ({ path, size: stat.size }))
}

/** @param {string} command @param {string[]} args */
async function run(command, args) {
  const env = { ...process.env, VARVE_DIR: '', VARVE_ENGINE: '', UV_USE_IO_URING: '0', LC_ALL: 'C' }
  await promisify(execFile)(command, args, { env, timeout: 120_000 })
}

/** Flips a bit of a file. @param {string} folder @param {Damage} kind */
function damage(folder, kind) {
  const ending = { log: /^\d+\.log$/, manifest: /^manifest-\d+$/, table: /\.table$/ }[kind]
  const name = readdirSync(folder).find((one) => ending.test(one))
  if (name === undefined) throw new Error(`no ${kind} to damage in ${readdirSync(folder).join(', ')}`)
  const bytes = readFileSync(join(folder, name))
  // Of a log in its first commit, of a table in its first block, so that the rest can be lost, too.
  const at = kind === 'log' ? 100 : kind === 'table' ? 200 : Math.floor(bytes.length / 2)
  bytes[at] = (bytes[at] ?? 0) ^ 4
  writeFileSync(join(folder, name), bytes)
}
