/** What every store promises; each adapter passes it against its real server. A promise that a store does not make is asserted as such. */
import { createHash } from 'node:crypto'
import type { BlobStore } from '@varve/remote'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Starts a store that is empty, and returns what stops it. */
export type StartStore = () => Promise<{ readonly store: BlobStore; readonly stop: () => Promise<void> }>

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))
const textOf = (found: { readonly bytes: Uint8Array } | undefined): string | undefined =>
  found === undefined ? undefined : Buffer.from(found.bytes).toString()

/** Names with characters that URLs and file systems treat in their own way. */
const NAMES = [
  'plain',
  'a b',
  'a+b',
  'a%b',
  'a%20b',
  'a%2Fb',
  'ü',
  'u\u0308',
  '日本',
  "it's",
  'a*(b)!',
  'a?b=c&d',
  'a#b',
  'a@2',
  'a:b',
  'a~',
  '.hidden',
  'a;b,c',
  'a"b<c>|d',
]

export function contract(name: string, start: StartStore): void {
  describe(`store: ${name}`, () => {
    let store: BlobStore
    let stop: (() => Promise<void>) | undefined
    beforeAll(async () => {
      const started = await start()
      store = started.store
      stop = started.stop
    })
    afterAll(async () => stop?.())

    it('a blob that does not exist is undefined, and one that was put is read with its size', async () => {
      expect([await store.get('absent/blob'), await store.head('absent/blob')]).toEqual([undefined, undefined])
      expect(await store.put('dir/blob', bytes('content'))).toBe('stored')
      expect([textOf(await store.get('dir/blob')), (await store.head('dir/blob'))?.size]).toEqual(['content', 7])
      expect(await store.put('dir/blob', bytes('other'))).toBe('stored')
      expect(textOf(await store.get('dir/blob'))).toBe('other')
      await store.put('empty', new Uint8Array())
      expect([textOf(await store.get('empty')), (await store.head('empty'))?.size]).toEqual(['', 0])
      const large = new Uint8Array(Math.min(8 << 20, store.capabilities.bytesMax)).map((_, index) => index * 31)
      await store.put('large', large, { ifAbsent: true })
      expect(Buffer.from((await store.get('large'))?.bytes ?? []).equals(large)).toBe(true)
    })

    it('a blob that is named by its digest is stored once, and read whole', async () => {
      const content = new Uint8Array(100_000).map((_, index) => index * 7)
      const each = `v1/trusted/chunk/${createHash('sha256').update(content).digest('hex')}`
      expect([await store.get(each), await store.put(each, content, { ifAbsent: true })]).toEqual([undefined, 'stored'])
      expect(await store.put(each, content, { ifAbsent: true })).toBe('exists')
      expect(Buffer.from((await store.get(each, { bytesMax: content.length }))?.bytes ?? []).equals(content)).toBe(true)
    })

    it('a blob that is larger than the store takes is refused before it is sent', async ({ skip }) => {
      skip(store.capabilities.bytesMax > 64 << 20, `${name} takes more than 64 MiB`)
      const large = new Uint8Array(store.capabilities.bytesMax + 1)
      await expect(store.put('too-large', large)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('too-large'),
      })
    })

    it('names with spaces, Unicode, + and % are different blobs', async () => {
      for (const each of NAMES) await store.put(`names/${each}`, bytes(each))
      for (const each of NAMES) expect(textOf(await store.get(`names/${each}`)), each).toBe(each)
    })

    it.each(['', '/a', 'a/', 'a//b', '../a', 'a/../../b', 'a/..', './a', 'a\\..\\b', 'a\nb', 'a\0b'])(
      'the name %j is refused',
      async (each) => {
        const calls: (() => Promise<unknown>)[] = [
          () => store.get(each),
          () => store.head(each),
          () => store.put(each, bytes('')),
        ]
        for (const call of calls) {
          await expect(call()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
        }
      },
    )

    it('a range has the bytes between its offsets', async () => {
      await store.put('range', bytes('0123456789'))
      expect(textOf(await store.get('range', { range: { start: 2, end: 5 } }))).toBe('234')
      expect(textOf(await store.get('range', { range: { start: 8, end: 20 } }))).toBe('89')
    })

    it('a blob with the etag of ifNoneMatch is unchanged, and has another etag once it is replaced', async () => {
      await store.put('etag', bytes('one'))
      const { etag } = (await store.get('etag')) ?? {}
      expect(etag).toEqual(expect.any(String))
      expect(await store.get('etag', { ifNoneMatch: etag })).toMatchObject({ unchanged: true })
      await store.put('etag', bytes('other content'))
      const again = await store.get('etag', { ifNoneMatch: etag })
      expect([textOf(again), again?.unchanged]).toEqual(['other content', undefined])
    })

    it.each([10, 100_000])('put with ifAbsent keeps the first of two blobs of %i bytes', async (size) => {
      expect(await store.put(`absent-${size}`, new Uint8Array(size).fill(1), { ifAbsent: true })).toBe('stored')
      expect(await store.put(`absent-${size}`, new Uint8Array(size).fill(2), { ifAbsent: true })).toBe('exists')
      expect((await store.get(`absent-${size}`))?.bytes[0]).toBe(1)
    })

    it('of 16 writers with ifAbsent, one stores its blob if the store is create-only, and readers see one of them whole', async () => {
      const write = (index: number): Promise<string> =>
        store.put('race', bytes(`writer ${index}`.repeat(100)), { ifAbsent: true })
      const outcomes = await Promise.all(Array.from({ length: 16 }, (_, index) => write(index)))
      const winners = outcomes.flatMap((outcome, index) => (outcome === 'stored' ? [index] : []))
      expect(winners.length === 1 || !store.capabilities.createOnly).toBe(true)
      expect(winners.map((index) => `writer ${index}`.repeat(100))).toContain(textOf(await store.get('race')))
    })

    it('put with ifMatch replaces the version that was read, and is a conflict for another one or none', async () => {
      await store.put('swap', bytes('1'))
      const first = await store.get('swap')
      expect(await store.put('swap', bytes('22'), { ifMatch: first?.etag })).toBe('stored')
      expect(await store.put('swap', bytes('333'), { ifMatch: first?.etag })).toBe('conflict')
      expect(await store.put('never', bytes('1'), { ifMatch: first?.etag })).toBe('conflict')
      expect([textOf(await store.get('swap')), await store.get('never')]).toEqual(['22', undefined])
    })

    it('8 writers that count to 10 each with ifMatch reach 80 if the store compares and swaps', async ({ skip }) => {
      skip(!store.capabilities.compareAndSwap, `${name} does not compare and swap`)
      await store.put('counter', bytes('0'), { ifAbsent: true })
      const count = async (): Promise<void> => {
        const found = await store.get('counter')
        const outcome = await store.put('counter', bytes(String(Number(textOf(found)) + 1)), {
          ifMatch: found?.etag ?? '',
        })
        if (outcome !== 'stored') await count()
      }
      const writer = async (): Promise<void> => {
        for (let turn = 0; turn < 10; turn++) await count()
      }
      await Promise.all(Array.from({ length: 8 }, writer))
      expect(textOf(await store.get('counter'))).toBe('80')
    })

    it('a blob with more bytes than bytesMax is refused', async () => {
      await store.put('bounded', bytes('0123456789'))
      expect(textOf(await store.get('bounded', { bytesMax: 10 }))).toBe('0123456789')
      await expect(store.get('bounded', { bytesMax: 9 })).rejects.toMatchObject({ code: 'REMOTE_UNTRUSTED' })
    })

    it('a call whose signal has aborted rejects with the reason', async () => {
      const reason = new Error('stopped')
      await expect(store.get('bounded', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
      await expect(store.put('bounded', bytes('x'), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    })

    it('deleted blobs do not exist, also those that never did, and list names the others below a prefix', async () => {
      const kept = ['list/a b', 'list/deep/ü', 'list/kept']
      for (const each of [...kept, 'list/gone', 'other']) await store.put(each, bytes(each))
      await store.put('list/kept', bytes('twice'))
      expect([store.capabilities.delete, store.capabilities.list]).toEqual([
        store.delete !== undefined,
        store.list !== undefined,
      ])
      if (store.delete === undefined) return
      await store.delete(['list/gone', 'list/never'])
      expect(await store.get('list/gone')).toBeUndefined()
      expect(await store.put('list/gone', bytes('again'), { ifAbsent: true })).toBe('stored')
      await store.delete(['list/gone'])
      if (store.list === undefined) return
      const found = []
      for await (const { name: each, size, modified } of store.list('list/')) {
        found.push([each, size])
        expect(Math.abs(Date.now() - modified)).toBeLessThan(60_000)
      }
      expect(found.sort()).toEqual(kept.map((each) => [each, each === 'list/kept' ? 5 : Buffer.byteLength(each)]))
    })
  })
}
