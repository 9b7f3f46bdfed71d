/** What a build waits for a remote that is down, by the delays that Varve asks for: they are recorded instead of waited for, so no clock decides. */
import { openCache } from 'varve'
import { beforeEach, expect, it, vi } from 'vitest'
import { webdav } from '@varve/remote'
import { ENGINES } from '../engines.ts'
import { type Answer, HttpServer } from './http.ts'
import { Machine } from './machines.ts'

const { delays } = vi.hoisted(() => ({ delays: [] as number[] }))
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<object>()),
  setTimeout: async (ms: number): Promise<void> => void delays.push(ms),
}))

beforeEach(() => void (delays.length = 0))

const answers =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response.writeHead(status, headers).end()

/** Each with the requests that reach the server, and what all delays may be in milliseconds. */
const FAULTS: readonly (readonly [name: string, answer: Answer | undefined, requests: number, delayMsMax: number])[] = [
  ['is down', undefined, 0, 1000],
  ['answers 500', answers(500), 3, 1000],
  ['answers 429, to repeat after an hour', answers(429, { 'retry-after': '3600' }), 1, 0],
  ['answers 403', answers(403), 1, 0],
]

const cases = FAULTS.flatMap(([name, ...fault]) => ENGINES.map((engine) => [name, engine, ...fault] as const))

it.each(cases)(
  'a remote that %s: one warning for all caches, delays within a second (%s)',
  async (_, engine, answer, requests, delayMsMax) => {
    const server = await new HttpServer().start()
    if (answer === undefined) server.stop()
    else server.answer = answer
    const machine = new Machine(webdav({ url: server.url }), engine)
    const remote = machine.remote()
    const warnings: string[] = []
    for (const name of ['tool', 'other']) {
      const cache = await openCache({
        name,
        dir: `${machine.dir}-${name}`,
        engine,
        remote,
        onWarning: ({ message }) => warnings.push(message),
      })
      expect(cache.status().remote?.state).toBe('failed')
      await cache.close()
    }
    if (answer !== undefined) server.stop()
    expect([warnings, server.requests]).toEqual([
      [expect.stringContaining('remote: its newest state is not used')],
      requests,
    ])
    expect(delays.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(delayMsMax)
  },
)
