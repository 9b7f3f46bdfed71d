/**
 * A file system whose clock is behind that of this machine, as a network mount or a shared folder of a virtual machine may be: a file
 * that is written while work runs seems to be older than the run. Its result was stored with the new stamp, and stayed stale for good.
 */
import * as fs from 'node:fs'
import { afterAll, beforeEach, expect, it, vi } from 'vitest'
import type * as stamps from '../../packages/varve/src/inputs/stamp.ts'
import { makeFolder } from '../folders.ts'

const BEHIND_MS = 3_600_000

let stamp: typeof stamps

beforeEach(async () => {
  vi.resetModules()
  stamp = (await import(new URL('../../packages/varve/src/inputs/stamp.ts', import.meta.url).href)) as typeof stamps
})

afterAll(() => vi.resetModules())

/** The file system of this machine, with a slow clock, and without what Linux alone has if `isPlain`. */
function slowFiles(isPlain: boolean): stamps.ClockFiles {
  return {
    ...fs,
    openSync: ((path: string, flags: number, mode: number) => {
      if (isPlain && fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) throw new Error('EOPNOTSUPP')
      return fs.openSync(path, flags, mode)
    }) as typeof fs.openSync,
    fstatSync: ((file: number) => {
      const stats = fs.fstatSync(file)
      stats.ctimeMs -= BEHIND_MS
      return stats
    }) as typeof fs.fstatSync,
  }
}

it.each([
  ['by a file without a name', false],
  ['by a file in the directory of the cache', true],
])('a file that changed by the slower clock of its file system is young: measured %s', (_, isPlain) => {
  const [folder, own] = [makeFolder(), makeFolder()]
  fs.writeFileSync(`${folder}/a.txt`, 'one')
  const look = (): stamps.Look => stamp.lookAt(fs, `${folder}/a.txt`)
  const later = Date.now() + 60_000
  expect(stamp.isYoungAt(look(), later)).toBe(false)
  stamp.measureClock(slowFiles(isPlain), folder, own)
  expect(Date.now() - stamp.fileNowMs()).toBeGreaterThan(BEHIND_MS - 10) // the times of files have fractions
  expect(stamp.isYoungAt(look(), stamp.fileNowMs() + 60_000)).toBe(true)
  expect([fs.readdirSync(folder), fs.readdirSync(own)]).toEqual([['a.txt'], []])
})

it('a clock that is ahead of that of this machine needs no correction: its files are young anyway', () => {
  const folder = makeFolder()
  const fast: stamps.ClockFiles = {
    ...fs,
    fstatSync: ((file: number) => ({ ...fs.fstatSync(file), ctimeMs: Date.now() + 60_000 })) as typeof fs.fstatSync,
  }
  stamp.measureClock(fast, folder, folder)
  expect(Date.now() - stamp.fileNowMs()).toBeLessThan(1000)
})

it('a pause of the process while a clock is measured does not make that clock slow', () => {
  let isPaused = true
  const paused: stamps.ClockFiles = {
    ...fs,
    fstatSync: ((file: number) => {
      const stats = fs.fstatSync(file)
      if (isPaused) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
      isPaused = false
      return stats
    }) as typeof fs.fstatSync,
  }
  stamp.measureClock(paused, makeFolder())
  expect(isPaused).toBe(false)
  expect(Date.now() - stamp.fileNowMs()).toBeLessThan(400)
})

it('a clock that cannot be read, on a file system without Varve, is assumed to be an hour behind', () => {
  const [folder, own] = [makeFolder(), makeFolder()]
  const other: stamps.ClockFiles = {
    ...slowFiles(true),
    statSync: ((path: string) => ({ ...fs.statSync(path), dev: path === own ? 1 : 2 })) as typeof fs.statSync,
  }
  stamp.measureClock(other, folder, own)
  expect(Date.now() - stamp.fileNowMs()).toBeGreaterThanOrEqual(3_600_000)
})

it('a folder that cannot be written, before there is a cache, measures nothing and fails nothing', () => {
  stamp.measureClock(fs, '/does/not/exist', '/does/not/exist/either')
  expect(Date.now() - stamp.fileNowMs()).toBeLessThan(1000)
})

it('a clock of this machine that was set ahead after it was measured made new files look old', () => {
  const folder = makeFolder()
  stamp.measureClock(fs, folder)
  const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + BEHIND_MS)
  try {
    fs.writeFileSync(`${folder}/a.txt`, 'one')
    expect(stamp.isYoungAt(stamp.lookAt(fs, `${folder}/a.txt`), stamp.fileNowMs())).toBe(true)
  } finally {
    now.mockRestore()
  }
})
