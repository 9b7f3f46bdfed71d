/** `openCache` with a remote: what a fresh machine gets, what closing publishes, and what a remote that fails may cost. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BlobStore, generateKeys, openRemote, type OpenRemote, webdav } from '@varve/remote'
import { type Cache, type CacheOptions, openCache, type RemoteReport, VarveError } from 'varve'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { runVarve } from '../command.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { type Answer, blobsOf, HANGS, HttpServer } from './http.ts'
import { KEYS, Machine, namesOf, newStore, watched } from './machines.ts'

const server = new HttpServer()
beforeAll(() => server.start())
afterAll(() => server.stop())
afterEach(() => void vi.unstubAllEnvs())

/** What a build with this remote finds under `keys`, and its warnings. */
interface Found {
  readonly values: readonly (string | undefined)[]
  readonly remote: RemoteReport | undefined
  readonly warnings: readonly string[]
}

function build(
  machine: Machine,
  remote: OpenRemote,
  keys: readonly string[],
  change?: (cache: Cache) => void,
): Promise<Found> {
  return buildWith(machine, { remote }, keys, change)
}

async function buildWith(
  { dir, engine }: Machine,
  options: Partial<CacheOptions>,
  keys: readonly string[],
  change: (cache: Cache) => void = () => undefined,
): Promise<Found> {
  const warnings: string[] = []
  const cache = await openCache({ name: 'tool', dir, engine, onWarning: ({ code }) => warnings.push(code), ...options })
  const space = cache.namespace('n', { codec: 'text' })
  const values = keys.map((key) => space.get(key))
  const { remote } = cache.status()
  change(cache)
  await cache.close()
  return { values, remote, warnings }
}

const putting =
  (key: string, value = key) =>
  (cache: Cache): void =>
    cache.namespace('n', { codec: 'text' }).put(key, value)

/** Puts a key and other entries, which make a layer large enough to stay as it is. */
const filling =
  (key: string, entries: number) =>
  (cache: Cache): void => {
    putting(key)(cache)
    for (let index = 0; index < entries; index++) putting(`${key}-${index}`, randomBytes(500).toString('hex'))(cache)
  }

/** A store with a layer for each of these keys, the last one the newest. */
async function publishedWith(...keys: readonly string[]): Promise<BlobStore> {
  const store = newStore()
  const machine = new Machine(store)
  for (const [index, key] of keys.entries())
    await build(machine, machine.writer(), [], filling(key, [20, 9, 8][index] ?? 0))
  return store
}

describe.each(ENGINES)('published by %s', (engine) => {
  it.each(ENGINES)('closing publishes what is new, and a fresh machine opens over it with %s', async (reader) => {
    const store = newStore()
    const one = new Machine(store, engine)
    const cold = await build(one, one.writer(), ['a'], putting('a'))
    expect(cold).toMatchObject({ values: [undefined], remote: { state: 'current', layers: 0 }, warnings: [] })
    const other = new Machine(store, reader)
    const first = await build(other, other.remote(), ['a'])
    expect(first).toMatchObject({
      values: ['a'],
      remote: { state: 'current', layers: 1, problem: null, store: store.label },
      warnings: [],
    })
    expect(first.remote?.fetchedBytes).toBeGreaterThan(0)
    expect(await build(other, other.remote(), ['a'])).toMatchObject({
      values: ['a'],
      remote: { layers: 1, fetchedBytes: 0 },
    })
    await build(one, one.writer(), ['a'], putting('b'))
    expect(await build(other, other.remote(), ['a', 'b'])).toMatchObject({ values: ['a', 'b'], warnings: [] })
  })
})

describe('the record of a build', () => {
  it('has the layers of the remote, and the bytes that were fetched', async () => {
    const store = await publishedWith('a')
    const machine = new Machine(store)
    for (const key of ['b', 'c']) await build(machine, machine.remote(), [], putting(key))
    const cache = await openCache({ name: 'tool', dir: machine.dir, remote: false, readOnly: true })
    const [second, first] = cache.history()
    await cache.close()
    expect([first?.layers, first?.remote?.layers, second?.remote]).toEqual([1, 1, { layers: 1, fetchedBytes: 0 }])
    expect(first?.remote?.fetchedBytes).toBeGreaterThan(0)
  })
})

describe('who writes', () => {
  it('a cache without mode and key publishes nothing, nor does one that has nothing new', async () => {
    const store = newStore()
    const reader = new Machine(store)
    await build(reader, reader.remote(), [], putting('a'))
    expect(await namesOf(store)).toEqual([])
    const writer = new Machine(store)
    await build(writer, writer.writer(), [], putting('a'))
    const before = await namesOf(store)
    expect(before).toHaveLength(3)
    await build(writer, writer.writer(), ['a'])
    expect(await namesOf(store)).toEqual(before)
  })

  it('a store that refuses to be written is one warning, and is still read', async () => {
    const machine = new Machine(
      watched(await publishedWith('a'), (call) => {
        if (call === 'put') throw new VarveError('REMOTE_DENIED', 'no')
      }),
    )
    const remote = machine.writer()
    expect(await build(machine, remote, ['a'], filling('b', 9))).toMatchObject({
      values: ['a'],
      warnings: ['REMOTE_DENIED'],
    })
    expect(await build(machine, remote, ['a', 'b'], putting('c'))).toMatchObject({
      values: ['a', 'b'],
      remote: { state: 'current' },
      warnings: [],
    })
  })
})

describe('offline', () => {
  const NO_REMOTE = [
    ['VARVE_OFFLINE=1', {}],
    ['readOnly', { readOnly: true }],
  ] as const
  it.each(NO_REMOTE)('%s asks no remote, and reads the layers of this machine', async (name, options) => {
    let calls = 0
    const machine = new Machine(watched(await publishedWith('a'), () => void calls++))
    await build(machine, machine.remote(), ['a'])
    calls = 0
    if (name !== 'readOnly') vi.stubEnv('VARVE_OFFLINE', '1')
    const before = snapshot(machine.folder)
    const found = await buildWith(machine, { remote: machine.remote(), ...options }, ['a'])
    expect(found).toMatchObject({
      values: ['a'],
      remote: { state: 'offline', layers: 1, fetchedBytes: 0 },
      warnings: [],
    })
    expect([calls, snapshot(machine.folder)]).toEqual([0, before])
    const fresh = new Machine(machine.store)
    expect(await buildWith(fresh, { remote: fresh.remote(), ...options }, ['a'])).toMatchObject({
      values: [undefined],
      warnings: [],
    })
  })

  it('remote: false ignores VARVE_REMOTE, and VARVE_REMOTE_MODE=off does, too', async () => {
    vi.stubEnv('VARVE_REMOTE', server.url)
    vi.stubEnv('VARVE_TRUSTED_KEYS', KEYS.publicKey)
    server.requests = 0
    expect((await buildWith(new Machine(newStore()), { remote: false }, [])).remote).toBeUndefined()
    vi.stubEnv('VARVE_REMOTE_MODE', 'off')
    expect((await buildWith(new Machine(newStore()), {}, [])).remote).toBeUndefined()
    expect(server.requests).toBe(0)
  })
})

describe('a remote that fails', () => {
  /** Milliseconds that a build may wait, and what the server answers; undefined if it does not run. */
  const FAULTS: Readonly<Record<string, readonly [waitMsMax: number, answer: Answer | undefined]>> = {
    'is down': [1000, undefined],
    'never answers': [2000, HANGS],
    'answers 500': [1000, (_, response) => void response.writeHead(500).end()],
    'sends the head, and then 20 bytes a second': [
      10_000,
      (request, response) => {
        if (published !== undefined)
          blobsOf(published, request.url?.endsWith('/head') === true ? undefined : 20)(request, response)
      },
    ],
  }
  let published: BlobStore | undefined
  beforeAll(async () => {
    published = await publishedWith('a')
  })
  /** What this machine takes besides, under load. */
  const SLACK_MS = 5000

  it.each(Object.entries(FAULTS))(
    '%s: all waiting is within the budget, with one warning for all caches',
    async (_, [waitMsMax, answer]) => {
      const faulty = await new HttpServer().start()
      if (answer === undefined) faulty.stop()
      else faulty.answer = answer
      const [one, other] = [new Machine(newStore()), new Machine(newStore())]
      const remote = openRemote({
        store: webdav({ url: faulty.url }),
        dir: join(makeFolder(), 'layers'),
        trustedKeys: [KEYS.publicKey],
      })
      const first = await build(one, remote, ['a'], putting('a'))
      expect(first).toMatchObject({
        values: [undefined],
        remote: { state: 'failed', layers: 0 },
        warnings: ['REMOTE_UNAVAILABLE'],
      })
      expect(first.remote?.waitMs).toBeLessThan(waitMsMax + SLACK_MS)
      faulty.requests = 0
      const second = await build(other, remote, ['a'])
      expect([second.remote?.state, second.warnings, faulty.requests]).toEqual(['failed', [], 0])
      expect(await build(one, remote, ['a'])).toMatchObject({ values: ['a'] })
      if (answer !== undefined) faulty.stop()
    },
  )

  /** Publishing reads the head first, and waited for it again, as long as a request may take. */
  it.each(['is down', 'never answers', 'answers 500'])(
    '%s: closing a cache asks again for the head that did not arrive',
    async (fault) => {
      const faulty = await new HttpServer().start()
      const [, answer] = FAULTS[fault] ?? []
      if (answer !== undefined) faulty.answer = answer
      let asked = 0
      const machine = new Machine(watched(webdav({ url: faulty.url }), () => void asked++))
      if (answer === undefined) faulty.stop()
      const cache = await openCache({
        name: 'tool',
        dir: machine.dir,
        remote: machine.writer(),
        onWarning: () => undefined,
      })
      putting('a')(cache)
      const opened = asked
      await cache.close()
      if (answer !== undefined) faulty.stop()
      expect([opened > 0, asked]).toEqual([true, opened])
    },
  )

  it('without the newest layer, a build uses the older ones, and a later one fetches only what is missing', async () => {
    const store = await publishedWith('a', 'b', 'c')
    let layers = 0
    const failing = watched(store, (_, name) => {
      if (name.includes('/layer/') && ++layers > 2) throw new VarveError('REMOTE_UNAVAILABLE', 'it is down')
    })
    const machine = new Machine(failing)
    const cut = await build(machine, machine.remote(), ['a', 'b', 'c'])
    expect(cut).toMatchObject({
      values: ['a', 'b', undefined],
      remote: { state: 'failed', layers: 2 },
      warnings: ['REMOTE_UNAVAILABLE'],
    })
    layers = -1
    const names: string[] = []
    const whole = new Machine(watched(store, (_, name) => void names.push(name)))
    const remote = openRemote({ store: whole.store, dir: machine.remote().dir, trustedKeys: [KEYS.publicKey] })
    expect(await build(machine, remote, ['a', 'b', 'c'])).toMatchObject({
      values: ['a', 'b', 'c'],
      remote: { state: 'current', layers: 3 },
    })
    expect(names.filter((name) => name.includes('/layer/'))).toHaveLength(1)
  })

  it('a manifest of a key that is not trusted is one warning, and a key that is removed ends the use of its layers', async () => {
    const store = await publishedWith('a')
    const machine = new Machine(store)
    expect(await build(machine, machine.remote(), ['a'])).toMatchObject({ values: ['a'] })
    const other = machine.remote({ trustedKeys: [generateKeys().publicKey] })
    expect(await build(machine, other, ['a'])).toMatchObject({
      values: [undefined],
      remote: { state: 'failed', layers: 0, problem: expect.stringContaining('is not trusted') },
      warnings: ['REMOTE_UNTRUSTED'],
    })
  })
})

describe('VARVE_REMOTE', () => {
  it.each([
    ['no trusted keys', { VARVE_TRUSTED_KEYS: '' }, 'VARVE_TRUSTED_KEYS'],
    ['an address of a directory with two slashes', { VARVE_REMOTE: 'file://THE-SECRET' }, 'three slashes'],
    ['an address with a percent sign', { VARVE_REMOTE: 's3://bucket/100%THE-SECRET' }, "'%25'"],
    ['an address that is none', { VARVE_REMOTE: 'THE-SECRET' }, 'invalid address in VARVE_REMOTE'],
    ['a mode that is none', { VARVE_REMOTE_MODE: 'write' }, 'VARVE_REMOTE_MODE'],
    ['writing without a key', { VARVE_REMOTE_MODE: 'read-write' }, 'VARVE_SIGNING_KEY'],
  ])('%s is one warning with the fix, and the cache opens', async (_, env, message) => {
    const all = { VARVE_REMOTE: server.url, VARVE_TRUSTED_KEYS: KEYS.publicKey, VARVE_SIGNING_KEY: '', ...env }
    for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value)
    const found = await buildWith(new Machine(newStore()), {}, ['a'], putting('a'))
    expect(found).toMatchObject({
      remote: { state: 'failed', problem: expect.stringContaining(message) },
      warnings: ['INVALID_OPTION'],
    })
    expect(JSON.stringify(found)).not.toContain('THE-SECRET')
  })
})

describe('the command', () => {
  it('reads over the layers of the remote that are on this machine, names them, and asks no remote', async () => {
    const machines = [new Machine(newStore()), new Machine(newStore())]
    const store = pathToFileURL(join(makeFolder(), 'store')).href
    const reading = {
      VARVE_REMOTE: store,
      VARVE_TRUSTED_KEYS: KEYS.publicKey,
      VARVE_REMOTE_MODE: '',
      VARVE_SIGNING_KEY: '',
      VARVE_LAYERS: '',
    }
    const writing = { ...reading, VARVE_REMOTE_MODE: 'read-write', VARVE_SIGNING_KEY: KEYS.signingKey }
    for (const [index, machine] of machines.entries()) {
      for (const [name, value] of Object.entries(index === 0 ? writing : reading)) vi.stubEnv(name, value)
      expect(await buildWith(machine, {}, ['a'], putting(index === 0 ? 'a' : 'own'))).toMatchObject({
        warnings: [],
        remote: { layers: index },
      })
    }
    const dir = machines[1]?.dir ?? ''
    const env = { ...reading, VARVE_REMOTE: 'http://127.0.0.1:1' }
    for (const [args, out] of [
      [['get', 'a'], 'a'],
      [['stats'], join(dir, '../.remote')],
    ] as const) {
      expect(runVarve([...args, '--dir', dir], { env: reading })).toMatchObject({
        status: 0,
        out: expect.stringContaining(out),
        err: '',
      })
    }
    expect(runVarve(['stats', '--dir', dir], { env })).toMatchObject({ status: 0, err: '' })
  })
})

describe('options', () => {
  it('what is no remote, and a remote of a cache in memory, are errors', async () => {
    const wrong: object = { remote: 'https://example.com' }
    const message = expect.stringContaining('openRemote()')
    await expect(openCache({ name: 'tool', ...wrong })).rejects.toMatchObject({ code: 'INVALID_OPTION', message })
    const remote = new Machine(newStore()).remote()
    await expect(openCache({ name: 'tool', inMemory: true, remote })).rejects.toMatchObject({
      message: expect.stringContaining("'remote'"),
    })
  })

  it('a cache with a secret publishes and reads with that secret only', async () => {
    const store = newStore()
    const [secret, other] = ['x'.repeat(32), 'y'.repeat(32)]
    const writer = new Machine(store)
    await buildWith(writer, { remote: writer.writer(), secret }, [], putting('a'))
    const [one, two] = [new Machine(store), new Machine(store)]
    expect(await buildWith(one, { remote: one.remote(), secret }, ['a'])).toMatchObject({ values: ['a'], warnings: [] })
    expect(await buildWith(two, { remote: two.remote(), secret: other }, ['a'])).toMatchObject({ values: [undefined] })
  })
})
