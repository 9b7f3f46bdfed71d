// @ts-check
// `node bench/cli.mjs`: CPU time of the command `varve`: its start beside that of Node.js, `ls` of 1 million entries, and `import` of
// 1 GiB. Each round runs all of them in turn, and the figures are medians of the rounds. `--rounds 9`, `--small` (1 % of the data).
import { spawnSync } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCache } from 'varve'
import { median } from './median.mjs'
import { printProcessor } from './processor.mjs'
import { inTurn, readArguments } from './turns.mjs'

const COMMAND = fileURLToPath(new URL('../packages/varve/dist/bundle/cli.js', import.meta.url))
const COMMIT_BYTES = 16 << 20
const { options } = readArguments({ rounds: 5, small: false })
const part = options.small ? 0.01 : 1
// With this variable, Node.js parses all certificates at each start: 30 ms, which would make the start of the command look short beside it.
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env

/** @param {string} dir @param {number} count @param {number} bytes */
async function makeCache(dir, count, bytes) {
  const cache = await openCache({ name: 'cli', dir, maxBytes: 8 * 2 ** 30, history: 'never' })
  const modules = cache.namespace('modules')
  const [value, perCommit] = [new Uint8Array(bytes), Math.ceil(COMMIT_BYTES / bytes)]
  for (let index = 0; index < count; index++) {
    modules.put(`packages/app/src/components/module-${index}.js`, randomFillSync(value))
    if (index % perCommit === 0) await cache.commit()
  }
  await cache.close()
}

/** Seconds of CPU that `node` with these arguments takes. @param {readonly string[]} args */
function cpuOf(args) {
  const timed = 'TIMEFORMAT="%U %S"; time "$@" > /dev/null'
  const { status, stderr } = spawnSync('bash', ['-c', timed, 'bash', process.execPath, ...args], {
    encoding: 'utf8',
    env,
  })
  if (status !== 0) throw new Error(stderr)
  const [user = 0, system = 0] = stderr.trim().split(/\s+/).map(Number)
  return user + system
}

printProcessor()
const folder = mkdtempSync(join(tmpdir(), 'varve-cli-'))
try {
  const [small, large, big, file, target] = ['small', 'large', 'big', 'export.json', 'target'].map((name) =>
    join(folder, name),
  )
  await makeCache(small ?? '', 2000, 1000)
  await makeCache(large ?? '', 1_000_000 * part, 100)
  await makeCache(big ?? '', 98_304 * part, 8192)
  cpuOf([COMMAND, 'export', '--dir', big ?? '', '-o', file ?? ''])
  /** @type {Record<string, readonly string[]>} */
  const commands = {
    'node -e 0': ['-e', '0'],
    'varve --version': [COMMAND, '--version'],
    'varve stats': [COMMAND, 'stats', '--dir', small ?? ''],
    'varve ls --limit 1': [COMMAND, 'ls', '--limit', '1', '--dir', small ?? ''],
    'varve ls, 1 million entries': [COMMAND, 'ls', '--dir', large ?? ''],
    'varve ls --json, 1 million entries': [COMMAND, 'ls', '--json', '--dir', large ?? ''],
    'varve import, 1 GiB': [COMMAND, 'import', file ?? '', '--dir', target ?? ''],
  }
  const found = await inTurn(commands, options.rounds, (args) => {
    rmSync(target ?? '', { recursive: true, force: true })
    return cpuOf(args)
  })
  const base = found['node -e 0'] ?? []
  for (const [name, seconds] of Object.entries(found)) {
    const ratio = median(seconds.map((each, round) => each / (base[round] ?? Number.NaN)))
    process.stdout.write(
      `${name.padEnd(36)} ${median(seconds).toFixed(3).padStart(7)} s   ${ratio.toFixed(2).padStart(6)} x Node.js\n`,
    )
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
