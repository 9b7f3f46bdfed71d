/** A store in Redis: connections that fail, credentials that are refused, and a process that ends. */
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { redis, type RedisCredentials } from '@varve/remote'
import { VarveError } from 'varve'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { freePort, serve } from './serve.ts'
import { SECRETS, type Started, STORES } from './servers.ts'

const start = STORES.find(({ name }) => name.startsWith('Redis'))?.start
const text = (value: string): Uint8Array => new Uint8Array(Buffer.from(value))
const addressOf = ({ address }: Started): string => address.replace(/\/1\?.*/, '')

const MODULE = fileURLToPath(new URL('../../packages/remote/dist/index.js', import.meta.url))

async function failureOf(work: Promise<unknown>): Promise<VarveError> {
  const error = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  if (error instanceof VarveError) return error
  throw new Error(`no VarveError: ${String(error)}`)
}

/** A server that answers each command by its first words, `+OK` if they have no answer, and nothing if that is ''. */
async function pretend(
  answers: Readonly<Record<string, string>>,
): Promise<{ readonly port: number; readonly stop: () => void }> {
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .on('data', (data) => {
        for (const command of data
          .toString()
          .split(/^\*\d+\r\n/m)
          .slice(1)) {
          const words = command
            .split('\r\n')
            .filter((_, index) => index % 2 === 1)
            .join(' ')
          const [, answer = '+OK\r\n'] = Object.entries(answers).find(([first]) => words.startsWith(first)) ?? []
          socket.write(answer)
        }
      })
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return { port, stop: () => void server.close() }
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A project with `@varve/remote`, and with a program of user 3002 as `@redis/client` in `node_modules` of the directory above it. */
function projectBelowAnother(): { readonly project: string; readonly client: string } {
  const root = makeFolder()
  const modules = join(root, 'home/project/node_modules')
  mkdirSync(join(modules, '@varve'), { recursive: true })
  cpSync(join(ROOT, 'packages/remote/dist'), join(modules, '@varve/remote/dist'), { recursive: true })
  cpSync(join(ROOT, 'packages/remote/package.json'), join(modules, '@varve/remote/package.json'))
  symlinkSync(join(ROOT, 'packages/varve'), join(modules, 'varve'))
  symlinkSync(join(ROOT, 'node_modules/aws4'), join(modules, 'aws4'))
  const client = join(root, 'home/node_modules/@redis/client')
  mkdirSync(client, { recursive: true })
  writeFileSync(
    join(client, 'package.json'),
    JSON.stringify({ name: '@redis/client', version: '6.0.0', main: 'index.js' }),
  )
  writeFileSync(join(client, 'index.js'), "console.log('code of another folder runs')")
  return { project: join(root, 'home/project'), client }
}

function getFromRedis(cwd: string, env: NodeJS.ProcessEnv = {}): string {
  const program = `const { redis } = await import('@varve/remote')
await redis({ url: 'redis://127.0.0.1:1' }).get('a').catch(({ code, message }) => console.log(code, message))`
  const flags = ['--input-type=module', '--eval', program]
  return spawnSync(process.execPath, flags, { cwd, encoding: 'utf8', env: { ...process.env, ...env } }).stdout
}

it.skipIf(process.getuid?.() !== 0)('a client in node_modules of another user does not run', () => {
  const { project, client } = projectBelowAnother()
  for (const path of [client, join(client, 'package.json'), join(client, 'index.js')]) chownSync(path, 3002, 3002)
  expect(getFromRedis(project)).toMatch(/^INVALID_OPTION '@redis\/client' is not used: .* belongs to user 3002/)
})

it('a client in a folder that belongs to no project does not run: NODE_PATH', () => {
  const { project, client } = projectBelowAnother()
  const elsewhere = makeFolder()
  cpSync(client, join(elsewhere, '@redis/client'), { recursive: true })
  rmSync(client, { recursive: true })
  expect(getFromRedis(project, { NODE_PATH: elsewhere })).toMatch(
    /^INVALID_OPTION '@redis\/client' is not installed; run 'npm install --save-dev @redis\/client'/,
  )
})

const MOVED = '-MOVED 1 127.0.0.1:1\r\n'

describe('a server that is not Redis', () => {
  it.each([
    ['a value', { EVAL: '' }, 600_000],
    ['an answer to its first words', { CLIENT: '' }, 600_000],
    ['the servers of its cluster', { EVAL: MOVED, CLUSTER: '' }, 4000],
  ])('a program ends by itself although the server owes it %s', async (_, answers, requestMs) => {
    const { port, stop } = await pretend(answers)
    const program = `const { redis } = await import(${JSON.stringify(MODULE)})
const store = redis({ url: 'redis://127.0.0.1:${port}', requestMs: ${requestMs} })
await store.get('a', { signal: AbortSignal.timeout(2000) }).catch(({ name }) => console.log(name))`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 40_000,
    })
    const printed: Buffer[] = []
    child.stdout.on('data', (data: Buffer) => printed.push(data))
    const outcome = await new Promise((resolve) => child.once('close', (code, signal) => resolve([code, signal])))
    stop()
    expect([outcome, Buffer.concat(printed).toString()]).toEqual([[0, null], 'TimeoutError\n'])
  })

  it('credentials go to no other machine without TLS, although a cluster on this one names it', async () => {
    const slots = '*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n192.0.2.1\r\n:6379\r\n$2\r\nid\r\n'
    const { port, stop } = await pretend({ EVAL: MOVED, CLUSTER: slots })
    const store = redis({
      url: `redis://127.0.0.1:${port}`,
      credentials: { password: 'the-password' },
      requestMs: 1000,
    })
    const { code, message } = await failureOf(store.get('a'))
    stop()
    expect([code, message]).toEqual([
      'INVALID_OPTION',
      expect.stringContaining("names the server '192.0.2.1:6379', without TLS"),
    ])
  })
})

describe.skipIf(start === undefined)('a store in Redis', () => {
  let server: Started | undefined
  beforeAll(async () => {
    server = await start?.()
  })
  afterAll(async () => server?.stop())
  const url = (): string => (server === undefined ? '' : addressOf(server))

  it.each([
    ['a wrong password', { password: 'not-the-password' }, 'WRONGPASS'],
    ['no password', undefined, 'NOAUTH'],
  ])('%s is REMOTE_DENIED at every call, and no message has a password', async (_, credentials, reply) => {
    const store = redis({ url: url(), credentials })
    for (const call of [store.get('a'), store.put('a', text('x')), store.get('a')]) {
      const { code, message } = await failureOf(call)
      expect([code, message]).toEqual(['REMOTE_DENIED', expect.stringContaining(reply)])
      expect(message).not.toMatch(/password|not-the/)
    }
  })

  it('credentials of a function are asked for when a connection is opened', async () => {
    let calls = 0
    const credentials = async (): Promise<RedisCredentials> => {
      calls++
      return { username: 'default', password: SECRETS.password }
    }
    const store = redis({ url: url(), prefix: 'function', credentials })
    await store.put('a', text('x'))
    expect([Buffer.from((await store.get('a'))?.bytes ?? []).toString(), calls]).toEqual(['x', 1])
  })

  it('two prefixes and two databases do not share blobs, and a list has only its own', async () => {
    const credentials = { password: SECRETS.password }
    const places = [
      { url: url(), prefix: 'one' },
      { url: `${url()}/2`, prefix: 'one' },
      { url: url(), prefix: 'on' },
    ]
    const stores = places.map((place) => redis({ ...place, credentials }))
    for (const [index, store] of stores.entries()) await store.put('a', text(String(index)))
    for (const [index, store] of stores.entries()) {
      expect(Buffer.from((await store.get('a'))?.bytes ?? []).toString()).toBe(String(index))
      const names = []
      for await (const { name } of store.list?.('') ?? []) names.push(name)
      expect(names).toEqual(['a'])
    }
  })

  it('a program that has used the store ends by itself', () => {
    const program = `const { redis } = await import(${JSON.stringify(MODULE)})
const store = redis({ url: process.env.URL, prefix: 'program', credentials: { password: process.env.PASSWORD } })
await store.put('a', new Uint8Array(100_000))
console.log((await store.get('a')).bytes.length)`
    const env = { ...process.env, URL: url(), PASSWORD: SECRETS.password }
    const ran = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      env,
      encoding: 'utf8',
      timeout: 30_000,
    })
    const { status, stdout, stderr } = ran
    expect([status, stdout, stderr]).toEqual([0, '100000\n', ''])
  })

  it('a server that is started again is used again, and one that is down is REMOTE_UNAVAILABLE at once', async () => {
    const port = await freePort()
    const serveAgain = (): Promise<() => Promise<void>> =>
      serve('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], port)
    const store = redis({ url: `redis://127.0.0.1:${port}` })
    const down = async (): Promise<void> => {
      const { code, message } = await failureOf(store.get('a'))
      expect([code, message]).toEqual(['REMOTE_UNAVAILABLE', expect.stringContaining('ECONNREFUSED')])
    }
    await down()
    let stop = await serveAgain()
    await store.put('a', text('1'))
    await stop()
    await down()
    stop = await serveAgain()
    expect(await store.get('a')).toBeUndefined()
    await store.put('a', text('2'))
    await stop()
    stop = await serveAgain()
    expect(await store.get('a')).toBeUndefined() // the connection has ended meanwhile
    await stop()
  })

  it('a server that does not answer is REMOTE_UNAVAILABLE after the time of a request, and a signal ends the wait', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined))
    const port = await new Promise<number>((resolve) => {
      silent.listen(0, '127.0.0.1', () => {
        const address = silent.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
    const store = redis({ url: `redis://127.0.0.1:${port}`, requestMs: 300 })
    expect((await failureOf(store.get('a'))).code).toBe('REMOTE_UNAVAILABLE')
    const reason = new Error('stopped')
    const patient = redis({ url: `redis://127.0.0.1:${port}`, requestMs: 60_000 })
    await expect(patient.get('a', { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: 'TimeoutError' })
    await expect(patient.get('a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    silent.close()
  })
})
