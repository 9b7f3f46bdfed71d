/** A store that has lost an object which its head names: the next build that publishes repairs it, on every kind of store. */
import { randomBytes } from 'node:crypto'
import { type BlobStore, verifyRemote } from '@varve/remote'
import { openCache } from 'varve'
import { describe, expect, it } from 'vitest'
import { Machine, MemoryStore, namesOf, newStore, withoutHead } from './machines.ts'

const COMMIT = '89abcdef89abcdef89abcdef89abcdef89abcdef'

/** One build of a fresh machine: what it makes again, and the codes of its warnings. */
interface Build {
  readonly made: number
  readonly warnings: readonly string[]
}

const KEYS_OF_BUILD = ['a', 'b', 'c']

/** Values that do not compress, so that each publication is a layer of its own. */
const values = new Map(
  KEYS_OF_BUILD.map((key, index) => [key, randomBytes([100_000, 45_000, 40_000][index] ?? 0).toString('hex')]),
)

async function build(store: BlobStore, count: number, writes: boolean): Promise<Build> {
  const machine = new Machine(store)
  const options = { commits: [COMMIT] }
  const remote = writes ? machine.writer(options) : machine.remote(options)
  const warnings: string[] = []
  let made = 0
  const cache = await openCache({
    name: 'tool',
    dir: machine.dir,
    remote,
    onWarning: ({ code }) => warnings.push(code),
  })
  const space = cache.namespace('n', { codec: 'text' })
  for (const key of KEYS_OF_BUILD.slice(0, count)) {
    await space.getOrPut(key, () => {
      made += 1
      return values.get(key) ?? ''
    })
  }
  await cache.close()
  return { made, warnings }
}

const STORES: Readonly<Record<string, () => BlobStore & Required<Pick<BlobStore, 'delete'>>>> = {
  memory: () => new MemoryStore(),
  directory: () => newStore() as BlobStore & Required<Pick<BlobStore, 'delete'>>,
  'a store without a head': () => withoutHead(new MemoryStore()) as BlobStore & Required<Pick<BlobStore, 'delete'>>,
}

describe.each(Object.entries(STORES))('%s', (_, make) => {
  it.each(['chunk', 'layer'])('every %s is lost: the next four builds find a store that works', async (kind) => {
    const store = make()
    for (let count = 1; count <= 3; count++) await build(store, count, true)
    expect(await build(store, 3, false)).toEqual({ made: 0, warnings: [] })
    await store.delete((await namesOf(store)).filter((name) => name.includes(`/${kind}/`)))
    expect(await build(store, 3, false)).toEqual({ made: 3, warnings: ['REMOTE_UNTRUSTED'] })
    expect(await build(store, 3, true)).toEqual({ made: 3, warnings: ['REMOTE_UNTRUSTED'] })
    for (let time = 0; time < 3; time++) expect(await build(store, 3, time === 1)).toEqual({ made: 0, warnings: [] })
    const machine = new Machine(store)
    expect(await verifyRemote(machine.remote({ commits: [COMMIT] }))).toMatchObject({ sound: true, problems: [] })
  })

  it('each single object is lost: the next build that publishes repairs it', async () => {
    const lost = (await namesOf(await published(make))).filter((name) => /\/(?:chunk|layer)\//.test(name))
    const warned: string[] = []
    for (let index = 0; index < lost.length; index++) {
      const store = await published(make)
      const name = (await namesOf(store)).filter((each) => /\/(?:chunk|layer)\//.test(each))[index] ?? ''
      await store.delete([name])
      warned.push(...(await build(store, 3, true)).warnings) // none for what was merged into another layer
      expect([name, await build(store, 3, false)]).toEqual([name, { made: 0, warnings: [] }])
    }
    expect(warned.length).toBeGreaterThan(1)
  })
})

async function published(make: (typeof STORES)[string]): Promise<ReturnType<typeof make>> {
  const store = make()
  for (let count = 1; count <= 3; count++) await build(store, count, true)
  return store
}

it('an object of a scope below is lost: the scope above publishes without it, and does not change the one below', async () => {
  const store = new MemoryStore()
  await (await new Machine(store).put({ a: 'below' })).push()
  const head = (await store.get('v1/trusted/main/head'))?.bytes
  await store.delete((await namesOf(store)).filter((name) => name.includes('/chunk/')))
  const machine = await new Machine(store).put({ b: 'above' })
  const { outcome } = await machine.push({}, machine.writer({ scope: 'trusted/branch', base: ['trusted/main'] }))
  expect([outcome, (await store.get('v1/trusted/main/head'))?.bytes]).toEqual(['published', head])
  const reader = new Machine(store)
  expect(await reader.read(reader.remote({ scope: 'trusted/branch' }))).toEqual({ b: 'above' })
})
