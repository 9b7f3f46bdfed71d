/** A cluster of Redis that loses a server: three that have keys, and a replica of each. */
import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { redis } from '@varve/remote'
import { openCache } from 'varve'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'
import { Machine } from './machines.ts'
import { freePort, serve } from './serve.ts'
import { STORES } from './servers.ts'

const canRun = STORES.some(({ name, start }) => name.startsWith('Redis') && start !== undefined)
const NAMES = Array.from({ length: 60 }, (_, number) => `blob/${number}`)
const text = (value: string): Uint8Array => new Uint8Array(Buffer.from(value))

/** A free port whose partner for the bus of the cluster, 10,000 above, exists. */
async function clusterPort(): Promise<number> {
  for (;;) {
    const port = await freePort()
    if (port < 55_000) return port
  }
}

describe.skipIf(!canRun)('a store in a cluster of Redis', slow, () => {
  const ports: number[] = []
  const stops = new Map<number, () => Promise<void>>()
  const command = (port: number, ...args: string[]): string =>
    execFileSync('redis-cli', ['-p', String(port), ...args], { encoding: 'utf8' })
  const url = (): string => `redis://127.0.0.1:${ports[0]}`

  beforeAll(async () => {
    for (let number = 0; number < 6; number++) {
      const port = await clusterPort()
      const files = ['--save', '', '--dir', makeFolder()]
      const args = [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        ...files,
        '--cluster-enabled',
        'yes',
        '--cluster-node-timeout',
        '1000',
      ]
      stops.set(port, await serve('redis-server', args, port))
      ports.push(port)
    }
    const addresses = ports.map((port) => `127.0.0.1:${port}`)
    execFileSync('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'])
    while (!ports.every((port) => command(port, 'cluster', 'info').includes('cluster_state:ok'))) await delay(50)
    // A replica takes over only once it has synced.
    while (!command(ports[0] ?? 0, 'info', 'replication').includes('state=online')) await delay(50)
  }, 60_000)
  afterAll(async () => Promise.all([...stops.values()].map((stop) => stop())))

  it('blobs are on all servers of the cluster, and a list has those of each of them', async () => {
    const store = redis({ url: url(), prefix: 'spread' })
    // The first call of a store may be a list, which no server answers with the address of another one.
    const listed = async (): Promise<string[]> => {
      const names = []
      for await (const { name } of redis({ url: url(), prefix: 'spread' }).list?.('') ?? []) names.push(name)
      return names
    }
    await Promise.all(NAMES.map((name) => store.put(name, text(name), { ifAbsent: true })))
    const found = await Promise.all(
      NAMES.map(async (name) => Buffer.from((await store.get(name))?.bytes ?? []).toString()),
    )
    expect(found).toEqual(NAMES)
    expect((await listed()).toSorted()).toEqual(NAMES.toSorted())
    const keys = ports.slice(0, 3).map((port) => Number(command(port, 'dbsize')))
    expect(
      keys.every((count) => count > 0),
      `keys of the servers: ${keys.join()}`,
    ).toBe(true)
    await store.delete?.(NAMES.slice(1))
    expect(await listed()).toEqual(NAMES.slice(0, 1))
  })

  it('while a server is down, a machine reads values or misses, never an error; its replica then takes over, and a publication works', async () => {
    const values = { a: 'value of a' }
    await (await new Machine(redis({ url: url() })).put(values)).push()
    const store = redis({ url: url() }) // one connection before, during and after
    expect(await new Machine(store).read()).toEqual(values)
    const killed = ports[1] ?? 0
    await stops.get(killed)?.()
    for (let build = 0; build < 3; build++) {
      const machine = new Machine(store)
      const cache = await openCache({
        name: 'tool',
        dir: machine.dir,
        remote: machine.remote(),
        onWarning: () => undefined,
      })
      expect([undefined, 'value of a']).toContain(cache.namespace('n', { codec: 'text' }).get('a'))
      await cache.close()
    }
    const masters = (port: number): string[] =>
      command(port, 'cluster', 'nodes')
        .split('\n')
        .filter((line) => line.includes('master - '))
    const isOver = (lines: readonly string[]): boolean =>
      lines.length === 3 && !lines.some((line) => line.includes(`:${killed}@`))
    while (!ports.every((port) => port === killed || isOver(masters(port)))) await delay(50)
    expect(await new Machine(store).read()).toEqual(values)
    await (await new Machine(store).put({ b: 'value of b' }, await new Machine(store).pullPaths())).push()
    expect(await new Machine(redis({ url: url() })).read()).toMatchObject({ b: 'value of b' })
  })
})
