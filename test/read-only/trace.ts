/** Counts the calls of a program that write below a folder, as the kernel sees them. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../folders.ts'

/** Calls that always create, change or remove something. */
const WRITES = [
  'creat',
  'mkdir',
  'mkdirat',
  'mknod',
  'mknodat',
  'unlink',
  'unlinkat',
  'rmdir',
  'rename',
  'renameat',
  'renameat2',
  'link',
  'linkat',
  'symlink',
  'symlinkat',
  'truncate',
  'ftruncate',
  'fallocate',
  'utime',
  'utimes',
  'utimensat',
  'futimesat',
  'chmod',
  'fchmod',
  'fchmodat',
  'chown',
  'fchown',
  'lchown',
  'fchownat',
  'setxattr',
  'lsetxattr',
  'fsetxattr',
  'copy_file_range',
]

/** Calls that write to a file that is open: what they write may name the folder, too. */
const WRITES_OPEN = ['write', 'pwrite64', 'writev', 'pwritev', 'pwritev2', 'sendfile']

/** Calls that write depending on their flags. A lock counts, because other processes take it for a live writer. */
const FLAGS =
  /^(?:open|openat|openat2)\(.*\bO_(?:CREAT|WRONLY|RDWR|TRUNC|APPEND|TMPFILE)\b|^flock\(.*LOCK_EX|^mmap\(.*PROT_WRITE.*MAP_SHARED/

/** Whether programs can be traced here. */
export const CAN_TRACE = process.platform === 'linux' && spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0

/** What a program did, and which of its calls write below `dir`. */
export interface Traced {
  readonly status: number | null
  readonly out: string
  /** Calls that name something below the folder, of any kind: with none the trace saw nothing. */
  readonly calls: number
  readonly writes: readonly string[]
}

/** Runs node under strace. */
export function traced(dir: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Traced {
  const log = join(makeFolder(), 'trace')
  const others = [
    'open',
    'openat',
    'openat2',
    'flock',
    'mmap',
    'stat',
    'lstat',
    'statx',
    'newfstatat',
    'access',
    'faccessat2',
  ]
  const names = [...WRITES, ...WRITES_OPEN, ...others]
  const options = ['-f', '-y', '-qq', '-o', log, '-e', `trace=${names.map((name) => `?${name}`).join(',')}`]
  const spawned = { encoding: 'utf8', env: { ...process.env, ...env } } as const
  const { status, stdout } = spawnSync('strace', [...options, process.execPath, ...args], spawned)
  const lines = readFileSync(log, 'utf8')
    .split('\n')
    .map((line) => line.replace(/^\d+ +/, ''))
  const below = lines.filter((line) => line.includes(dir))
  const isWrite = (line: string): boolean => {
    const [name = '', first = ''] = line.split(/[(,]/, 2)
    return WRITES_OPEN.includes(name) ? first.includes(dir) : FLAGS.test(line) || WRITES.includes(name)
  }
  return { status, out: stdout, calls: below.length, writes: below.filter(isWrite) }
}
