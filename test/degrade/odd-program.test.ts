/** Programs with odd globals, and directories in which nothing can be made: calls end, and reject only with the cause. */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'

const PROGRAM = fileURLToPath(new URL('odd-program.mjs', import.meta.url))
/** A call without an end is stopped here; no other takes nearly as long. */
const ENDLESS_MS = 60_000

function run(args: readonly string[], flags: readonly string[] = []): string {
  const { stdout, stderr, error } = spawnSync(process.execPath, [...flags, PROGRAM, ...args], {
    encoding: 'utf8',
    timeout: ENDLESS_MS,
    env: { ...process.env, VARVE_ENGINE: undefined },
  })
  if (error !== undefined) throw error
  return stdout.trim() || stderr
}

describe.each(ENGINES)('odd programs: %s', (engine) => {
  it.each([
    'enumerable property',
    'toJSON of arrays',
    'toJSON of objects',
    'toJSON of strings',
    'clock with a fraction',
    'clock without a time',
    'clock of infinity',
    'clock of text',
    'clock that throws',
    'performance without a time',
    'frozen prototypes',
    'elements of all arrays',
    'another JSON',
    'another Buffer',
    'no crypto',
  ])('no call rejects and values come back as they were put: %s', (odd) => {
    expect(run([engine, join(makeFolder(), 'cache'), odd])).toBe('sound')
  })

  // The recursion of `mkdirSync` of Node.js never ended there.
  it.skipIf(process.platform !== 'linux').each(['/proc/self/fd/x', '/proc/self/fd/x/y/z', '/proc/self/task/x'])(
    'a commit to a directory in which nothing can be made ends: %s',
    (dir) => {
      expect(run([engine, dir, ''])).toMatch(/^commit json: IO cannot create /)
    },
  )

  it.skipIf(process.platform !== 'linux')('a commit in a working directory that was removed ends', () => {
    expect(run([engine, '/proc/self/cwd/cache', 'removed directory'])).toMatch(/^commit json: IO cannot create /)
  })

  it.skipIf(process.platform === 'win32')('tasks without a root work in a working directory that was removed', () => {
    const program = fileURLToPath(new URL('removed.mjs', import.meta.url))
    const out = execFileSync(process.execPath, [program, engine], { encoding: 'utf8' })
    expect(out.trim().split('\n')).toEqual(['made', 'made', 'made', 'made'])
  })
})

it('without WebAssembly only files are unavailable, and what needs a disk, with the reason', () => {
  const failed = run(['wasm', join(makeFolder(), 'cache'), ''], ['--jitless']).split('\n')
  expect(failed).toEqual([
    expect.stringMatching(/^store: ENGINE_UNAVAILABLE .*this process has no WebAssembly, as under --jitless/),
    expect.stringMatching(/^flush: ENGINE_UNAVAILABLE .*this process has no WebAssembly, as under --jitless/),
  ])
})
