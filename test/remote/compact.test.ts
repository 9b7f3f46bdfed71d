/** Layers of a remote stay few, publishers merge them, and machines drop those that nothing names any more. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { compact, pull, push, verifyRemote } from '@varve/remote'
import { openCache, VarveError } from 'varve'
import { describe, expect, it } from 'vitest'
import type * as change from '../../packages/remote/src/manifest.ts'
import { ENGINES } from '../engines.ts'
import { randomOf } from '../random.ts'
import { type Entries, Machine, MemoryStore, watched } from './machines.ts'

const PATH = new URL('../../packages/remote/src/manifest.ts', import.meta.url).href
const { countToMerge, layersWith }: typeof change = await import(PATH)

const many = (prefix: string, count: number): Entries =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`${prefix}-${index}`, randomBytes(500).toString('hex')]),
  )

describe('what is merged', () => {
  const size = (bytes: number, entries = bytes): change.Size => ({ bytes, entries, deletes: 0 })

  it('each layer is larger than all newer ones together, after any sequence of publications', () => {
    const below = randomOf(11)
    for (let round = 0; round < 15; round++) {
      let layers: change.Size[] = []
      let written = 0
      let total = 0
      for (let turn = 0; turn < 100; turn++) {
        const delta = size(1 + below(1000), 1 + below(1000))
        const count = countToMerge(layers, delta, Number.MAX_SAFE_INTEGER)
        const merged = [delta, ...layers.slice(0, count)]
        const sum = size(
          merged.reduce((all, { bytes }) => all + bytes, 0),
          merged.reduce((all, { entries }) => all + entries, 0),
        )
        layers = [sum, ...layers.slice(count)]
        written += sum.bytes
        total += delta.bytes
        for (const [index, layer] of layers.entries()) {
          const newer = layers.slice(0, index)
          expect(layer.bytes).toBeGreaterThan(newer.reduce((all, { bytes }) => all + bytes, 0))
          expect(layer.entries).toBeGreaterThanOrEqual(newer.reduce((all, { entries }) => all + entries, 0))
        }
      }
      expect(layers.length).toBeLessThan(18)
      expect(written / total).toBeLessThan(18)
    }
  })

  it('no more than the limit is merged', () => {
    expect(countToMerge([size(5), size(5), size(500)], size(5), 1000)).toBe(2)
    expect(countToMerge([size(5), size(5), size(10)], size(5), 15)).toBe(2)
    expect(countToMerge([size(5)], size(5), 9)).toBe(0)
  })

  it('a merged layer takes the place of those it has, below what others have published since', () => {
    const layer = (sha256: string, cache = 'tool'): Parameters<typeof layersWith>[0][number] => ({
      cache,
      sha256,
      descriptionBytes: 1,
      bytes: 1,
      first: [],
      entries: 1,
      deletes: 0,
    })
    const [a, b, c, m] = [layer('a'), layer('b'), layer('c'), layer('m')]
    expect(layersWith([c, layer('x', 'other'), b, a], [{ layer: m, replaces: [b] }])).toEqual([
      c,
      layer('x', 'other'),
      m,
      a,
    ])
    expect(layersWith([c, b, layer('x', 'other'), a], [{ layer: m, replaces: [b, a] }])).toEqual([
      c,
      m,
      layer('x', 'other'),
    ])
    expect(layersWith([b, a], [{ layer: c, replaces: [] }])).toEqual([c, b, a])
    expect(layersWith([m, a], [{ layer: m, replaces: [b] }])).toEqual([m, a])
    expect(layersWith([c, a], [{ layer: m, replaces: [b] }])).toBeUndefined()
    expect(layersWith([b, c, a], [{ layer: m, replaces: [b, a] }])).toBeUndefined()
  })
})

describe.each(ENGINES)('a busy branch, with %s', (engine) => {
  it('20 publications leave few layers with the newest value of each key, and without what was deleted', async () => {
    const store = new MemoryStore()
    const expected: Record<string, string | null> = {}
    for (let turn = 0; turn < 20; turn++) {
      const machine = new Machine(store, engine)
      const layers = await machine.pullPaths()
      const entries = {
        same: `${turn}`,
        [`own-${turn}`]: 'x'.repeat(100),
        ...(turn > 2 ? { [`own-${turn - 3}`]: null } : {}),
      }
      await machine.put(entries, layers)
      Object.assign(expected, entries)
      expect((await machine.push()).generation).toBe(turn + 1)
    }
    const kept = Object.fromEntries(Object.entries(expected).filter(([, value]) => value !== null))
    expect(await new Machine(store).read()).toEqual(kept)
    const reader = new Machine(store)
    expect((await reader.pullPaths()).length).toBeLessThanOrEqual(5)
    expect(await verifyRemote(reader.remote())).toMatchObject({ sound: true })
  })
})

describe('compact', () => {
  it('merges all layers of each cache into one if asked, and changes nothing that readers see', async () => {
    const store = new MemoryStore()
    for (const entries of [many('a', 20), many('b', 9), many('c', 5)])
      await (await new Machine(store).put(entries)).push()
    const before = await new Machine(store).read()
    const writer = new Machine(store)
    expect((await writer.pullPaths()).length).toBe(3)
    expect(await compact(writer.writer())).toMatchObject({ outcome: 'unchanged', layers: [] })
    const layers = [{ entries: 34, deletes: 0 }]
    expect(await compact(writer.writer(), { full: true })).toMatchObject({
      outcome: 'published',
      generation: 4,
      layers,
    })
    expect((await writer.pullPaths()).length).toBe(1)
    expect(await new Machine(store).read()).toEqual(before)
    await expect(compact(writer.remote())).rejects.toMatchObject({ code: 'READ_ONLY' })
  })

  it('a publication while layers are merged is kept', async () => {
    const store = new MemoryStore()
    for (const entries of [many('a', 20), many('b', 9)]) await (await new Machine(store).put(entries)).push()
    const other = await new Machine(store).put({ during: 'value' })
    let isFirst = true
    const interrupted = new Machine(
      watched(store, async (call, name) => {
        if (call !== 'put' || !name.includes('/layer/') || !isFirst) return
        isFirst = false
        await other.push()
      }),
    )
    await compact(interrupted.writer(), { full: true })
    const found = await new Machine(store).read()
    expect([Object.keys(found).length, found['during']]).toEqual([30, 'value'])
  })

  it('layers of a cache with a secret are not merged without it', async () => {
    const [store, folder] = [new MemoryStore(), new Machine(new MemoryStore())]
    const secret = 'x'.repeat(32)
    for (const key of ['a', 'b']) {
      const machine = new Machine(store)
      const cache = await openCache({ name: 'tool', dir: machine.dir, secret })
      cache.namespace('n', { codec: 'text' }).put(key, 'x'.repeat(key === 'a' ? 1000 : 10))
      await cache.close()
      if (key === 'a') await push(machine.writer(), { caches: [{ name: 'tool', dir: machine.dir, secret }] })
      else await push(machine.writer(), { caches: [{ name: 'other', dir: machine.dir, secret }] })
    }
    const { layers } = await pull(folder.remote({ store }))
    expect(layers).toHaveLength(2)
    expect(await compact(folder.writer({ store }), { full: true })).toMatchObject({ outcome: 'unchanged' })
  })
})

describe('what closing a cache publishes', () => {
  const close = async (machine: Machine, entries: Entries): Promise<void> => {
    const cache = await openCache({ name: 'tool', dir: machine.dir, remote: machine.writer() })
    for (const [key, value] of Object.entries(entries)) cache.namespace('n', { codec: 'text' }).put(key, value ?? '')
    await cache.close()
  }

  it('a few small entries over a large cache wait for more, and push publishes them', async () => {
    const store = new MemoryStore()
    const machine = new Machine(store)
    await close(machine, { a: randomBytes(200_000).toString('hex') })
    const generation = async (): Promise<number> => (await machine.push()).generation
    const before = [...store.blobs.keys()]
    await close(machine, { b: '1' })
    expect([...store.blobs.keys()]).toEqual(before)
    expect(await generation()).toBe(2)
    await close(machine, { c: randomBytes(300_000).toString('hex') })
    expect(Object.keys(await new Machine(store).read()).sort()).toEqual(['a', 'b', 'c'])
  })
})

describe('layers on a machine', () => {
  const directoriesOf = (machine: Machine): string[] =>
    readdirSync(join(machine.folder, 'layers')).filter((name) => /^[0-9a-f]{32}$/.test(name))

  it('merged ones are removed a week later, and a process that has one open still reads it', async () => {
    const store = new MemoryStore()
    const writer = new Machine(store)
    await (await writer.put(many('a', 3))).push()
    const reader = new Machine(store)
    const layers = await reader.pullPaths()
    const [first = ''] = directoriesOf(reader)
    const open = await openCache({ name: 'tool', dir: reader.dir, layers })
    const mark = join(reader.folder, 'layers', first, '.unused')
    await (await writer.put(many('b', 4))).push()
    expect(existsSync(mark)).toBe(false)
    await reader.pullPaths()
    expect([existsSync(mark), directoriesOf(reader).length]).toEqual([true, 2])
    await (await writer.put(many('c', 9))).push()
    await reader.pullPaths()
    expect(directoriesOf(reader)).toContain(first)
    utimesSync(mark, 0, (Date.now() - 8 * 86_400_000) / 1000)
    await (await writer.put(many('d', 30))).push()
    await reader.pullPaths()
    expect(directoriesOf(reader)).not.toContain(first)
    expect(open.namespace('n', { codec: 'text' }).get('a-1')).toHaveLength(1000)
    await open.close()
    expect(Object.keys(await reader.read())).toHaveLength(46)
  })

  it('while a merged layer cannot be fetched, a build uses those of the last complete state', async () => {
    const store = new MemoryStore()
    const writer = new Machine(store)
    await (await writer.put({ a: '1' })).push()
    let isDown = false
    const reader = new Machine(
      watched(store, (_, name) => {
        if (isDown && name.includes('/chunk/')) throw new VarveError('REMOTE_UNAVAILABLE', 'it is down')
      }),
    )
    const build = async (): Promise<readonly unknown[]> => {
      const cache = await openCache({
        name: 'tool',
        dir: reader.dir,
        remote: reader.remote(),
        onWarning: () => undefined,
      })
      const found = [cache.status().remote?.state, cache.namespace('n', { codec: 'text' }).get('a')]
      await cache.close()
      return found
    }
    expect(await build()).toEqual(['current', '1'])
    await (await writer.put(many('b', 3))).push()
    isDown = true
    expect(await build()).toEqual(['failed', '1'])
  })
})
