/**
 * Work that asks the network. A plugin that embeds an answer got the old one from the cache for ever. What a server answers cannot be compared
 * later, so results of such work are not stored, unless files are declared.
 */
import dgram from 'node:dgram'
import dns from 'node:dns'
import http from 'node:http'
import http2 from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installReads, ReadScope, uninstallReads, unrecorded } from 'varve/reads'
import { makeFolder } from '../folders.ts'
import { Counted, onEngine, withCache } from '../task/subject.ts'

const require = createRequire(import.meta.url)

/** Taken before the recorder is installed, as modules do that were loaded before. */
const { get } = http
const { connect } = net
const { connect: connect2 } = http2
const { fetch: fetched } = globalThis

const closing: (() => unknown)[] = []
let url = ''
let port = 0
let session: http2.ClientHttp2Session
const keepAlive = new http.Agent({ keepAlive: true, maxSockets: 1 })

const listen = (server: net.Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
    closing.push(() => server.close())
  })
const textOf = (ask: typeof get, agent?: http.Agent): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = ask(url, { agent }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve('answered'))
    })
    request.on('error', reject)
  })
const greet = (make: typeof connect): Promise<unknown> =>
  new Promise((resolve) => {
    const socket = make(port, '127.0.0.1', () => socket.end(() => resolve(undefined)))
  })
const stream = (over: http2.ClientHttp2Session): Promise<unknown> =>
  new Promise((resolve) => {
    const request = over.request({ ':path': '/' })
    request.resume()
    request.on('end', resolve)
  })

beforeAll(async () => {
  installReads()
  const server = http.createServer((_, answer) => answer.end('answer'))
  closing.push(() => server.closeAllConnections())
  port = await listen(server)
  url = `http://127.0.0.1:${port}/`
  const second = await listen(http2.createServer((_, answer) => void answer.end('answer')))
  session = http2.connect(`http://127.0.0.1:${second}`)
  closing.push(() => session.close())
  // Sockets that stay open.
  await stream(session)
  await (await fetch(url)).text()
  await textOf(http.get, keepAlive)
})

afterAll(() => {
  for (const close of closing.toReversed()) close()
  uninstallReads()
})

/** Why results of work are not stored. */
async function reasonAfter(work: () => unknown, isDeclared = false): Promise<string | undefined> {
  const scope = new ReadScope({ name: 'test', root: makeFolder(), isDeclared })
  await scope.run(work)
  scope.end()
  return scope.reason
}

const WORK: Readonly<Record<string, () => unknown>> = {
  fetch: () => fetch(url),
  'fetch, taken before, over a socket that is open': async () => (await fetched(url)).text(),
  'fetch after a while': () => new Promise((resolve) => setTimeout(() => resolve(fetch(url)), 5)),
  'a WebSocket': () =>
    new Promise((resolve) => {
      const { WebSocket: Socket } = globalThis
      if (Socket === undefined) return resolve(greet(net.connect)) // Node.js 20 has none
      new Socket(url.replace('http', 'ws')).addEventListener('error', resolve)
    }),
  'http.get': () => textOf(http.get),
  'http.get, taken before': () => textOf(get),
  'http.get over a socket that is open': () => textOf(get, keepAlive),
  'net.connect': () => greet(net.connect),
  'net.connect, taken before': () => greet(connect),
  'a socket that is made first': () =>
    greet((...args) => new net.Socket().connect(...(args as Parameters<net.Socket['connect']>))),
  'a socket of another process': () =>
    new Promise((resolve) => net.connect(join(makeFolder(), 'no.sock')).on('error', resolve)),
  'http2.connect': () => {
    const made = http2.connect(url)
    made.on('error', () => undefined)
    made.destroy()
  },
  'http2.connect, taken before': () => {
    const made = connect2(url)
    made.on('error', () => undefined)
    made.destroy()
  },
  'a request of a session of HTTP/2 that is open': () => stream(session),
  'a datagram': () =>
    new Promise((resolve) => {
      const socket = dgram.createSocket('udp4')
      socket.send('text', port, '127.0.0.1', () => socket.close(() => resolve(undefined)))
    }),
  'dns.lookup': () => new Promise((resolve) => dns.lookup('localhost', resolve)),
  'dns.promises.lookup': () => dns.promises.lookup('localhost'),
  'a lookup of node:dns/promises': async () => (await import('node:dns/promises')).lookup('localhost'),
  'a resolver of DNS': () => {
    const resolver = new dns.Resolver({ timeout: 1 })
    resolver.resolve4('localhost', () => undefined)
    resolver.cancel()
  },
}

describe('work that connects to the network', () => {
  it.each(Object.entries(WORK))('results of work that connects are not stored: %s', async (_, work) => {
    expect(await reasonAfter(work)).toMatch(/^connected to the network: '.+', whose answers cannot be compared later$/)
    expect(await reasonAfter(work, true)).toBeUndefined()
  })

  it('results of work are kept if only Varve itself connects, and if nothing does', async () => {
    expect(await reasonAfter(() => unrecorded(async () => (await fetch(url)).text()))).toBeUndefined()
    expect(await reasonAfter(() => require('node:https'))).toBeUndefined()
    await (await fetch(url)).text()
    expect(await reasonAfter(() => 1)).toBeUndefined()
  })
})

onEngine('native', (subject) => {
  it('a task whose work asks a server asks it in each run', async () => {
    const project = subject.project()
    for (const _ of [1, 2]) {
      await withCache(subject, project, async (cache) => {
        const counted = new Counted(cache, project.root, { trackReads: true })
        await counted.run({ id: 'id' }, async () => (await fetch(url)).text())
        expect(counted.count).toBe(1)
      })
    }
  })
})
