/** What an attacker who can write to a store, and has no key, can do: a build gets a miss and one warning, never the attacker's value. */
import { join } from 'node:path'
import { type BlobStore, directory, generateKeys, webdav } from '@varve/remote'
import { openCache } from 'varve'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../engines.ts'
import { makeFolder } from '../folders.ts'
import { slow } from '../slow.ts'
import { KEYS, Machine, MemoryStore, namesOf } from './machines.ts'
import { type Started, startS3, startWebdav } from './servers.ts'

const HEAD = 'v1/trusted/main/head'

/** A store that runs here, and what stops it. */
interface Running extends Pick<Started, 'stop'> {
  readonly store: BlobStore
}

/** nginx has no conditional PUT; nothing else writes to it here, so the checks before each PUT are enough for a head. */
async function startConditionalWebdav(start: () => Promise<Started>): Promise<Running> {
  const { address, stop } = await start()
  return { store: webdav({ url: address, conditional: true }), stop }
}

const STORES: readonly (readonly [name: string, start: (() => Promise<Running>) | undefined])[] = [
  ['directory', async () => ({ store: directory(join(makeFolder(), 'store')), stop: async () => undefined })],
  ['S3 (versitygw)', startS3],
  ['WebDAV (nginx)', startWebdav && startConditionalWebdav.bind(undefined, startWebdav)],
]

/** Changes a copy of the bytes. */
type Change = (bytes: Uint8Array) => Uint8Array

const CHANGES: Readonly<Record<string, Change>> = {
  'one bit flipped': (bytes) => bytes.map((byte, index) => (index === bytes.length >> 1 ? byte ^ 4 : byte)),
  'its last byte cut off': (bytes) => bytes.slice(0, -1),
  'nothing in it': () => new Uint8Array(),
  'a byte more': (bytes) => new Uint8Array([...bytes, 0]),
}

// `stores.test.ts` reports servers that are not installed.
describe.each(STORES.filter(([, start]) => start !== undefined))('%s', (name, start) => {
  let running: Running | undefined
  /** What the trusted publisher has written: by kind, the name and the bytes of one object. */
  const objects = new Map<string, { readonly name: string; readonly bytes: Uint8Array }>()
  /** The head of the first publication. */
  let first = new Uint8Array()
  /** What the attacker would have as heads. */
  const forged = new Map<string, Uint8Array>()

  const bytesOf = async (store: BlobStore, of: string): Promise<Uint8Array> =>
    (await store.get(of))?.bytes ?? new Uint8Array()

  beforeAll(async () => {
    running = await start?.()
    if (running === undefined) return
    const { store } = running
    const known = new MemoryStore() // tells which objects there are on a server that cannot list
    for (const value of ['old', 'right']) {
      const machine = await new Machine(store).put({ key: value })
      await machine.push()
      await (await new Machine(known).put({ key: value })).push()
      if (value === 'old') first = new Uint8Array(await bytesOf(store, HEAD))
    }
    const names = [...(await namesOf(known)), HEAD]
    for (const kind of ['chunk', 'layer', 'head']) {
      for (const of of names.filter((each) => each.includes(`/${kind}`))) {
        const bytes = await bytesOf(store, of)
        if (bytes.length > 0) objects.set(kind, { name: of, bytes })
      }
    }
    const attacker = generateKeys()
    const poisoned = await new Machine(new MemoryStore()).put({ key: 'poison' })
    const own = { signingKey: attacker.signingKey, trustedKeys: [attacker.publicKey] }
    for (const [what, scope, keys] of [
      ['signed by another key', 'trusted/main', own],
      ['of a pull request', 'untrusted/pr/7', {}],
    ] as const) {
      await poisoned.push({}, poisoned.writer({ scope, ...keys }))
      for (const [from, { bytes }] of poisoned.store instanceof MemoryStore ? poisoned.store.blobs : []) {
        const target = from.replace('untrusted/', 'trusted/')
        if (from.endsWith('/head')) forged.set(what, bytes)
        else await store.put(target, bytes)
      }
    }
  })
  afterAll(async () => running?.stop())

  /** What a build on this machine reads, and the codes of its warnings. */
  async function build(
    machine: Machine,
    remote = machine.remote(),
  ): Promise<[value: string | undefined, warnings: string[]]> {
    const warnings: string[] = []
    const cache = await openCache({
      name: 'tool',
      dir: machine.dir,
      engine: machine.engine,
      remote,
      onWarning: ({ code }) => warnings.push(code),
    })
    const value = cache.namespace('n', { codec: 'text' }).get('key')
    await cache.close()
    return [value, warnings]
  }

  const onWasm = (engine: string): object => (engine === 'wasm' && name !== 'directory' ? slow : {})

  describe.each(ENGINES)('read with %s', (engine) => {
    const fresh = (): Machine => new Machine(running?.store ?? new MemoryStore(), engine)

    it('what the publisher has written is read', onWasm(engine), async () => {
      expect([await build(fresh()), [...objects.keys()].sort(), forged.size]).toEqual([
        ['right', []],
        ['chunk', 'head', 'layer'],
        2,
      ])
    })

    it.each(Object.entries(CHANGES))(
      'a manifest, a description and a chunk with %s are misses, one warning',
      onWasm(engine),
      async (_, change) => {
        for (const { name: target, bytes } of running === undefined ? [] : objects.values()) {
          await running?.store.put(target, change(bytes))
          const [value, warnings] = await build(fresh())
          await running?.store.put(target, bytes)
          expect([target, ['old', undefined].includes(value), warnings]).toEqual([target, true, ['REMOTE_UNTRUSTED']])
        }
        expect(await build(fresh())).toEqual(['right', []])
      },
    )

    it(
      'a forged head, the head of a pull request in its place, and one that is set back, are refused',
      onWasm(engine),
      async () => {
        if (running === undefined) return
        const { store } = running
        const head = objects.get('head')?.bytes ?? new Uint8Array()
        for (const [what, bytes] of forged) {
          await store.put(HEAD, bytes)
          expect([what, await build(fresh())]).toEqual([what, [undefined, ['REMOTE_UNTRUSTED']]])
        }
        await store.put(HEAD, head)
        const machine = fresh()
        expect(await build(machine)).toEqual(['right', []])
        for (const bytes of [...forged.values(), first]) {
          await store.put(HEAD, bytes)
          expect(await build(machine)).toEqual(['right', ['REMOTE_UNTRUSTED']])
        }
        await store.put(HEAD, head)
        expect(await build(machine, machine.remote({ trustedKeys: [KEYS.publicKey] }))).toEqual(['right', []])
      },
    )
  })
})
