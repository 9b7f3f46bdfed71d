/**
 * Caches of one folder in one process share a native store. If the first handle was opened as relaxed, a durable
 * handle committed relaxed, too, and a power failure could lose its acknowledged commits.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { CAN_TRACE } from '../read-only/trace.ts'

const PROGRAM = fileURLToPath(new URL('shared.mjs', import.meta.url))

/** Calls that made the log durable. */
function syncs(durability: string): string[] {
  const folder = makeFolder()
  const log = join(folder, 'trace')
  const dir = join(folder, 'cache')
  const { signal } = spawnSync('strace', [
    '-f',
    '-y',
    '-qq',
    '-o',
    log,
    '-e',
    'trace=fsync,fdatasync',
    process.execPath,
    PROGRAM,
    dir,
    durability,
  ])
  expect(signal).toBe('SIGKILL')
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.includes(`${dir}/v1/0.log`))
}

it.skipIf(!CAN_TRACE)('a durable cache beside a relaxed one of the same folder commits durably', () => {
  expect(syncs('durable').length).toBeGreaterThan(0)
  expect(syncs('relaxed')).toEqual([])
})
