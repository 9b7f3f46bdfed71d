/** When a development server is idle: commits and runs that plugins are owed must not compete with a page that loads. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Idle, noteRequest } from '../../../packages/plugins/dist/build/server.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('a server is idle once no plugin was called for a while, and again after the next call', () => {
  const work = vi.fn<() => void>()
  const idle = new Idle(100, work)
  vi.advanceTimersByTime(1000)
  expect(work).toHaveBeenCalledTimes(0)
  for (const times of [1, 2]) {
    idle.touch()
    vi.advanceTimersByTime(99)
    expect(work).toHaveBeenCalledTimes(times - 1)
    vi.advanceTimersByTime(1)
    expect(work).toHaveBeenCalledTimes(times)
  }
})

// Each plugin had its own clock, so Vue's plugin compiled components while the page still loaded those of React.
it('a server is not idle for one plugin while it calls another', () => {
  let isStillIdle = (): boolean => false
  const one = new Idle(100, (given) => void (isStillIdle = given))
  const other = new Idle(1000, () => undefined)
  one.touch()
  for (let count = 0; count < 5; count++) {
    vi.advanceTimersByTime(60)
    other.touch()
    expect(isStillIdle()).toBe(false)
  }
  vi.advanceTimersByTime(100)
  expect(isStillIdle()).toBe(true)
  other.touch()
  vi.advanceTimersByTime(1)
  other.touch()
  expect(isStillIdle()).toBe(false)
})

// Vite transforms imports ahead of the requests of the browser, so most of a page load has no calls.
it('a server is not idle while it answers requests without a call of a plugin', () => {
  const work = vi.fn<() => void>()
  const idle = new Idle(100, work)
  idle.touch()
  for (let count = 0; count < 5; count++) {
    vi.advanceTimersByTime(60)
    noteRequest()
  }
  expect(work).toHaveBeenCalledTimes(0)
  vi.advanceTimersByTime(100)
  expect(work).toHaveBeenCalledTimes(1)
})

it('no work follows the end of a server', () => {
  const work = vi.fn<() => void>()
  const idle = new Idle(100, work)
  idle.touch()
  idle.stop()
  vi.advanceTimersByTime(1000)
  expect(work).toHaveBeenCalledTimes(0)
})
