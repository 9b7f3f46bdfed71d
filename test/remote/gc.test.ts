/** Garbage collection removes what no head names and nothing else, whatever publishers do meanwhile and whenever it ends. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type BlobStore, gc, openRemote, type Remote, verifyRemote, webdav } from '@varve/remote'
import { VarveError } from 'varve'
import { beforeAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'
import { danglingOf, KEYS, Machine, MemoryStore, watched } from './machines.ts'

const LARGE = 'x'.repeat(1_500_000)
const SWEEP = 'v1/trusted/sweep'

/** A store with a layer, and with the objects of another layer that no head names. */
let before: MemoryStore
/** A machine whose push would publish this other layer. */
let publisher: Machine

beforeAll(async () => {
  before = new MemoryStore()
  await (await new Machine(before).put({ a: '1', more: '1', most: '1' })).push()
  publisher = await new Machine(before).put({ c: LARGE, d: '4' })
  const ending = watched(before, (call, name) => {
    if (call === 'put' && name.endsWith('/head')) throw new Error('the process ended')
  })
  await publisher.push({}, remoteOf(ending)).catch(() => undefined)
})

/** A new machine that may publish. */
function remoteOf(store: BlobStore, scope: string = 'trusted/main'): Remote {
  const keys = { trustedKeys: [KEYS.publicKey], mode: 'read-write', signingKey: KEYS.signingKey } as const
  return openRemote({ store, scope, dir: join(makeFolder(), 'layers'), ...keys })
}

/** How a call has ended: a code or `'done'`. */
async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'done'
  } catch (error) {
    return error instanceof VarveError ? error.code : String(error)
  }
}

const collect = (store: BlobStore): Promise<string> => outcomeOf(gc(remoteOf(store), { graceMs: 0 }))
const publish = (store: BlobStore, scope?: string): Promise<string> =>
  outcomeOf(publisher.push({}, remoteOf(store, scope)))
const isSound = async (store: BlobStore, scope?: string): Promise<boolean> =>
  (await verifyRemote(remoteOf(store, scope))).sound
const keysOf = async (store: BlobStore): Promise<string> =>
  Object.keys(await new Machine(store).read())
    .sort()
    .join()
const PUBLISHED = 'a,c,d,more,most'

/** Runs `other` once before the request with this number, for every number, and `check` after each run. Returns the numbers. */
async function interleaved(
  work: (store: BlobStore) => Promise<string>,
  other: (store: BlobStore) => Promise<string>,
  check: (store: MemoryStore, outcomes: readonly string[], number: number) => Promise<void>,
): Promise<number> {
  for (let number = 0; ; number++) {
    const store = new MemoryStore(before.blobs)
    let [made, hasRun] = [0, false]
    const outcomes: string[] = []
    const watching = watched(store, async () => {
      if (made++ !== number) return
      hasRun = true
      outcomes.push(await other(store))
    })
    outcomes.push(await work(watching))
    if (!hasRun) return number
    await check(store, outcomes, number)
  }
}

describe('what is removed', () => {
  it('objects that no head names, after the grace, and a dry run removes and writes nothing', async () => {
    const store = new MemoryStore(before.blobs)
    expect(await gc(remoteOf(store))).toMatchObject({ removed: 0 })
    store.age(2 * 86_400_000)
    const all = [...store.blobs.keys()]
    const dry = await gc(remoteOf(store), { dryRun: true, graceMs: 0 })
    expect([dry.removed, [...store.blobs.keys()]]).toEqual([2, all])
    expect(await gc(remoteOf(store))).toMatchObject({ dryRun: false, removed: 2, removedBytes: dry.removedBytes })
    expect([await danglingOf(store), await isSound(store), await keysOf(store)]).toEqual([[], true, 'a,more,most'])
    expect(await publish(store)).toBe('done')
    expect(await keysOf(store)).toBe(PUBLISHED)
  })

  it('layers of other scopes stay', async () => {
    const store = new MemoryStore(before.blobs)
    const other = await new Machine(store).put({ other: '1' })
    await other.push({}, other.writer({ scope: 'trusted/release/1' }))
    expect(await collect(store)).toBe('done')
    expect(await other.read(other.remote({ scope: 'trusted/release/1' }))).toEqual({ other: '1' })
  })

  it('a head that cannot be verified, and a layer without its description, end it before it removes anything', async () => {
    for (const damage of [
      'v1/trusted/other/head',
      [...before.blobs.keys()].find((name) => name.includes('/layer/')) ?? '',
    ]) {
      const store = new MemoryStore(before.blobs)
      await store.put(damage, new Uint8Array(100))
      const all = [...store.blobs.keys()].sort()
      await expect(gc(remoteOf(store), { graceMs: 0 })).rejects.toMatchObject({ code: 'REMOTE_UNTRUSTED' })
      expect([...store.blobs.keys()].sort()).toEqual([...all, 'v1/trusted/clock'].sort())
    }
  })

  it('a store that cannot list, and a machine without a key, are errors', async () => {
    const remote = remoteOf(webdav({ url: 'http://127.0.0.1:1' }))
    await expect(gc(remote)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('cannot list'),
    })
    await expect(gc(new Machine(before).remote())).rejects.toMatchObject({ code: 'READ_ONLY' })
  })
})

describe('a publisher and a collector at the same time', () => {
  const SCOPES = ['trusted/main', 'trusted/new'] as const
  const check = async (
    store: BlobStore,
    scope: string,
    [collected, published]: readonly (string | undefined)[],
    number: number,
  ): Promise<void> => {
    const reader = new Machine(store)
    const keys = Object.keys(await reader.read(reader.remote({ scope })))
      .sort()
      .join()
    const expected = scope === 'trusted/main' ? [PUBLISHED, 'a,more,most'] : ['c,d', '']
    expect(['done BUSY', 'BUSY done', 'done done']).toContain(`${collected} ${published}`)
    expect([number, await isSound(store, scope), keys]).toEqual([number, true, expected[published === 'done' ? 0 : 1]])
  }

  it.each(SCOPES)('a collection before any request of a publisher leaves every named object: %s', async (scope) => {
    const work = (store: BlobStore): Promise<string> => publish(store, scope)
    const requests = await interleaved(work, collect, (store, [collected, published], number) =>
      check(store, scope, [collected, published], number),
    )
    expect(requests).toBeGreaterThan(8)
  })

  it.each(SCOPES)('a publication before any request of a collector leaves every named object: %s', async (scope) => {
    const other = (store: BlobStore): Promise<string> => publish(store, scope)
    const requests = await interleaved(collect, other, (store, [published, collected], number) =>
      check(store, scope, [collected, published], number),
    )
    expect(requests).toBeGreaterThan(8)
  })

  it('a collector that ends before any of its requests leaves what readers use, and the next one removes the rest', async () => {
    const end = async (): Promise<never> => {
      throw new VarveError('IO', 'the process ended')
    }
    await interleaved(collect, end, async (store, outcomes, number) => {
      expect([number, outcomes, await isSound(store)]).toEqual([number, ['IO'], true])
      const isPublished = await publish(store)
      expect([number, await isSound(store)]).toEqual([number, true])
      store.age(600_000, SWEEP)
      expect([number, await collect(store), await danglingOf(store), await isSound(store)]).toEqual([
        number,
        'done',
        [],
        true,
      ])
      expect([isPublished, await publish(store), await keysOf(store)]).toEqual([
        expect.stringMatching(/^(?:done|BUSY)$/),
        'done',
        PUBLISHED,
      ])
    })
  })

  it('a second collector waits for the first', async () => {
    const store = new MemoryStore(before.blobs)
    const outcomes: string[] = []
    const interrupted = watched(store, async (call) => {
      if (call === 'delete') outcomes.push(await collect(store))
    })
    expect([await collect(interrupted), outcomes, await danglingOf(store)]).toEqual(['done', ['BUSY', 'BUSY'], []])
  })
})

/** A process with a small heap that collects garbage of a store which lists objects by `list`. */
function collectIn(list: string): string {
  const bundle = fileURLToPath(new URL('../../packages/remote/dist/bundle/index.js', import.meta.url))
  const code = `
    import { gc, openRemote } from ${JSON.stringify(pathToFileURL(bundle).href)}
    const name = (index) => 'v1/trusted/chunk/' + String(index).padStart(64, '0')
    const capabilities = { range: true, createOnly: true, compareAndSwap: true, list: true, delete: true, bytesMax: 2 ** 31 }
    const store = {
      label: 'endless', capabilities, get: async () => undefined, head: async () => undefined, put: async () => 'stored', delete: async () => undefined,
      list: ${list},
    }
    const keys = { trustedKeys: ['${KEYS.publicKey}'], mode: 'read-write', signingKey: '${KEYS.signingKey}' }
    const remote = openRemote({ store, dir: 'layers', ...keys, budgetMs: 500_000 })
    console.log(await gc(remote, { dryRun: true }).then(({ objects, removed }) => objects + ' ' + removed, ({ code }) => code))`
  const options = { cwd: makeFolder(), encoding: 'utf8' } as const
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--max-old-space-size=64', '--input-type=module', '--eval', code],
    options,
  )
  return stdout.trim() || stderr
}

describe('a store that lists any number of objects', () => {
  it('ends with an error if the list does not end, within a heap of 64 MB', slow, () => {
    const endless =
      'async function* () { for (let index = 0; ; index++) yield { name: name(index), size: 1, modified: 1 } }'
    expect(collectIn(endless)).toBe('REMOTE_UNTRUSTED')
  })

  it('is collected in parts if it has a million, within the same heap', () => {
    const many =
      'async function* () { for (let index = 0; index < 1_000_000; index++) yield { name: name(index), size: 1, modified: index * 1000 } }'
    expect(collectIn(many)).toBe('1000000 50000')
  })

  it('is an error if it has more scopes than a domain may have', () => {
    const scopes =
      "async function* () { for (let index = 0; index < 20_000; index++) yield { name: 'v1/trusted/' + index + '/head', size: 1, modified: 1 } }"
    expect(collectIn(scopes)).toBe('REMOTE_UNTRUSTED')
  })
})
