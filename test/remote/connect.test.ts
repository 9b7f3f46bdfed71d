/** How long a connection may take. The limit is counted, never timed: what a build waits for is bounded by these limits. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type BlobStore, webdav } from '@varve/remote'
import { openCache, type VarveError } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type * as connections from '../../packages/remote/src/stores/connect.ts'
import { HANGS, HttpServer } from './http.ts'
import { Machine } from './machines.ts'

const PATH = new URL('../../packages/remote/src/stores/connect.ts', import.meta.url).href
const { CONNECT_MS, Connection }: typeof connections = await import(PATH)

afterEach(() => void vi.useRealTimers())

/** A process that listens and is stopped, so that its queue fills and the system drops every further packet. */
async function startBlackHole(): Promise<{ url: string; stop: () => void }> {
  const listening = "{ host: '127.0.0.1', port: 0, backlog: 1 }, () => console.log(server.address().port)"
  const program = `const server = require('node:net').createServer().listen(${listening})`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = await once(child.stdout, 'data')
  child.kill('SIGSTOP')
  const sockets: Socket[] = []
  for (let isFull = false; !isFull && sockets.length < 50;) {
    const socket = connect(Number(String(port)), '127.0.0.1').on('error', () => undefined)
    sockets.push(socket)
    isFull = await Promise.race([once(socket, 'connect').then(() => false), delay(500, true)])
  }
  return {
    url: `http://127.0.0.1:${Number(String(port))}`,
    stop: () => {
      for (const socket of sockets) socket.destroy()
      child.kill('SIGKILL')
    },
  }
}

async function failureOf(store: BlobStore): Promise<VarveError> {
  return store.get('v1/trusted/main/head').then(
    () => Promise.reject(new Error('it has succeeded')),
    (error: VarveError) => error,
  )
}

describe.skipIf(process.platform !== 'linux')('a host that drops packets', () => {
  it('fails a request once the limit of a connection is used up, without a second attempt, and a build by it', async () => {
    const { url, stop } = await startBlackHole()
    try {
      const { code, message } = await failureOf(webdav({ url, requestMs: 60_000 }))
      expect([code, message]).toEqual([
        'REMOTE_UNAVAILABLE',
        expect.stringContaining(`no connection within ${CONNECT_MS} ms`),
      ])
      const machine = new Machine(webdav({ url }))
      const warnings: string[] = []
      const cache = await openCache({
        name: 'tool',
        dir: machine.dir,
        remote: machine.remote(),
        onWarning: (one) => warnings.push(one.message),
      })
      expect([cache.status().remote?.state, warnings]).toEqual([
        'failed',
        [expect.stringContaining(`no connection within ${CONNECT_MS} ms`)],
      ])
      await cache.close()
    } finally {
      stop()
    }
  })
})

describe('the limit of a connection', () => {
  it('is a second', () => {
    expect(CONNECT_MS).toBe(1000)
  })

  it('ends with the connection, so a server that accepts and is slow has the time of a request', async () => {
    const server = await new HttpServer().start()
    server.answer = HANGS
    const { message } = await failureOf(webdav({ url: server.url, requestMs: 2 * CONNECT_MS }))
    expect([message, server.requests]).toEqual([
      expect.stringContaining(`no complete answer within ${2 * CONNECT_MS} ms`),
      1,
    ])
    server.stop()
  })

  it('is counted in slices: a process that is busy for longer than the limit uses up one slice only', () => {
    vi.useFakeTimers()
    let isLate = false
    const connection = new Connection(() => (isLate = true))
    connection.begin()
    vi.advanceTimersByTime(CONNECT_MS - 1)
    expect(isLate).toBe(false)
    vi.advanceTimersByTime(1)
    expect(isLate).toBe(true)
    isLate = false
    connection.begin()
    vi.advanceTimersToNextTimer() // however much later the process comes to it
    vi.advanceTimersByTime(CONNECT_MS - CONNECT_MS / 10 - 1)
    connection.end()
    vi.advanceTimersByTime(10 * CONNECT_MS)
    expect(isLate).toBe(false)
  })
})
