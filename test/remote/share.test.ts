/** Machines share a cache through a remote: push, pull, deltas, many publishers, and publishers that end at any point. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  type BlobStore,
  directory,
  gc,
  generateKeys,
  openRemote,
  pull,
  push,
  remoteStatus,
  verifyRemote,
} from '@varve/remote'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import type * as keys from '../../packages/remote/src/manifest.ts'
import type * as manifests from '../../packages/remote/src/manifest.ts'
import { ENGINES } from '../engines.ts'
import { makeFolder, snapshot } from '../folders.ts'
import { slow } from '../slow.ts'
import { danglingOf, KEYS, Machine, namesOf, newStore, watched, withoutHead } from './machines.ts'

const internal = (file: string): string => new URL(`../../packages/remote/src/${file}.ts`, import.meta.url).href
const { readSigningKey }: typeof keys = await import(internal('manifest'))
const { decodeManifest, encodeManifest }: typeof manifests = await import(internal('manifest'))

const commitOf = (number: number): string => number.toString(16).padStart(40, '0')

describe.each(ENGINES)('published by %s', (engine) => {
  it.each(ENGINES)(
    'another machine reads every value with %s, files and values of several chunks included',
    async (reader) => {
      const store = newStore()
      const [one, other] = [new Machine(store, engine), new Machine(store, reader)]
      const large = randomBytes(5 << 20).toString('hex') // LZ4 leaves more than one chunk of it
      await one.put({ small: 'value', large })
      const made = makeFolder()
      const cache = await openCache({ name: 'tool', dir: one.dir, engine })
      cache.namespace('outputs', { codec: 'json' }).put('dist', await cache.files.store(import.meta.dirname))
      await cache.close()
      const {
        outcome,
        generation,
        layers: [layer],
        sentBytes,
      } = await one.push()
      expect([outcome, generation, layer?.bytes]).toEqual(['published', 1, sentBytes])
      expect(sentBytes).toBeGreaterThan(8 << 20)
      const found = await other.read()
      expect([Object.keys(found).sort(), found['large'] === large]).toEqual([['large', 'small'], true])
      const over = await openCache({
        name: 'tool',
        dir: join(made, 'cache'),
        engine: reader,
        layers: await other.pullPaths(),
      })
      const manifest = over.namespace('outputs', { codec: 'json' }).get('dist')
      await over.files.restore(manifest as never, join(made, 'dist'))
      await over.close()
      expect(readdirSync(join(made, 'dist')).sort()).toEqual(readdirSync(import.meta.dirname).sort())
      expect(existsSync(other.dir)).toBe(false)
    },
  )
})

describe('a fresh machine', () => {
  it('asks for descriptions and first chunks of all layers at the same time', async () => {
    const store = newStore()
    await (await new Machine(store).put({ a: '1', large: randomBytes(100_000).toString('hex') })).push()
    const other = new Machine(store)
    await (await other.put({ b: '2' }, await other.pullPaths())).push()
    const asked: string[] = []
    let answerAll = (): void => undefined
    const all = new Promise<void>((resolve) => (answerAll = resolve))
    const together = watched(store, (_, name) => {
      if (name.endsWith('/head')) return
      if (asked.push(name) === 4) answerAll()
      return all // a reader that waits for an answer before it asks for more would wait until its budget is used up
    })
    const reader = new Machine(together)
    expect(await reader.read(reader.remote({ budgetMs: 5000 }))).toMatchObject({ a: '1', b: '2' })
    expect(asked.map((name) => name.split('/')[2]).sort()).toEqual(['chunk', 'chunk', 'layer', 'layer'])
  })

  it('refuses a manifest that names other first chunks than the description of the layer', async () => {
    const store = newStore()
    await (await new Machine(store).put({ a: '1' })).push()
    const name = 'v1/trusted/main/head'
    const manifest = decodeManifest((await store.get(name))?.bytes ?? new Uint8Array(), name, 'none')
    const [layer] = manifest.layers
    expect(layer?.first).toEqual([{ sha256: expect.any(String), bytes: layer?.bytes }])
    const other = manifest.layers.map((each) => ({ ...each, first: [...each.first, ...each.first] }))
    await store.put(name, encodeManifest({ ...manifest, layers: other }, readSigningKey('key', KEYS.signingKey)))
    const reader = new Machine(store)
    await expect(reader.read()).rejects.toMatchObject({
      code: 'REMOTE_UNTRUSTED',
      message: expect.stringContaining('than its description'),
    })
    expect(readdirSync(join(reader.folder, 'layers')).filter((each) => !each.startsWith('head-'))).toEqual([])
  })
})

describe('deltas', () => {
  it('a second publisher sends only what it adds, and what it deletes is gone for all', async () => {
    const store = newStore()
    const one = await new Machine(store).put({ a: '1', b: '1', large: 'x'.repeat(3_000_000) })
    await one.push()
    const other = new Machine(store)
    await other.put({ a: '2', b: null, c: '2' }, await other.pullPaths())
    const {
      outcome,
      generation,
      layers: [layer],
      sentBytes,
    } = await other.push()
    expect([outcome, generation, layer?.entries, layer?.deletes]).toEqual(['published', 2, 2, 1])
    expect(sentBytes).toBeLessThan(4000)
    expect(await new Machine(store).read()).toMatchObject({ a: '2', c: '2' })
    expect(Object.keys(await new Machine(store).read()).sort()).toEqual(['a', 'c', 'large'])
  })

  it('an unchanged cache publishes nothing and writes no object', async () => {
    const store = newStore()
    const one = await new Machine(store).put({ a: '1' })
    await one.push()
    const before = await namesOf(store)
    expect(await one.push()).toMatchObject({ outcome: 'unchanged', layers: [], sentBytes: 0 })
    expect(await namesOf(store)).toEqual(before)
  })

  it('a machine that already has the layers fetches nothing, and a read with pull writes nothing to the cache', async () => {
    const store = newStore()
    const one = await new Machine(store).put({ a: '1' })
    await one.push()
    const reader = new Machine(store)
    expect(await pull(reader.remote())).toMatchObject({ fetched: 1 })
    const before = snapshot(reader.folder)
    expect(await pull(reader.remote())).toMatchObject({ fetched: 0, fetchedBytes: 0 })
    expect(snapshot(reader.folder)).toEqual(before)
  })

  it('a publisher whose cache was not opened over the layers of others deletes nothing of theirs', async () => {
    const store = newStore()
    await (await new Machine(store).put({ a: '1' })).push()
    const {
      layers: [layer],
    } = await (await new Machine(store).put({ b: '2' })).push()
    expect([layer?.entries, layer?.deletes]).toEqual([1, 0])
    expect(await new Machine(store).read()).toEqual({ a: '1', b: '2' })
  })

  it('reopening a remote without a change takes one request', async () => {
    const store = newStore()
    await (await new Machine(store).put({ a: '1' })).push()
    const calls: string[] = []
    const reader = new Machine(watched(store, (call, name) => void calls.push(`${call} ${name}`)))
    await reader.pullPaths()
    calls.length = 0
    await reader.pullPaths()
    expect(calls).toEqual(['get v1/trusted/main/head'])
  })

  it('20,000 small entries take at most 64 requests', async () => {
    const store = newStore()
    const value = (key: number): string => `${key} `.repeat(200)
    await (
      await new Machine(store).put(
        Object.fromEntries(Array.from({ length: 20_000 }, (_, key) => [String(key), value(key)])),
      )
    ).push()
    let requests = 0
    const reader = new Machine(watched(store, () => void requests++))
    expect(Object.keys(await reader.read())).toHaveLength(20_000)
    expect(requests).toBeLessThanOrEqual(64)
  })
})

describe('many publishers', () => {
  it('8 publishers at once all succeed, and no entry is lost', async () => {
    const store = newStore()
    const publish = async (name: number): Promise<number> =>
      (await (await new Machine(store).put({ [name]: 'value' })).push()).generation
    const generations = await Promise.all(Array.from({ length: 8 }, (_, name) => publish(name)))
    expect(generations.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(Object.keys(await new Machine(store).read())).toHaveLength(8)
  })

  it('16 publishers of the same build at one commit make one manifest and one layer, and leave nothing dangling', async () => {
    const store = newStore()
    const machines = await Promise.all(Array.from({ length: 16 }, () => new Machine(store).put({ a: '1', b: '2' })))
    const reports = await Promise.all(machines.map((machine) => machine.push({ commit: commitOf(1) })))
    expect(reports.filter(({ outcome }) => outcome === 'published')).toHaveLength(1)
    const names = await namesOf(store)
    expect(names.map((name) => name.split('/').slice(0, -1).join('/')).sort()).toEqual([
      'v1/trusted/chunk',
      'v1/trusted/layer',
      'v1/trusted/main',
      'v1/trusted/main/manifest',
    ])
    expect(await danglingOf(store)).toEqual([])
    expect(await new Machine(store).read()).toEqual({ a: '1', b: '2' })
  })

  it('8 publishers with 10 changes each make 80 generations, and no entry is lost', slow, async () => {
    const store = newStore()
    const generations: number[] = []
    const publisher = async (name: number): Promise<void> => {
      const machine = new Machine(store)
      for (let turn = 0; turn < 10; turn++) {
        await machine.put({ [`${name}-${turn}`]: 'value' })
        generations.push((await machine.push()).generation)
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, name) => publisher(name)))
    expect(generations.sort((one, other) => one - other)).toEqual(Array.from({ length: 80 }, (_, index) => index + 1))
    expect(Object.keys(await new Machine(store).read())).toHaveLength(80)
    const { sound, problems, layers } = await verifyRemote(new Machine(store).remote())
    expect([sound, problems, layers < 8]).toEqual([true, [], true])
  })

  it('a publisher that ends before any of its requests leaves a remote that readers and publishers can use', async () => {
    const layer = { c: 'x'.repeat(1_500_000), d: '4' }
    const keysIn = async (store: BlobStore): Promise<string> =>
      Object.keys(await new Machine(store).read())
        .sort()
        .join()
    let requests = 1
    for (let last = 0; last < requests; last++) {
      const store = newStore()
      await (await new Machine(store).put({ a: '1' })).push()
      let made = 0
      const ending = new Machine(
        watched(store, () => {
          if (++made > last) throw new Error('the process ended')
        }),
      )
      const failed = await (await ending.put(layer)).push({ commit: commitOf(2) }).then(
        () => false,
        () => true,
      )
      requests = failed ? Math.max(requests, last + 2) : requests
      expect(['a', 'a,c,d']).toContain(await keysIn(store))
      expect((await verifyRemote(new Machine(store).remote())).sound).toBe(true)
      await (await new Machine(store).put(layer)).push({ commit: commitOf(2) })
      expect(await keysIn(store)).toBe('a,c,d')
      const collector = new Machine(store)
      await gc(collector.writer(), { graceMs: 0 })
      expect([await danglingOf(store), await keysIn(store)]).toEqual([[], 'a,c,d'])
    }
    expect(requests).toBeGreaterThan(8)
  })

  it('a reader that ends before any of its requests fetches everything the next time', async () => {
    const store = newStore()
    await (await new Machine(store).put({ a: 'x'.repeat(3_000_000), b: '2' })).push()
    let isWhole = false
    for (let last = 0; !isWhole; last++) {
      let made = 0
      const machine = new Machine(
        watched(store, () => {
          if (++made > last) throw new Error('the process ended')
        }),
      )
      isWhole = await machine.pullPaths().then(
        () => true,
        () => false,
      )
      const again = openRemote({ store, dir: join(machine.folder, 'layers'), trustedKeys: [KEYS.publicKey] })
      expect(Object.keys(await new Machine(store).read(again)).sort()).toEqual(['a', 'b'])
      expect(last).toBeLessThan(20)
    }
  })
})

describe('commits', () => {
  it('without a head, the manifest of the first known commit is read', async () => {
    const headless = withoutHead(newStore())
    const one = await new Machine(headless).put({ a: '1' })
    const unknown = one.push({}, one.writer({ commits: [] }))
    await expect(unknown).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('--commit'),
    })
    await one.push({ commit: commitOf(1) })
    const other = await new Machine(headless).put({ b: '2' })
    await push(other.writer(), {
      caches: [{ name: 'tool', dir: other.dir }],
      commit: commitOf(2),
      commits: [commitOf(1)],
    })
    expect(await new Machine(headless).read(undefined, [commitOf(3), commitOf(1)])).toEqual({ a: '1' })
    expect(await new Machine(headless).read(undefined, [commitOf(3), commitOf(2), commitOf(1)])).toEqual({
      a: '1',
      b: '2',
    })
    expect(await new Machine(headless).read(undefined, [commitOf(3)])).toEqual({})
  })

  it('status names generation, commit and layers, and which are on this machine', async () => {
    const folder = join(makeFolder(), 'store')
    const store = directory(folder)
    const one = await new Machine(store).put({ a: '1' })
    await expect(remoteStatus(one.remote())).rejects.toMatchObject({ code: 'REMOTE_UNAVAILABLE' }) // nothing has made its directory
    mkdirSync(folder)
    expect(await remoteStatus(one.remote())).toMatchObject({
      writable: false,
      scopes: [{ scope: 'trusted/main', generation: 0, layers: [] }],
    })
    await one.push({ commit: commitOf(1) })
    const layers = [{ cache: 'tool', entries: 1, isLocal: true }]
    expect(await remoteStatus(one.writer())).toMatchObject({
      writable: true,
      scopes: [{ generation: 1, commit: commitOf(1), layers }],
    })
    expect(await remoteStatus(new Machine(store).remote())).toMatchObject({
      scopes: [{ layers: [{ isLocal: false }] }],
    })
  })
})

describe('who may write', () => {
  it('without mode and signing key nothing is ever written', async () => {
    const writes: string[] = []
    const store = watched(newStore(), (call, name) => void (call === 'put' && writes.push(name)))
    const machine = await new Machine(store).put({ a: '1' })
    for (const remote of [
      machine.remote(),
      machine.remote({ signingKey: KEYS.signingKey }),
      machine.remote({ trustedKeys: 'none' }),
    ]) {
      await expect(machine.push({}, remote)).rejects.toMatchObject({ code: 'READ_ONLY' })
    }
    expect(() => machine.remote({ mode: 'read-write' })).toThrow(/needs option 'signingKey'/)
    await expect(machine.push({}, machine.writer({ signingKey: generateKeys().signingKey }))).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    })
    expect(writes).toEqual([])
  })

  it('a pull request reads main, writes its own scope with its own key, and main reads nothing of it', async () => {
    const store = newStore()
    await (await new Machine(store).put({ a: '1' })).push()
    const own = generateKeys()
    const scopes = { scope: 'untrusted/pr/7', base: ['trusted/main'] }
    const request = await new Machine(store).put({ b: '2' })
    await request.push({}, request.writer({ ...scopes, signingKey: own.signingKey }))
    const reader = new Machine(store)
    expect(await reader.read(reader.remote({ ...scopes, untrustedKeys: [own.publicKey] }))).toEqual({ a: '1', b: '2' })
    expect(await new Machine(store).read()).toEqual({ a: '1' })
    expect((await namesOf(store)).filter((name) => name.startsWith('v1/untrusted/')).length).toBe(3)
    expect(() => reader.remote({ base: ['untrusted/pr/7'] })).toThrow(/remove that from option 'base'/)
  })

  it('unsigned reading must be spelled out', () => {
    const options = { store: newStore(), dir: makeFolder() }
    expect(() => openRemote({ ...options, trustedKeys: [] })).toThrow(/VARVE_TRUSTED_KEYS/)
    expect(() => openRemote(options as never)).toThrow(/VARVE_TRUSTED_KEYS/)
    expect(() => openRemote({ ...options, trustedKeys: 'none' })).not.toThrow()
  })
})
