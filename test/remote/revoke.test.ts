/** A revoked layer disappears from machines that had fetched it, and no publisher brings it back. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { remoteStatus, revoke } from '@varve/remote'
import { openCache } from 'varve'
import { expect, it } from 'vitest'
import { type Entries, Machine, MemoryStore } from './machines.ts'

const COMMIT = '89abcdef89abcdef89abcdef89abcdef89abcdef'
const GOOD: Entries = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}`, `good ${index}`]))

/** A store with a good layer, a poisoned one on top, and a machine that has fetched both. */
async function poisoned(): Promise<{
  store: MemoryStore
  publisher: Machine
  reader: Machine
  digest: string
  paths: string[]
}> {
  const store = new MemoryStore()
  await (await new Machine(store).put(GOOD)).push()
  const publisher = await new Machine(store).put({ 1: 'poison' })
  const {
    layers: [layer],
  } = await publisher.push({ commit: COMMIT })
  const reader = new Machine(store)
  const paths = await reader.pullPaths()
  expect([paths.length, (await reader.read())['1']]).toEqual([2, 'poison'])
  return { store, publisher, reader, digest: layer?.sha256 ?? '', paths }
}

const valueIn = async (machine: Machine): Promise<string | undefined> => {
  const cache = await openCache({ name: 'tool', dir: machine.dir, remote: machine.remote() })
  const value = cache.namespace('n', { codec: 'text' }).get('1')
  await cache.close()
  return value
}

it.each(['digest', 'commit'])(
  'a layer that is revoked by its %s is used by no machine, and is removed from those that had it',
  async (by) => {
    const { reader, publisher, digest, paths } = await poisoned()
    const { layers, generation } = await revoke(publisher.writer(), by === 'digest' ? digest.slice(0, 12) : COMMIT)
    expect([layers.map(({ sha256 }) => sha256), generation]).toEqual([[digest], 3])
    expect(await valueIn(reader)).toBe('good 1')
    expect(readdirSync(join(reader.folder, 'layers')).filter((name) => digest.startsWith(name))).toEqual([])
    const cache = await openCache({
      name: 'tool',
      dir: join(reader.folder, 'other'),
      layers: paths,
      onWarning: () => undefined,
    })
    expect(cache.namespace('n', { codec: 'text' }).get('1')).toBe('good 1')
    await cache.close()
  },
)

it('the same layer is not published again, and later ones are', async () => {
  const { store, publisher, digest } = await poisoned()
  await revoke(publisher.writer(), digest)
  await publisher.push()
  expect((await new Machine(store).read())['1']).toBe('good 1')
  await (await new Machine(store).put({ own: 'x' })).push()
  expect(await new Machine(store).read()).toMatchObject({ 1: 'good 1', own: 'x' })
})

it('a layer into which a revoked one was merged is revoked with it', async () => {
  const { store, publisher, digest } = await poisoned()
  const {
    layers: [merged],
  } = await (await new Machine(store).put({ later: '1', last: '2' })).push()
  expect(merged?.merged).toEqual([digest.slice(0, 16)])
  const { layers } = await revoke(publisher.writer(), digest)
  expect(layers.map(({ sha256 }) => sha256)).toEqual([merged?.sha256])
  expect((await new Machine(store).read())['1']).toBe('good 1')
})

it('a layer whose objects the store has lost is a miss until it is revoked, or a publisher leaves it out', async () => {
  const { store, publisher, digest } = await poisoned()
  const { bytes = new Uint8Array() } = (await store.get(`v1/trusted/layer/${digest}`)) ?? {}
  const [chunk = ''] = Buffer.from(bytes).toString().split('\n\n')[1]?.split('\n') ?? []
  await store.delete([`v1/trusted/chunk/${chunk}`])
  await expect(new Machine(store).read()).rejects.toMatchObject({
    code: 'REMOTE_UNTRUSTED',
    message: expect.stringContaining('is missing'),
  })
  await revoke(publisher.writer(), digest)
  expect((await new Machine(store).read())['1']).toBe('good 1')
  await (await new Machine(store).put({ own: 'x' })).push()
  expect(await new Machine(store).read()).toMatchObject({ 1: 'good 1', own: 'x' })
})

it('a layer that the remote does not have, no digest, and a machine without a key are errors', async () => {
  const { publisher, reader, digest } = await poisoned()
  await expect(revoke(publisher.writer(), 'abcdef0')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('status'),
  })
  await expect(async () => revoke(publisher.writer(), '../head')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  await expect(revoke(reader.remote(), digest)).rejects.toMatchObject({ code: 'READ_ONLY' })
  expect(await remoteStatus(reader.remote())).toMatchObject({ scopes: [{ generation: 2, layers: [{}, {}] }] })
})
