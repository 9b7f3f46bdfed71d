/** What an opened cache fetches (`prefetch`), whether it waits for that, and a remote that is off. */
import { setTimeout as delay } from 'node:timers/promises'
import { gc, openRemote, pull, push, remoteStatus, revoke, verifyRemote } from '@varve/remote'
import { openCache, type RemoteReport } from 'varve'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ENGINES } from '../engines.ts'
import { HttpServer } from './http.ts'
import { KEYS, Machine, MemoryStore, watched } from './machines.ts'

afterEach(() => void vi.unstubAllEnvs())

/** A store with a layer for a cache `tool` and for a cache `other`. */
async function published(): Promise<MemoryStore> {
  const store = new MemoryStore()
  const machine = await new Machine(store).put({ a: '1' })
  const other = await new Machine(store).put({ b: '2' })
  await push(machine.writer(), {
    caches: [
      { name: 'tool', dir: machine.dir },
      { name: 'other', dir: other.dir },
    ],
  })
  return store
}

interface Opened {
  readonly value: string | undefined
  readonly remote: RemoteReport | undefined
  readonly warnings: readonly string[]
}

/** Opens the cache of a machine, and returns what it reads and reports. */
async function open(machine: Machine, remote = machine.remote()): Promise<Opened> {
  const warnings: string[] = []
  const cache = await openCache({
    name: 'tool',
    dir: machine.dir,
    engine: machine.engine,
    remote,
    onWarning: ({ code }) => warnings.push(code),
  })
  const value = cache.namespace('n', { codec: 'text' }).get('a')
  const report = cache.status().remote
  await cache.close()
  await remote.attach('tool', { offline: true }) // a turn after the warnings of the background
  return { value, remote: report, warnings }
}

describe.each(ENGINES)('prefetch with %s', (engine) => {
  it("'auto' fetches the layers of the cache that is opened, and no others", async () => {
    const machine = new Machine(await published(), engine)
    expect(await open(machine)).toMatchObject({ value: '1', remote: { state: 'current', layers: 1 } })
    expect(
      (await remoteStatus(machine.remote())).scopes[0]?.layers.map(({ cache, isLocal }) => [cache, isLocal]),
    ).toEqual(
      expect.arrayContaining([
        ['tool', true],
        ['other', false],
      ]),
    )
  })

  it("'all' fetches the layers of all caches, so the next tool needs no connection", async () => {
    const machine = new Machine(await published(), engine)
    expect(await open(machine, machine.remote({ prefetch: 'all' }))).toMatchObject({
      value: '1',
      remote: { state: 'current', layers: 1 },
    })
    const {
      scopes: [scope],
    } = await remoteStatus(machine.remote())
    expect(scope?.layers.map(({ isLocal }) => isLocal)).toEqual([true, true])
  })

  it("'lazy' waits for nothing: this build misses, and the next one hits", async () => {
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    const machine = new Machine(
      watched(await published(), () => held),
      engine,
    )
    const remote = machine.remote({ prefetch: 'lazy' })
    const first = await openCache({ name: 'tool', dir: machine.dir, engine, remote })
    expect([first.status().remote?.state, first.namespace('n', { codec: 'text' }).get('a')]).toEqual([
      'fetching',
      undefined,
    ])
    release()
    await first.close()
    await vi.waitFor(async () => expect((await remote.attach('tool', { offline: true })).paths).toHaveLength(1), 20_000)
    expect(await open(machine, remote)).toMatchObject({
      value: '1',
      remote: { state: 'fetching', layers: 1 },
      warnings: [],
    })
  })
})

describe("'lazy'", () => {
  it('a remote that fails in the background is one warning, and is asked no more', async () => {
    let calls = 0
    const machine = new Machine(
      watched(await published(), () => {
        calls++
        throw Object.assign(new Error('it is down'), { code: 'REMOTE_UNAVAILABLE' })
      }),
    )
    const remote = machine.remote({ prefetch: 'lazy' })
    const warnings: string[] = []
    const cache = await openCache({
      name: 'tool',
      dir: machine.dir,
      remote,
      onWarning: ({ message }) => warnings.push(message),
    })
    await vi.waitFor(() => expect(warnings).toEqual([expect.stringContaining('its newest state is not used')]), 20_000)
    await cache.close()
    expect([(await open(machine, remote)).remote?.state, calls]).toEqual(['failed', 1])
  })

  it('closing publishes after what is fetched in the background', async () => {
    const store = await published()
    const slowStore = watched(store, async (call) => void (call === 'get' && (await delay(20))))
    const machine = new Machine(slowStore)
    const cache = await openCache({ name: 'tool', dir: machine.dir, remote: machine.writer({ prefetch: 'lazy' }) })
    cache.namespace('n', { codec: 'text' }).put('c', '3')
    await cache.close()
    expect(await new Machine(store).read()).toMatchObject({ a: '1', c: '3' })
  })

  it('VARVE_REMOTE_PREFETCH decides, and an unknown value is one warning that names it', async () => {
    const server = await new HttpServer().start()
    server.answer = (_, response) => void response.writeHead(404).end()
    const env = {
      VARVE_REMOTE: server.url,
      VARVE_TRUSTED_KEYS: KEYS.publicKey,
      VARVE_REMOTE_MODE: '',
      VARVE_SIGNING_KEY: '',
      VARVE_OFFLINE: '',
    }
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    const seen = async (prefetch: string): Promise<string | null | undefined> => {
      vi.stubEnv('VARVE_REMOTE_PREFETCH', prefetch)
      const cache = await openCache({
        name: 'tool',
        dir: new Machine(new MemoryStore()).dir,
        onWarning: () => undefined,
      })
      const { remote } = cache.status()
      await cache.close()
      return remote?.problem ?? remote?.state
    }
    expect([await seen('lazy'), await seen('all'), await seen('')]).toEqual(['fetching', 'current', 'current'])
    expect(await seen('never')).toContain("invalid VARVE_REMOTE_PREFETCH 'never'")
    server.stop()
  })
})

describe("mode 'off'", () => {
  it('caches ignore the remote, and its functions are errors that open no connection', async () => {
    let calls = 0
    const machine = await new Machine(watched(await published(), () => void calls++)).put({ own: 'x' })
    const remote = machine.remote({ mode: 'off', signingKey: KEYS.signingKey })
    expect(await open(machine, remote)).toEqual({ value: undefined, remote: undefined, warnings: [] })
    const caches = [{ name: 'tool', dir: machine.dir }]
    for (const call of [pull(remote), remoteStatus(remote), verifyRemote(remote)]) {
      await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining("'off'") })
    }
    for (const call of [push(remote, { caches }), gc(remote), revoke(remote, 'abcdef0123')]) {
      await expect(call).rejects.toMatchObject({ code: 'READ_ONLY' })
    }
    expect(calls).toBe(0)
  })

  it.each([
    ['mode', 'write'],
    ['prefetch', 'never'],
  ])('an option %s that is unknown is an error that names the values', (option, value) => {
    const { store, dir } = new Machine(new MemoryStore()).remote()
    expect(() => openRemote({ store, dir, trustedKeys: 'none', [option]: value })).toThrow(
      `invalid option '${option}' '${value}': expected`,
    )
  })
})
