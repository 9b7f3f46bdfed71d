/**
 * A remote that is down, hangs, is slow, cuts its answers or refuses: each operation ends within its budget with a typed error, and no
 * error contains a secret.
 */
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openRemote, pull, push, type Remote, remoteStatus, s3, verifyRemote, webdav } from '@varve/remote'
import { openCache, VarveError } from 'varve'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'
import { type Answer, HANGS, HttpServer, SLOW } from './http.ts'
import { KEYS, Machine } from './machines.ts'

const SECRETS = ['THE-ACCESS-KEY', 'THE-SECRET-KEY', 'THE-SESSION', 'THE-PASSWORD', 'THE-TOKEN']
const REQUEST_MS = 400
const BUDGET_MS = 2500

const server = new HttpServer()

beforeAll(() => server.start())
beforeEach(() => void (server.requests = 0))
afterAll(() => server.stop())

const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (request, response) => {
    // A server that repeats credentials in its answer.
    request
      .resume()
      .on('end', () =>
        response.writeHead(code, headers).end(`<Code>SlowDown</Code>${SECRETS.join()}${request.headers.authorization}`),
      )
  }

interface Fault {
  readonly answer: Answer
  readonly code: string
  readonly attemptsMax: number
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'never answers': { answer: HANGS, code: 'REMOTE_UNAVAILABLE', attemptsMax: 1 },
  'sends 1 KB/s': { answer: SLOW, code: 'REMOTE_UNAVAILABLE', attemptsMax: 1 },
  'cuts its answer': {
    answer: (_, response) =>
      void response.writeHead(200, { 'content-length': '100000' }).write('x', () => response.destroy()),
    code: 'REMOTE_UNAVAILABLE',
    attemptsMax: 3,
  },
  'closes the connection': {
    answer: (request) => void request.socket.destroy(),
    code: 'REMOTE_UNAVAILABLE',
    attemptsMax: 3,
  },
  'switches to a protocol that it was not asked for': {
    answer: ({ socket }) =>
      void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
    code: 'REMOTE_UNAVAILABLE',
    attemptsMax: 3,
  },
  'answers 500': { answer: status(500), code: 'REMOTE_UNAVAILABLE', attemptsMax: 3 },
  'answers 429, to repeat after an hour': {
    answer: status(429, { 'retry-after': '3600' }),
    code: 'REMOTE_UNAVAILABLE',
    attemptsMax: 1,
  },
  'answers 401': { answer: status(401), code: 'REMOTE_DENIED', attemptsMax: 1 },
  'answers 403': { answer: status(403), code: 'REMOTE_DENIED', attemptsMax: 1 },
  'redirects elsewhere': {
    answer: (request, response) => {
      const isElsewhere = request.url?.includes('elsewhere') === true
      return (isElsewhere ? status(404) : status(302, { location: '/elsewhere' }))(request, response)
    },
    code: 'REMOTE_UNAVAILABLE',
    attemptsMax: 3,
  },
  'sends another file': {
    answer: (_, response) => void response.end('<html>login</html>'),
    code: 'REMOTE_UNTRUSTED',
    attemptsMax: 1,
  },
  'sends without an end': {
    answer: (_, response) => {
      const timer = setInterval(() => response.write(Buffer.alloc(1 << 20)), 1)
      response.on('close', () => clearInterval(timer)).on('error', () => undefined)
    },
    code: 'REMOTE_UNTRUSTED',
    attemptsMax: 1,
  },
}

function remotes(): Record<string, Remote> {
  const [accessKeyId = '', secretAccessKey = '', sessionToken = '', password = '', token = ''] = SECRETS
  const { url } = server
  const stores = {
    s3: s3({
      bucket: 'bucket',
      endpoint: url,
      requestMs: REQUEST_MS,
      credentials: { accessKeyId, secretAccessKey, sessionToken },
    }),
    'webdav, password': webdav({
      url,
      requestMs: REQUEST_MS,
      conditional: true,
      credentials: { username: 'user', password },
    }),
    'webdav, token': webdav({ url, requestMs: REQUEST_MS, conditional: true, credentials: { token } }),
  }
  const keys = { trustedKeys: [KEYS.publicKey], mode: 'read-write', signingKey: KEYS.signingKey } as const
  const options = { dir: join(makeFolder(), 'layers'), budgetMs: BUDGET_MS, ...keys }
  return Object.fromEntries(Object.entries(stores).map(([name, store]) => [name, openRemote({ ...options, store })]))
}

async function failureOf(work: Promise<unknown>): Promise<VarveError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof VarveError) return error
  throw new Error('no VarveError', { cause: error })
}

function everythingIn(error: VarveError): string {
  const causes = []
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    causes.push(at.message, at.stack, JSON.stringify(at))
  return causes.join('\n')
}

describe.each(Object.entries(FAULTS))('a server that %s', (_, fault) => {
  const check = async (name: string): Promise<void> => {
    server.answer = fault.answer
    const remote = remotes()[name]
    if (remote === undefined) throw new Error(`no remote '${name}'`)
    const { dir } = await new Machine(remote.store).put({ key: 'value' })
    const publish = (): Promise<unknown> => push(remote, { caches: [{ name: 'tool', dir }] })
    for (const call of [() => pull(remote), () => remoteStatus(remote), () => verifyRemote(remote), publish]) {
      server.requests = 0
      const start = performance.now()
      const error = await failureOf(call())
      expect(performance.now() - start).toBeLessThan(BUDGET_MS + 500)
      expect([error.code, error.message]).toEqual([fault.code, expect.stringContaining('v1/trusted/main/head')])
      expect(server.requests).toBeLessThanOrEqual(fault.attemptsMax)
      for (const secret of [
        ...SECRETS,
        'Bearer',
        'Basic',
        'Signature',
        Buffer.from('user:THE-PASSWORD').toString('base64'),
      ]) {
        expect(everythingIn(error)).not.toContain(secret)
      }
    }
  }

  it.each(['s3'])('fails pull, status, verify and push in time, without a secret: %s', check)
  it.each(['webdav, password', 'webdav, token'])(
    'fails pull, status, verify and push in time, without a secret: %s',
    slow,
    check,
  )
})

describe('time', () => {
  it('a server that is down fails a pull within a second', async () => {
    const store = webdav({ url: 'http://127.0.0.1:1', conditional: true })
    const start = performance.now()
    const remote = openRemote({ store, dir: makeFolder(), trustedKeys: [KEYS.publicKey] })
    expect((await failureOf(pull(remote))).message).toMatch(/ECONNREFUSED|the connection failed/)
    expect(performance.now() - start).toBeLessThan(2000)
  })

  it('a slow answer is ended in time while garbage is collected', async () => {
    setFlagsFromString('--expose-gc')
    const collect: unknown = runInNewContext('gc')
    if (typeof collect !== 'function') throw new Error('no gc')
    const timer = setInterval(() => void Reflect.apply(collect, undefined, []), 50)
    server.answer = SLOW
    const store = webdav({ url: server.url, requestMs: REQUEST_MS })
    const start = performance.now()
    const error = await failureOf(pull(openRemote({ store, dir: makeFolder(), trustedKeys: [KEYS.publicKey] })))
    clearInterval(timer)
    expect([error.code, error.message]).toEqual([
      'REMOTE_UNAVAILABLE',
      expect.stringContaining('no complete answer within'),
    ])
    expect(performance.now() - start).toBeLessThan(BUDGET_MS)
  })

  it('the budget ends an operation whose requests each take less, and names itself', async () => {
    server.answer = HANGS
    const store = webdav({ url: server.url, requestMs: 60_000 })
    const start = performance.now()
    const error = await failureOf(
      pull(openRemote({ store, dir: makeFolder(), trustedKeys: [KEYS.publicKey], budgetMs: 300 })),
    )
    expect([error.code, error.message]).toEqual([
      'REMOTE_UNAVAILABLE',
      expect.stringContaining('not done within 300 ms'),
    ])
    expect(performance.now() - start).toBeLessThan(1500)
  })

  it('credentials that never arrive, and a store that ignores the signal, delay neither a pull nor a build beyond the budget', async () => {
    const never = (): Promise<never> => new Promise(() => undefined)
    const capabilities = {
      range: false,
      createOnly: true,
      compareAndSwap: true,
      list: false,
      delete: false,
      bytesMax: 1 << 20,
    }
    const stores = [
      webdav({ url: server.url, credentials: never }),
      { label: 'own store', capabilities, get: never, head: never, put: never },
    ]
    for (const store of stores) {
      const remote = openRemote({
        store,
        dir: join(makeFolder(), 'layers'),
        trustedKeys: [KEYS.publicKey],
        budgetMs: 300,
      })
      const start = performance.now()
      expect(await failureOf(pull(remote))).toMatchObject({
        code: 'REMOTE_UNAVAILABLE',
        message: expect.stringContaining('not done within 300 ms'),
      })
      expect(performance.now() - start).toBeLessThan(2000)
      const cache = await openCache({
        name: 'tool',
        dir: join(makeFolder(), 'tool'),
        remote,
        onWarning: () => undefined,
      })
      expect(cache.status().remote).toMatchObject({
        state: 'failed',
        problem: expect.stringContaining('not done within 2000 ms'),
      })
      await cache.close()
    }
  })

  it('a signal cancels an operation at once', async () => {
    server.answer = HANGS
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 100)
    const store = webdav({ url: server.url, requestMs: 60_000 })
    const remote = openRemote({ store, dir: makeFolder(), trustedKeys: [KEYS.publicKey] })
    expect((await failureOf(pull(remote, { signal: stop.signal }))).code).toBe('CANCELLED')
  })

  it('an answer of 503 that asks for a second is repeated, and succeeds', async () => {
    const [first, then] = [status(503, { 'retry-after': '1' }), status(404)]
    server.answer = (request, response) => (server.requests === 1 ? first : then)(request, response)
    const store = webdav({ url: server.url })
    const start = performance.now()
    expect(
      await pull(openRemote({ store, dir: makeFolder(), trustedKeys: [KEYS.publicKey], commits: [] })),
    ).toMatchObject({ layers: [] })
    expect([server.requests, performance.now() - start > 900]).toEqual([2, true])
  })
})
