/** What a work is said to have cost: the time of its thread, not the time for which it waited. */
import { setTimeout as wait } from 'node:timers/promises'
import { startWork } from 'varve'
import { isCpuTime } from 'varve/internal'
import { afterEach, expect, it } from 'vitest'

function spin(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

afterEach(() => {
  Reflect.deleteProperty(process, 'threadCpuUsage')
})

it.runIf(!isCpuTime())('a work that waits claims the time for which it waited', async () => {
  const end = startWork()
  await wait(300)
  expect(end()).toBeLessThan(150)
  const endBusy = startWork()
  await wait(50)
  spin(100)
  expect(endBusy()).toBeGreaterThanOrEqual(99)
})

it('costs are CPU time of the thread where Node.js reports it, in equal parts', () => {
  const spent = [0, 10, 30, 45].map((ms) => ({ user: ms * 600, system: ms * 400 }))
  Reflect.set(process, 'threadCpuUsage', () => spent.shift())
  expect(typeof process).toBe('object')
  const ends = [startWork(), startWork()] // at 0 and 10 ms
  expect(ends.map((end) => end())).toEqual([20, 25]) // at 30 and 45 ms: 10 alone and half of 20; half of 20 and 15 alone
  expect(isCpuTime()).toBe(true)
})
