/** The threads of the native engine: all caches of a process use them, and they end with the last one. */
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'

const SCRIPT = fileURLToPath(new URL('pool.mjs', import.meta.url))
const hasThreads = process.platform === 'linux' && availableParallelism() > 1

function run(chosen: string, flags: readonly string[] = []): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, SCRIPT, makeFolder(), chosen], {
    encoding: 'utf8',
  })
  return { status, stdout: stdout.trim(), stderr }
}

const ended = (saw: unknown): ReturnType<typeof run> => ({ status: 0, stdout: JSON.stringify(saw), stderr: '' })

describe('threads of the native engine', () => {
  it.skipIf(!hasThreads)('start with the first work for several and end when the last cache closes', () => {
    expect(run('last close')).toEqual(ended({ before: 0, hasThreads: true, hasKept: true }))
  })

  it('start again after they ended, with a small heap of JavaScript, too', () => {
    expect(run('many times', ['--max-old-space-size=16'])).toEqual(ended('closed'))
  })

  it('do not keep process.exit from ending the process while they work', () => {
    expect(run('exit')).toEqual({ status: 7, stdout: '', stderr: '' })
  })

  it('outlive worker threads that end while they work', () => {
    expect(run('workers')).toEqual(ended({ codes: [1], damage: [] }))
  })

  it('are not those of a child process that is forked while they work', () => {
    expect(run('children')).toEqual(ended(0))
  })
})
