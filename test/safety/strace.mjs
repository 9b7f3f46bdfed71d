// @ts-check
// strace, which records the system calls of the package and makes them fail. Continuous integration installs it if possible;
// elsewhere the parts that need it are skipped with a message.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** @type {{ why: string | undefined } | undefined} */
let known

/** Why strace cannot be used; undefined if it can. @param {(text: string) => void} say @returns {string | undefined} */
export function missingStrace(say) {
  known ??= { why: find(say) }
  return known.why
}

/** @param {(text: string) => void} say */
function find(say) {
  if (process.platform !== 'linux') return `strace is for Linux, and this is ${process.platform}`
  if (!isThere() && process.env.CI && process.getuid?.() === 0 && existsSync('/etc/debian_version')) {
    say('installing strace (apt-get install strace)')
    for (const args of [['update'], ['install', '--yes', '--no-install-recommends', 'strace']]) {
      spawnSync('apt-get', args, {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      })
    }
  }
  if (!isThere()) return 'strace is not installed; on Debian: apt-get install strace'
  const { status } = spawnSync('strace', [
    '-f',
    '--seccomp-bpf',
    '-e',
    'trace=openat',
    '-o',
    '/dev/null',
    process.execPath,
    '--version',
  ])
  return status === 0 ? undefined : 'strace may not watch other programs here (ptrace is forbidden)'
}

const isThere = () => spawnSync('strace', ['-V']).status === 0
