/** Whatever a store answers: a value that a trusted publisher has signed, or an error, never another value. */
import { randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type BlobStore, generateKeys, openRemote, pull, verifyRemote } from '@varve/remote'
import { describe, expect, it } from 'vitest'
import { makeFolder } from '../folders.ts'
import { KEYS, Machine, MemoryStore, namesOf, newStore, watched } from './machines.ts'

const HEAD = 'v1/trusted/main/head'
const COMMIT = '0123456789abcdef0123456789abcdef01234567'

async function bytesOf(store: BlobStore, name: string): Promise<Uint8Array> {
  return (await store.get(name))?.bytes ?? new Uint8Array()
}

/** A store with one publication, which has a value of several chunks. */
async function published(keys = KEYS, scope = 'trusted/main', commit = COMMIT): Promise<BlobStore> {
  const store = new MemoryStore()
  const machine = await new Machine(store).put({ key: 'right', more: 'x'.repeat(100) })
  await machine.push({ commit }, machine.writer({ signingKey: keys.signingKey, trustedKeys: [keys.publicKey], scope }))
  return store
}

/** How a new machine ends that reads the store: with the right value, or with the code of an error and nothing in its directory. */
async function outcome(store: BlobStore, commits: readonly string[] = []): Promise<string | undefined> {
  const machine = new Machine(store)
  try {
    return (await machine.read(undefined, commits))['key']
  } catch (error) {
    const left = readdirSync(machine.folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /table|manifest-/.test(path),
    )
    if (left.length > 0) return `left ${left.join()}`
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}

describe('manifests', () => {
  it('a manifest with any byte flipped, and one that is truncated anywhere, is refused', async () => {
    const store = await published()
    const whole = await bytesOf(store, HEAD)
    const remote = openRemote({ store, dir: makeFolder(), trustedKeys: [KEYS.publicKey] })
    for (let index = 0; index < whole.length; index++) {
      const changed = whole.slice()
      changed[index] = (whole[index] ?? 0) ^ (1 << (index % 8))
      await store.put(HEAD, changed)
      await expect(pull(remote), `byte ${index}`).rejects.toMatchObject({ code: 'REMOTE_UNTRUSTED' })
      await store.put(HEAD, whole.slice(0, index))
      await expect(pull(remote), `${index} bytes`).rejects.toMatchObject({ code: 'REMOTE_UNTRUSTED' })
    }
  })

  it('a manifest of another key is refused, and so is one of an untrusted key in a trusted scope', async () => {
    const other = generateKeys()
    const store = await published(other)
    expect(await outcome(store)).toBe('REMOTE_UNTRUSTED')
    const both = openRemote({
      store,
      dir: makeFolder(),
      trustedKeys: [KEYS.publicKey],
      untrustedKeys: [other.publicKey],
    })
    await expect(pull(both)).rejects.toMatchObject({
      code: 'REMOTE_UNTRUSTED',
      message: expect.stringContaining(other.keyId),
    })
  })

  it('a manifest that was signed for another scope, another commit or a head is refused in their place', async () => {
    const [store, other] = [newStore(), await published(KEYS, 'untrusted/pr/7')]
    const inMain = (name: string): string =>
      name.replace('untrusted/pr/7', 'trusted/main').replace('untrusted', 'trusted')
    for (const name of await namesOf(other)) await store.put(inMain(name), await bytesOf(other, name))
    expect(await outcome(store)).toBe('REMOTE_UNTRUSTED')
    const main = await published()
    const asHead = await bytesOf(main, `v1/trusted/main/manifest/${COMMIT}.${KEYS.keyId}`)
    await main.delete?.([HEAD])
    expect(await outcome(main, [COMMIT])).toBe('right')
    const another = COMMIT.replace('0', 'f')
    await main.put(`v1/trusted/main/manifest/${another}.${KEYS.keyId}`, asHead)
    expect(await outcome(main, [another])).toBe('REMOTE_UNTRUSTED')
    await main.put(HEAD, asHead)
    expect(await outcome(main)).toBe('REMOTE_UNTRUSTED')
  })

  it('a head that was set back is refused by a machine that has read a later one', async () => {
    const store = await published()
    const first = await bytesOf(store, HEAD)
    await (await new Machine(store).put({ key: 'newer' })).push()
    const remote = openRemote({ store, dir: makeFolder(), trustedKeys: [KEYS.publicKey] })
    expect((await pull(remote)).layers).toHaveLength(2)
    await store.put(HEAD, first)
    await expect(pull(remote)).rejects.toMatchObject({
      code: 'REMOTE_UNTRUSTED',
      message: expect.stringContaining('from generation 2 to 1'),
    })
  })

  it('a publisher does not replace a head that it does not trust', async () => {
    const store = await published(generateKeys())
    const before = await bytesOf(store, HEAD)
    await expect((await new Machine(store).put({ key: 'own' })).push()).rejects.toMatchObject({
      code: 'REMOTE_UNTRUSTED',
    })
    expect(await bytesOf(store, HEAD)).toEqual(before)
  })
})

describe('layers', () => {
  it('an object that is damaged, truncated, longer, swapped or missing is never used, and verify names it', async () => {
    const store = await published()
    const names = (await namesOf(store)).filter((name) => /\/(?:chunk|layer)\//.test(name))
    expect(names).toHaveLength(2)
    const swapped = await Promise.all(names.map((name) => bytesOf(store, name)))
    for (const [index, name] of names.entries()) {
      const whole = await bytesOf(store, name)
      const flipped = whole.slice()
      flipped[whole.length >> 1] = (flipped[whole.length >> 1] ?? 0) ^ 4
      const longer = new Uint8Array([...whole, 0])
      for (const bytes of [flipped, whole.slice(0, -1), new Uint8Array(), longer, swapped[1 - index] ?? whole]) {
        await store.put(name, bytes)
        expect(await outcome(store), name).toBe('REMOTE_UNTRUSTED')
        const { sound, problems } = await verifyRemote(new Machine(store).remote())
        expect([sound, problems]).toEqual([false, [expect.stringContaining(name)]])
      }
      await store.delete?.([name])
      expect(await outcome(store), name).toBe('REMOTE_UNTRUSTED')
      await store.put(name, whole)
    }
    expect([await outcome(store), (await verifyRemote(new Machine(store).remote())).sound]).toEqual(['right', true])
  })

  it('a failed pull leaves no directory, although other chunks arrive later', async () => {
    const store = newStore()
    await (
      await new Machine(store).put({
        one: randomBytes(1 << 20).toString('hex'),
        two: randomBytes(1 << 20).toString('hex'),
      })
    ).push()
    const [missing = ''] = (await namesOf(store)).filter((name) => name.includes('/chunk/'))
    await store.delete?.([missing])
    const get: BlobStore['get'] = async (name, options) => {
      const found = await store.get(name, options)
      if (name.includes('/chunk/') && name !== missing) await delay(200)
      return found
    }
    const machine = new Machine({ ...watched(store, () => undefined), get })
    await expect(machine.pullPaths()).rejects.toMatchObject({ code: 'REMOTE_UNTRUSTED' })
    await delay(500)
    expect(readdirSync(join(machine.folder, 'layers'))).toEqual([expect.stringMatching(/^head-[0-9a-f]{32}$/)])
  })

  it('a directory for layers that cannot be written is a typed error', async () => {
    const store = newStore()
    await (await new Machine(store).put({ key: 'value' })).push()
    const file = join(makeFolder(), 'file')
    writeFileSync(file, '')
    const remote = openRemote({ store, dir: join(file, 'layers'), trustedKeys: [KEYS.publicKey] })
    await expect(pull(remote)).rejects.toMatchObject({
      name: 'VarveError',
      code: 'IO',
      message: expect.stringContaining('cannot write layers'),
    })
  })

  it('a local layer stays usable while the remote is damaged', async () => {
    const store = await published()
    const machine = new Machine(store)
    const paths = await machine.pullPaths()
    await store.delete?.((await namesOf(store)).filter((name) => name.includes('/chunk/')))
    expect([await machine.pullPaths(), (await machine.read())['key']]).toEqual([paths, 'right'])
    expect(readdirSync(join(machine.folder, 'layers')).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })
})
